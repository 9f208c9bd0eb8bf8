"""A browser without a window: it keeps cookies and fills in the hidden fields of forms."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from spanwitness.review import Queue
from spanwitness.review.web.app import create_app
from spanwitness.review.web.settings import WebSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_FORM = re.compile(r'<form method="post" action="([^"]*)"(.*?)</form>', re.DOTALL)
_HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
HTML = {"accept": "text/html"}


class Browser:
    """One person at the page."""

    def __init__(self, app: Any, *, client: str = "127.0.0.1", headers: Any = None) -> None:
        self.client = TestClient(
            app,
            base_url="http://127.0.0.1:8000",
            client=(client, 50000),
            follow_redirects=False,
            headers={**HTML, **(headers or {})},
        )

    def get(self, path: str, **more: Any) -> Any:
        return self.client.get(path, **more)

    def fields(self, page: str, action: str) -> dict[str, str]:
        """The hidden fields of the form with this action on a page."""
        text = self.get(page).text
        for found, body in _FORM.findall(text):
            if found == action:
                return {name: unescape(value) for name, value in _HIDDEN.findall(body)}
        raise AssertionError(f"no form {action} on {page}: {text}")

    def send(self, page: str, action: str, **values: Any) -> Any:
        """Fill in a form of a page and send it."""
        return self.post(action, {**self.fields(page, action), **values})

    def post(self, path: str, values: dict[str, Any], **more: Any) -> Any:
        more.setdefault("headers", {})
        more["headers"] = {"origin": "http://127.0.0.1:8000", **more["headers"]}
        return self.client.post(path, data=values, **more)


@pytest.fixture
def queue_url(tmp_path: Any) -> str:
    return f"sqlite:///{tmp_path}/queue.db"


@pytest.fixture
def queue(queue_url: str) -> Iterator[Queue]:
    opened = Queue.open(queue_url)
    yield opened
    opened.close()


@pytest.fixture
def browser(queue: Queue) -> Callable[..., Browser]:
    def make(
        *, tokens: Any = None, client: str = "127.0.0.1", headers: Any = None, **settings: Any
    ):
        settings.setdefault("local_name", "maria")
        app = create_app(queue, WebSettings(**settings), tokens=tokens)
        return Browser(app, client=client, headers=headers)

    return make


@pytest.fixture
def maria(browser: Callable[..., Browser]) -> Browser:
    return browser()
