"""HTTP clients of httpx and httpx2: watched in place, or made with a watched transport.

Neither library is imported here by name; the caller's client, or the library that is asked for, is
taken as it comes.
"""

# The objects here are of libraries that are never imported, reached where they keep their parts.
# ruff: noqa: ANN401, SLF001

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal, TypeVar

from spanwitness.capture.transport import watch, watches
from spanwitness.errors import MissingExtraError, SettingsError

__all__ = ["http_client", "is_http_client", "watch_http_client"]

Client = TypeVar("Client")
_LIBRARIES = ("httpx2", "httpx")


def _kind(client: object) -> Literal["Client", "AsyncClient"] | None:
    """Say which client class of an httpx-like library an object derives from."""
    for base in type(client).__mro__:
        if (
            base.__name__ in {"Client", "AsyncClient"}
            and base.__module__.partition(".")[0] in _LIBRARIES
        ):
            return "AsyncClient" if base.__name__ == "AsyncClient" else "Client"
    return None


def is_http_client(client: object) -> bool:
    """Say whether an object is an HTTP client whose transport can be watched."""
    return _kind(client) is not None and hasattr(client, "_transport")


def watch_http_client(client: Client) -> Client:
    """Watch the transport of an HTTP client, and of each of its proxies, in place.

    Args:
        client: An `httpx` or `httpx2` client, sync or async. It is changed in place.

    Returns:
        The same object. Doing it twice changes nothing.

    Raises:
        SettingsError: The object keeps its transport in a way that is not known here.
    """
    kind = _kind(client)
    if kind is None or not hasattr(client, "_transport"):
        raise SettingsError(
            f"{type(client).__qualname__!r} is no httpx or httpx2 client whose transport can be "
            "watched; give the SDK spanwitness.http_client() instead"
        )
    it: Any = client
    is_async = kind == "AsyncClient"
    it._transport = watch(it._transport, is_async=is_async)
    mounts = getattr(it, "_mounts", None)
    if isinstance(mounts, dict):
        for pattern, mounted in mounts.items():
            # With a proxy variable set these carry the traffic. `None` = goes to `_transport`.
            if mounted is not None:
                mounts[pattern] = watch(mounted, is_async=is_async)
    _verify(it)
    return client


def _verify(client: Any) -> None:
    chosen = [client._transport, *(getattr(client, "_mounts", None) or {}).values()]
    if not all(watches(transport) for transport in chosen if transport is not None):
        raise SettingsError(
            f"the transport of {type(client).__qualname__!r} cannot be replaced; give the SDK "
            "spanwitness.http_client() instead"
        )


def http_client(
    client: Client | None = None,
    *,
    library: Literal["httpx2", "httpx"] | None = None,
    is_async: bool = False,
    **options: object,
) -> Client:
    """Return an HTTP client with a watched transport, to hand to a provider SDK or a framework.

    Args:
        client: A client of your own, watched in place and returned. `None` makes one.
        library: Which library makes it; `None` = httpx2 where it is installed, else httpx. An SDK
            takes the library that it is built on.
        is_async: Make an async client.
        **options: Passed on to the client's class (`timeout=`, `base_url=`, ...). Redirects are
            followed unless you say otherwise, as the provider SDKs do.

    Raises:
        SettingsError: `client` is no httpx or httpx2 client, or options were given for one that
            exists already.
        MissingExtraError: The library is not installed.
    """
    if client is not None:
        if options or library is not None:
            raise SettingsError("options and library= make a client; they cannot change yours")
        return watch_http_client(client)
    name: str = library or next((n for n in _LIBRARIES if find_spec(n) is not None), "httpx")
    if name not in _LIBRARIES:
        raise SettingsError(f"library={name!r} is not known: httpx2 or httpx")
    try:
        module: Any = import_module(name)
    except ImportError:
        raise MissingExtraError(name, extra="demo") from None
    options.setdefault("follow_redirects", True)
    made = (module.AsyncClient if is_async else module.Client)(**options)
    return watch_http_client(made)  # type: ignore[no-any-return]
