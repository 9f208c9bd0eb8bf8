"""`instrument`: watch every client that an SDK makes, when a framework builds it itself."""

# The objects here are of libraries that are never imported, reached where they keep their parts.
# ruff: noqa: ANN401, SLF001, N807

from __future__ import annotations

import threading
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from spanwitness.capture import unseen
from spanwitness.capture.client import watch_google
from spanwitness.capture.http_client import watch_http_client
from spanwitness.capture.mcp_session import watch_mcp
from spanwitness.errors import MissingExtraError, SettingsError
from spanwitness.guard import guard

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Sdk", "instrument", "uninstrument"]

Sdk: TypeAlias = Literal["openai", "anthropic", "google-genai", "mcp"]


def _watch_sdk_client(client: Any) -> None:
    watch_http_client(client._client)


# The classes that all clients of an SDK derive from (Azure, Bedrock and Vertex variants included).
_PLACES: dict[str, tuple[tuple[str, str, Callable[[Any], None]], ...]] = {
    "openai": (
        ("openai._base_client", "SyncAPIClient", _watch_sdk_client),
        ("openai._base_client", "AsyncAPIClient", _watch_sdk_client),
    ),
    "anthropic": (
        ("anthropic._base_client", "SyncAPIClient", _watch_sdk_client),
        ("anthropic._base_client", "AsyncAPIClient", _watch_sdk_client),
    ),
    "google-genai": (("google.genai._api_client", "BaseApiClient", watch_google),),
    "mcp": (("mcp.client.session", "ClientSession", watch_mcp),),
}
_lock = threading.Lock()


def instrument(sdk: Sdk) -> None:
    """Watch every client of an SDK that is made from now on, as `wrap_client` would.

    Clients made before stay as they are. Twice is the same as once.

    Args:
        sdk: `"openai"`, `"anthropic"`, `"google-genai"` or `"mcp"` (sessions).

    Raises:
        SettingsError: The name is not known, or this version of the SDK is built otherwise.
        MissingExtraError: The SDK is not installed.
    """
    with _lock:
        for owner, watch_made in _owners(sdk):
            made = owner.__init__
            if not getattr(made, "_witnessed_init", None):
                owner.__init__ = _watching(made, watch_made)


def uninstrument(sdk: Sdk) -> None:
    """Stop watching the clients that an SDK makes; those made meanwhile stay watched.

    Raises:
        SettingsError: The name is not known, or this version of the SDK is built otherwise.
        MissingExtraError: The SDK is not installed.
    """
    with _lock:
        for owner, _ in _owners(sdk):
            bare = getattr(owner.__init__, "_witnessed_init", None)
            if bare is not None:
                owner.__init__ = bare


def _owners(sdk: str) -> list[tuple[Any, Callable[[Any], None]]]:
    if sdk not in _PLACES:
        raise SettingsError(f"instrument({sdk!r}) is not one of {', '.join(map(repr, _PLACES))}")
    found: list[tuple[Any, Callable[[Any], None]]] = []
    for module_name, class_name, watch_made in _PLACES[sdk]:
        try:
            module = import_module(module_name)
        except ImportError:
            raise MissingExtraError(sdk, extra="demo") from None
        owner = getattr(module, class_name, None)
        if not isinstance(owner, type):
            raise SettingsError(
                f"this version of {sdk!r} has no {module_name}.{class_name}; wrap its clients with "
                "spanwitness.wrap_client() instead"
            )
        found.append((owner, watch_made))
    return found


def _watching(made: Any, watch_made: Callable[[Any], None]) -> Any:
    @wraps(made)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        made(self, *args, **kwargs)
        is_watched = False
        with guard("capture.instrument"):
            try:
                watch_made(self)
            except SettingsError:
                pass
            else:
                is_watched = True
        if not is_watched:
            unseen.notice(f"a client of {type(self).__module__.partition('.')[0]}")

    init: Any = __init__
    init._witnessed_init = made
    return init
