"""`spanwitness review serve`: the review page alone, without a receiver."""

from __future__ import annotations

import socket
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from spanwitness.cli.review_options import (
    Access,
    AccessWord,
    AllowHost,
    ContentHeader,
    Host,
    Https,
    Link,
    LocalName,
    Proxy,
    ProxyContent,
    ProxyRole,
    QueueUrl,
    RoleHeader,
    RoleWord,
    UserHeader,
    login,
    read_trusted,
)
from spanwitness.errors import MissingExtraError, SettingsError

if TYPE_CHECKING:
    from spanwitness.review.web.settings import WebSettings


def serve_page(  # noqa: PLR0913  one option each
    *,
    queue: QueueUrl = None,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 = a free one.")] = 0,
    by: LocalName = None,
    access: Access = AccessWord.local,
    proxy: Proxy = None,
    user_header: UserHeader = "X-Forwarded-User",
    role_header: RoleHeader = None,
    content_header: ContentHeader = None,
    proxy_role: ProxyRole = RoleWord.viewer,
    proxy_content: ProxyContent = False,
    allow_host: AllowHost = None,
    link: Link = None,
    https: Https = False,
    idle_exit: Annotated[
        float | None,
        typer.Option(min=1, help="Seconds without a request after which it ends by itself."),
    ] = None,
) -> None:
    """Open the review page on a queue. It ends with Ctrl-C.

    `spanwitness serve` shows the same page and receives spans as well.
    """
    for package in ("sqlalchemy", "starlette", "uvicorn", "jinja2", "itsdangerous"):
        if find_spec(package) is None:
            raise MissingExtraError(package, extra="review")
    from spanwitness.review.web.settings import WebSettings
    from spanwitness.settings import read

    settings = WebSettings(
        host=host,
        mode=access.value,
        trusted=read_trusted(
            proxy,
            user=user_header,
            role=role_header,
            content=content_header,
            default_role=proxy_role,
            default_content=proxy_content,
        ),
        allowed_hosts=tuple(allow_host or ()),
        local_name=by or login(),
        links=dict(map(read_link, link or ())),
        is_https=https,
    )
    settings.check()
    _run(queue or read().queue, settings, port, idle_exit=idle_exit)


def _run(url: str, settings: WebSettings, port: int, *, idle_exit: float | None) -> None:
    import uvicorn

    from spanwitness.cli.idle import IdleWatch
    from spanwitness.review import Queue
    from spanwitness.review.web.app import create_app
    from spanwitness.review.web.tokens import Tokens

    listening = _bind(settings.host, port)
    queue, tokens = Queue.open(url), Tokens.open(url)
    try:
        app = create_app(queue, settings, tokens=tokens)
        shown = f"[{settings.host}]" if ":" in settings.host else settings.host
        print(f"review  http://{shown}:{listening.getsockname()[1]}/", flush=True)
        print(f"queue   {queue.address}", file=sys.stderr, flush=True)
        watch = IdleWatch(app)
        config = uvicorn.Config(
            watch,
            log_level="warning",
            access_log=False,
            server_header=False,
            # Who is asking is read from headers by the access mode alone.
            proxy_headers=False,
            timeout_graceful_shutdown=3,
        )
        server = uvicorn.Server(config)
        if idle_exit is not None:
            watch.end_when_idle(server, after_s=idle_exit)
        server.run(sockets=[listening])
    finally:
        tokens.close()
        queue.close()
        listening.close()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {host} port {port}: {error.strerror or error}; give another --port"
        ) from None


def read_link(text: str) -> tuple[str, str]:
    """Read `NAME=URL`.

    Raises:
        SettingsError: It is not of this form, or the URL has no `{trace_id}`.
    """
    name, equals, template = text.partition("=")
    if not equals or "{trace_id}" not in template:
        raise SettingsError(f"--link {text!r}: write NAME=URL, with {{trace_id}} in the URL")
    return name.strip(), template.strip()
