"""Messages and their parts, the same for every provider and dialect.

They follow the parts of the OTel GenAI message schema (`text`, `reasoning`, `tool_call`,
`tool_call_response`, `blob`/`file`/`uri`), with the unions closed so that a `match` is complete.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec


class TextPart(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag="text"):
    """Visible text."""

    text: str


class ReasoningPart(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag="reasoning"):
    """Reasoning that the provider returned; the text may be empty or withheld."""

    text: str | None = None
    """`None` when the provider sent only a signature or encrypted content."""
    signature_digest: str | None = None
    """Digest of the signature or encrypted block that has to be sent back, if any."""


class RefusalPart(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag="refusal"):
    """A refusal that the provider marked as such."""

    text: str = ""


class MediaPart(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag="media"):
    """An image, a document, audio or video. The bytes themselves are never kept."""

    modality: Literal["image", "document", "audio", "video", "file", "unknown"] = "unknown"
    mime_type: str | None = None
    size_bytes: int | None = None
    """Decoded size; `None` for a reference."""
    digest: str | None = None
    uri: str | None = None
    """A reference (URL without its query, or a file id)."""


class ToolCallPart(msgspec.Struct, frozen=True, kw_only=True, tag="tool_call"):
    """A call that the model asked for."""

    name: str
    call_id: str | None = None
    arguments: object = None
    """Decoded JSON; the raw string when it is not JSON; `None` when not recorded."""
    side: Literal["client", "provider", "mcp", "output"] = "client"
    """Who runs it: the caller, the provider (hosted tools), the provider through MCP, or nobody
    (an output tool that only carries the answer)."""


class ToolResultPart(msgspec.Struct, frozen=True, kw_only=True, tag="tool_result"):
    """A result as it stands in a request (or in a reply, for hosted tools)."""

    call_id: str | None = None
    name: str | None = None
    parts: tuple[TextPart | MediaPart | OpaquePart, ...] = ()
    """What it carries, part by part."""
    value: object = None
    """Decoded structured content where the wire format sends JSON (Gemini); else `None`."""
    is_error: bool | None = None
    """The wire format's own error mark; `None` where it has none."""


class OpaquePart(msgspec.Struct, frozen=True, kw_only=True, gc=False, tag="opaque"):
    """Something that was there and that we cannot read; it makes what it hides unknown."""

    kind: str
    """The wire format's own name of it, such as `file_id`, `item_reference`, `compaction`."""


Part: TypeAlias = (
    TextPart | ReasoningPart | RefusalPart | MediaPart | ToolCallPart | ToolResultPart | OpaquePart
)


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message of a conversation."""

    role: str
    """`system`, `user`, `assistant` or `tool`, whatever the provider calls it."""
    parts: tuple[Part, ...] = ()
    finish_reason: str | None = None
