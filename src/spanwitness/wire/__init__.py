"""Provider JSON and SSE to model values: pure functions, one file a wire format."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from spanwitness.wire import anthropic_messages, gemini, openai_chat, openai_responses
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
_OPENAI_RESPONSES: Final = Codec(openai_responses.READER)
_ANTHROPIC: Final = Codec(anthropic_messages.READER)
_GEMINI: Final = re.compile(
    r"/(?:models|tunedModels|endpoints)/([^/:]+):(generateContent|streamGenerateContent)$"
)
_VERTEX_ANTHROPIC: Final = re.compile(
    r"/publishers/anthropic/models/([^/:]+):(rawPredict|streamRawPredict)$"
)
_BEDROCK_ANTHROPIC: Final = re.compile(r"/model/([^/]*anthropic[^/]*)/invoke$")


def codec_for(method: str, host: str, path: str) -> Codec | None:  # noqa: ARG001
    """Find what reads the traffic of an endpoint, by the end of its path (any base URL).

    Args:
        method: HTTP method; only `POST` carries model calls.
        host: Host of the request; not looked at, since compatible servers stand anywhere.
        path: Path of the request; a query is ignored.

    Returns:
        `None` when the endpoint is no model call that can be read.
    """
    return _codec_of_path(path) if method.upper() == "POST" else None


@lru_cache(maxsize=256)
def _codec_of_path(path: str) -> Codec | None:
    bare = unquote(path.partition("?")[0]).rstrip("/")
    if bare.endswith("/chat/completions"):
        return _OPENAI_CHAT
    if bare.endswith("/responses"):
        return _OPENAI_RESPONSES
    if bare.endswith("/v1/messages"):
        return _ANTHROPIC
    return _codec_by_model(bare)


def _codec_by_model(path: str) -> Codec | None:
    """Find the codec of an endpoint whose path names the model."""
    found = _GEMINI.search(path)
    if found is not None:
        is_streaming = found[2] == "streamGenerateContent"
        return Codec(gemini.READER, model=found[1], is_streaming=is_streaming)
    found = _VERTEX_ANTHROPIC.search(path)
    if found is not None:
        is_streaming = found[2] == "streamRawPredict"
        return Codec(anthropic_messages.READER, model=found[1], is_streaming=is_streaming)
    found = _BEDROCK_ANTHROPIC.search(path)
    if found is not None:
        return Codec(anthropic_messages.READER, model=found[1], is_streaming=False)
    return None
