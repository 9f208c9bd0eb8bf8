"""A server that ends by itself when nobody uses it."""

from __future__ import annotations

import threading
from time import monotonic
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import uvicorn


class IdleWatch:
    """An ASGI application around another that knows when it was last used.

    Args:
        app: The application.
    """

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app
        self._last_s = monotonic()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401  ASGI
        """Hand on."""
        if scope["type"] == "http":
            self._last_s = monotonic()
        await self._app(scope, receive, send)

    def end_when_idle(self, server: uvicorn.Server, *, after_s: float) -> None:
        """Have a server stop when it had no request for a while.

        Args:
            server: The server.
            after_s: Seconds.
        """

        def wait() -> None:
            while (left := self._last_s + after_s - monotonic()) > 0:
                pause.wait(left)
            server.should_exit = True

        pause = threading.Event()
        threading.Thread(target=wait, name="spanwitness-idle", daemon=True).start()
