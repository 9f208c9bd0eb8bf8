"""What a caller can see of a call, as values that can be compared between two clients."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_PORT = re.compile(r"127\.0\.0\.1:\d+")
_CHANGING = {"date", "content-length"}


def plain(value: object) -> object:
    """Reduce a value to its type and its data."""
    if value is None or isinstance(value, str | int | float | bool | bytes):
        return _PORT.sub("HOST", value) if isinstance(value, str) else value
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if hasattr(value, "model_dump"):
        dumped = value.model_dump(mode="json", exclude={"sdk_http_response"})
        return [kind, plain(dumped)]
    return kind


def headers(response: Any) -> dict[str, str]:
    """The headers of a response, without what changes from call to call."""
    return {k.lower(): v for k, v in response.headers.items() if k.lower() not in _CHANGING}


def failure(error: BaseException) -> object:
    """What a caller can see of an exception: type, text, status, body, causes."""
    body = getattr(error, "body", None) or getattr(error, "details", None)
    return {
        "type": f"{type(error).__module__}.{type(error).__qualname__}",
        "text": plain(str(error)),
        "status": getattr(error, "status_code", getattr(error, "code", None)),
        "body": plain(body),
        "cause": None if error.__cause__ is None else type(error.__cause__).__qualname__,
        "context": None if error.__context__ is None else type(error.__context__).__qualname__,
    }


def of(call: Callable[[Any], object], client: Any) -> object:
    """Run a sync call and return what the caller sees."""
    try:
        return plain(call(client))
    except Exception as error:
        return failure(error)


async def of_async(call: Callable[[Any], Awaitable[object]], client: Any) -> object:
    """Run an async call and return what the caller sees."""
    try:
        return plain(await call(client))
    except Exception as error:
        return failure(error)
