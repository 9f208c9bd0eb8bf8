"""What all pages share: templates, forms, the audit of refusals, answers to errors."""

from __future__ import annotations

import hashlib
import logging
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse

from spanwitness.errors import (
    ConflictError,
    MissingExtraError,
    ReviewError,
    UnknownItemError,
)
from spanwitness.review.web import words
from spanwitness.review.web.identity import Refusal
from spanwitness.review.web.session import CSRF_FIELD
from spanwitness.review.web.shown_text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.datastructures import FormData
    from starlette.requests import Request
    from starlette.responses import Response

    from spanwitness.review.store.queue import Queue
    from spanwitness.review.web.identity import Identity
    from spanwitness.review.web.session import Sessions
    from spanwitness.review.web.settings import Role, WebSettings

__all__ = ["Flash", "Form", "Site"]

STATIC: Final = Path(__file__).parent / "static"
_THEMES: Final = ("auto", "light", "dark")
_MAX_KEYS: Final = 10_000
_AUDITED_A_MINUTE: Final = 60
_log = logging.getLogger("spanwitness.review")


@dataclass(frozen=True, kw_only=True, slots=True)
class Flash:
    """One line about what was just done."""

    text: str
    tone: str = "good"
    item_id: int | None = None
    undo_version: int | None = None
    """Version of the item after the act; `None` = it cannot be undone."""


class Form:
    """The fields of a form that was sent."""

    def __init__(self, data: FormData) -> None:
        self._data = data

    def text(self, name: str, *, limit: int = 4_000) -> str:
        """Return a field, without space around it; empty when it is not there.

        Raises:
            Refusal: It is too long, or a file (400).
        """
        value = self._data.get(name, "")
        if not isinstance(value, str) or len(value) > limit:
            raise Refusal(400, f"the field {name} cannot be read, or is longer than {limit}")
        return value.strip()

    def texts(self, name: str) -> list[str]:
        """Return every value of a field."""
        return [value for value in self._data.getlist(name) if isinstance(value, str)]

    def number(self, name: str) -> int | None:
        """Return a whole number; `None` when it is not there.

        Raises:
            Refusal: It is no number (400).
        """
        text = self.text(name, limit=20)
        if not text:
            return None
        if not text.isascii() or not text.isdigit():
            raise Refusal(400, f"the field {name} is no number")
        return int(text)


class Site:
    """What all pages share.

    Args:
        queue: The queue that is shown.
        settings: Who may do what.
        sessions: Reads and writes sessions.
    """

    def __init__(self, queue: Queue, settings: WebSettings, sessions: Sessions) -> None:
        self.queue = queue
        self.settings = settings
        self.sessions = sessions
        self._environment = Environment(
            loader=PackageLoader("spanwitness.review.web"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals |= {
            "ago": words.ago,
            "until": words.until,
            "duration": words.duration,
            "line": _line,
            "query": words.query,
            "said": words.said,
            "verdict_names": words.VERDICT_NAMES,
            "verdict_choices": words.VERDICT_CHOICES,
        }
        self._digests = {path.name: _digest(path) for path in STATIC.iterdir() if path.is_file()}
        self._used: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()
        self._audited: list[float] = []
        self._n_unaudited = 0

    # --- answers

    def page(
        self, request: Request, template: str, /, *, status: int = 200, **values: object
    ) -> HTMLResponse:
        """Render a page."""
        identity: Identity | None = getattr(request.state, "identity", None)
        session = request.state.session
        name = identity.name if identity is not None else ""
        root = request.scope.get("root_path", "")
        shared = {
            "identity": identity,
            "may_see_content": identity is not None and identity.may_see_content,
            "csrf": self.sessions.form_token(session, name),
            "key": secrets.token_urlsafe(9),
            "theme": _theme(request),
            "path": lambda target: f"{root}{target}",
            "static": lambda name: f"{root}/static/{name}?{self._digests[name]}",
            "here": _here(request),
            "nav": "",
            "now": datetime.now(UTC),
            "flash": _flash(request),
            "status": status,
        }
        text = self._environment.get_template(template).render({**shared, **values})
        return HTMLResponse(text, status_code=status)

    def go(self, request: Request, target: str, **values: str | int | None) -> Response:
        """Send the browser to another page of ours after an act."""
        given = {k: str(v) for k, v in values.items() if v is not None and v != ""}
        mark = "&" if "?" in target else "?"
        root = request.scope.get("root_path", "")
        url = f"{root}{target}{mark + urlencode(given) if given else ''}"
        return RedirectResponse(url, status_code=303)

    # --- acts

    async def form(self, request: Request, role: Role = "reviewer") -> Form:
        """Return the form of an act, if whoever sent it may do it and it is no forgery or replay.

        Raises:
            Refusal: They may not, or it is.
        """
        identity: Identity = request.state.identity
        if not identity.may(role):
            raise Refusal(403, f"this needs the role {role}", actor=identity.name)
        form = Form(await request.form(max_files=0, max_fields=1_000))
        if not request.state.is_by_header:
            token = form.text(CSRF_FIELD)
            self.sessions.check_form(request.state.session, identity.name, token)
        key = form.text("key", limit=100)
        if key:
            self._use(f"{request.state.session.nonce}:{key}", identity.name)
            request.state.used_key = f"{request.state.session.nonce}:{key}"
        return form

    def _use(self, key: str, actor: str) -> None:
        with self._lock:
            if key in self._used:
                raise Refusal(409, "this form was sent before", actor=actor)
            self._used[key] = None
            while len(self._used) > _MAX_KEYS:
                self._used.popitem(last=False)

    def give_back(self, request: Request) -> None:
        """Let a form be sent again whose act was not done."""
        key = getattr(request.state, "used_key", None)
        if key is not None:
            with self._lock:
                self._used.pop(key, None)

    # --- refusals and errors

    async def refuse(self, request: Request, refusal: Refusal) -> Response:
        """Answer a refused request, and write it to the audit trail."""
        await self.audit(request, refusal)
        return self.error(request, refusal.status, refusal.why)

    async def audit(self, request: Request, refusal: Refusal) -> None:
        """Write a refusal to the audit trail."""
        identity: Identity | None = getattr(request.state, "identity", None)
        actor = identity.name if identity is not None else refusal.actor
        data = {
            "status": refusal.status,
            "method": request.method,
            "path": one_line(request.scope["path"], limit=200),
            "client": request.client.host if request.client is not None else None,
        }
        n_left_out = self._may_audit()
        if n_left_out is None:
            return
        if n_left_out:
            data["n_left_out"] = n_left_out
        try:
            await run_in_threadpool(
                self.queue.record, one_line(actor, limit=200), "refused",
                note=one_line(refusal.why, limit=300), data=data,
            )  # fmt: skip
        except ReviewError as error:
            _log.error("spanwitness.review.audit_failed: %s", error)

    def _may_audit(self) -> int | None:
        """Say how many refusals were left out since the last one that was written.

        `None` = leave this one out too: whoever knocks a thousand times may not fill the database.
        """
        now = time.monotonic()
        with self._lock:
            self._audited = [at for at in self._audited if now - at < 60]
            if len(self._audited) >= _AUDITED_A_MINUTE:
                self._n_unaudited += 1
                return None
            self._audited.append(now)
            n_left_out, self._n_unaudited = self._n_unaudited, 0
            return n_left_out

    def error(self, request: Request, status: int, text: str) -> Response:
        """Answer with an error, as a page or as JSON."""
        if "text/html" not in request.headers.get("accept", "text/html"):
            headers = {"www-authenticate": "Bearer"} if status == 401 else None
            return JSONResponse({"error": text}, status_code=status, headers=headers)
        title = _TITLES.get(status, "That did not work")
        return self.page(request, "error.html", status=status, title=title, text=text)

    async def on_refusal(self, request: Request, error: Exception) -> Response:
        """Answer a refusal that a page raised."""
        if not isinstance(error, Refusal):
            raise error
        if error.status == 400:
            self.give_back(request)
        return await self.refuse(request, error)

    async def on_error(self, request: Request, error: Exception) -> Response:
        """Answer an error of the queue."""
        self.give_back(request)
        if isinstance(error, UnknownItemError):
            return self.error(request, 404, str(error))
        if isinstance(error, MissingExtraError):
            return self.error(request, 501, str(error))
        if error.__cause__ is not None:
            # What the driver said may name hosts and paths: it is for the log.
            _log.error("spanwitness.review.database: %s", error)
            return self.error(request, 503, "The queue does not answer. Try again soon.")
        return self.error(request, 409 if isinstance(error, ConflictError) else 400, str(error))


_TITLES: Final[Mapping[int, str]] = {
    401: "Sign in first",
    403: "Not allowed",
    404: "Not found",
    405: "Not like this",
    409: "That was done before",
    413: "Too large",
    421: "Not under this name",
    500: "Something broke",
    501: "Not installed",
    503: "No answer",
}


def _line(text: object, limit: int = 300) -> str:
    return one_line(str(text), limit=limit)


def _theme(request: Request) -> str:
    word = request.cookies.get("sw_theme", "auto")
    return word if word in _THEMES else "auto"


def _here(request: Request) -> str:
    text = request.url.query
    path: str = request.scope["path"]
    return path + (f"?{text}" if text else "")


def _flash(request: Request) -> Flash | None:
    """Return the line that an act left in the address; only words of ours, and numbers."""
    given = request.query_params
    text = _DONE.get(given.get("done", ""))
    if text is None:
        return None
    return Flash(
        text=text,
        tone="plain" if given.get("done") in ("none", "undone", "released") else "good",
        item_id=words.number(given.get("of")),
        undo_version=words.number(given.get("v")),
    )


_DONE: Final = {
    **{
        f"verdict-{word}": f"Saved as {name.lower()}:" for word, name in words.VERDICT_NAMES.items()
    },
    "snoozed": "It rests:",
    "undone": "Taken back:",
    "released": "Given back:",
    "renewed": "Held for longer.",
    "noted": "The note is saved.",
    "bulk": "One verdict for all chosen items is saved.",
    "redelivered": "It is sent again.",
    "none": "No item is open for you here.",
}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:10]
