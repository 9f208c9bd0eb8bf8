"""Provider JSON and SSE to model values: pure functions, one file a wire format."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from spanwitness.wire import openai_chat
from spanwitness.wire.codec import Codec, RequestCache, StreamDecoder
from spanwitness.wire.facts import WireReply, WireRequest
from spanwitness.wire.numbering import number_reply

__all__ = [
    "Codec",
    "RequestCache",
    "StreamDecoder",
    "WireReply",
    "WireRequest",
    "codec_for",
    "number_reply",
]

_OPENAI_CHAT: Final = Codec(openai_chat.READER)


def codec_for(method: str, host: str, path: str) -> Codec | None:
    """Find what reads the traffic of an endpoint, by the end of its path (any base URL).

    Args:
        method: HTTP method; only `POST` carries model calls.
        host: Host of the request, without port.
        path: Path of the request; a query is ignored.

    Returns:
        `None` when the endpoint is no model call that can be read.
    """
    if method.upper() != "POST":
        return None
    bare = unquote(path.partition("?")[0]).rstrip("/")
    if bare.endswith("/chat/completions"):
        return _OPENAI_CHAT
    return None
