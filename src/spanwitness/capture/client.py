"""`wrap_client`: watch a client that exists, in place, and give the same object back."""

# The objects here are of libraries that are never imported, reached where they keep their parts.
# ruff: noqa: ANN401, SLF001

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from spanwitness.capture import unseen
from spanwitness.capture.http_client import is_http_client, watch_http_client
from spanwitness.capture.mcp_session import is_mcp_client, watch_mcp
from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["watch_google", "wrap_client"]

Client = TypeVar("Client")


def wrap_client(client: Client) -> Client:
    """Watch a provider's client, so that each of its model calls becomes a chat span.

    Works on clients of `openai` and `anthropic` (sync, async, any base URL),
    `google.genai.Client`, `httpx` and `httpx2` clients, and MCP sessions (`mcp.ClientSession`,
    `mcp.Client`), and covers every call surface of theirs: streaming, raw and streaming-raw
    responses, `parse`, derived clients (`with_options`, `copy`).

    What it cannot see: a derived client with an HTTP client of its own (`copy(http_client=...)`),
    realtime sessions over web sockets and the replies of batches; requests that announce those are
    told and make the run incomplete.

    Args:
        client: The client. It is changed in place.

    Returns:
        The same object. Wrapping twice changes nothing.

    Raises:
        SettingsError: The object is none of these, or its traffic cannot be watched.
    """
    api_client = getattr(client, "_api_client", None)
    if is_http_client(client):
        watch_http_client(client)
    elif is_mcp_client(client):
        watch_mcp(client)
    elif api_client is not None and hasattr(api_client, "_httpx_client"):
        watch_google(api_client)
    elif is_http_client(getattr(client, "_client", None)):
        watch_http_client(client._client)  # type: ignore[attr-defined]
    else:
        raise SettingsError(
            f"{_name(client)} cannot be watched: not an openai, anthropic, google-genai, httpx or "
            "httpx2 client nor an MCP session. Give its SDK spanwitness.http_client(), or use "
            "spanwitness.instrument() before the client is made"
        )
    return client


def _name(client: object) -> str:
    if inspect.ismodule(client):
        return f"the module {client.__name__!r}"
    kind = client if isinstance(client, type) else type(client)
    return f"{kind.__module__}.{kind.__qualname__}"


def watch_google(api_client: Any) -> None:
    """Watch google-genai: one sync client, and an async one with an inner client per event loop."""
    if api_client._httpx_client is not None:
        watch_http_client(api_client._httpx_client)
    inner = getattr(api_client, "_async_httpx_client", None)
    if inner is None:
        _tell_on_use(api_client, "_async_request", "google-genai over google-auth's own session")
        return
    watch_http_client(inner)
    if hasattr(inner, "_client_for_running_loop"):
        _shadow(inner, "_client_for_running_loop", _watching)
    if getattr(api_client._http_options, "aiohttp_client", None) is not None:
        # The caller chose a session of their own, with settings that only it has.
        _tell_on_use(api_client, "_async_request", "google-genai over the caller's aiohttp session")
    elif hasattr(api_client, "_use_aiohttp"):
        # With aiohttp importable the SDK prefers it, and nothing would be seen.
        _shadow(api_client, "_use_aiohttp", _never)


_Method: TypeAlias = "Callable[..., Any]"


def _shadow(owner: Any, name: str, make: Callable[[_Method], _Method]) -> None:
    """Put a function of ours before a method, on this instance only, once."""
    bound = getattr(owner, name)
    if not getattr(bound, "_is_witnessed", False):
        made: Any = make(bound)
        made._is_witnessed = True
        setattr(owner, name, made)


def _watching(make_client: Callable[[], Any]) -> Callable[[], Any]:
    def client_for_running_loop() -> Any:
        return watch_http_client(make_client())

    return client_for_running_loop


def _never(_ask: Callable[[], bool]) -> Callable[[], bool]:
    def use_aiohttp() -> bool:
        return False

    return use_aiohttp


def _tell_on_use(owner: Any, name: str, what: str) -> None:
    def telling(bound: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: object, **kwargs: object) -> Any:
            unseen.notice(what)
            return bound(*args, **kwargs)

        return call

    if hasattr(owner, name):
        _shadow(owner, name, telling)
    unseen.notice(what)
