"""What a chat span says about its request and its reply: attributes without content."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.model import (
    MediaPart,
    OpaquePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolRequest,
    ToolResultPart,
)
from spanwitness.model.digest import digest_text
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as sw
from spanwitness.wire.text_calls import find_calls

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanwitness.capture.deliveries import DeliveredResults
    from spanwitness.capture.spans import Attributes
    from spanwitness.model import Message, OutputFormat, ToolChoice, ToolDefinition, Usage
    from spanwitness.wire.facts import WireReply, WireRequest

__all__ = [
    "delivered_attributes",
    "input_texts",
    "offer_attributes",
    "provider_name",
    "reply_attributes",
    "request_attributes",
    "text_calls",
    "texts_of",
]

_encode = msgspec.json.Encoder(order="deterministic").encode

_PROVIDERS = (
    ("openai.azure.com", "azure.ai.openai"),
    ("ai.azure.com", "azure.ai.inference"),
    ("api.openai.com", "openai"),
    ("anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("amazonaws.com", "aws.bedrock"),
    ("deepseek.com", "deepseek"),
    ("groq.com", "groq"),
    ("mistral.ai", "mistral_ai"),
    ("x.ai", "x_ai"),
    ("perplexity.ai", "perplexity"),
    ("cohere.com", "cohere"),
)
_WIRE_PROVIDERS = {"anthropic_messages": "anthropic", "gemini": "gcp.gemini"}


def provider_name(host: str, wire: str) -> str:
    """Return OTel's name of the provider; an unknown host is named after its wire format."""
    for end, name in _PROVIDERS:
        if host == end or host.endswith(f".{end}"):
            return name
    return _WIRE_PROVIDERS.get(wire, "openai")


def request_attributes(request: WireRequest) -> Attributes:
    """Describe a request: what it asks for, what it offers, which results it carries."""
    found: Attributes = {gen_ai.REQUEST_STREAM: request.is_streaming}
    optional = (
        (gen_ai.REQUEST_MAX_TOKENS, request.max_tokens),
        (gen_ai.REQUEST_TEMPERATURE, request.temperature),
        (gen_ai.REQUEST_TOP_P, request.top_p),
        (gen_ai.REQUEST_SEED, request.seed),
        (sw.REASONING_MODE, request.reasoning_mode),
    )
    found.update((key, value) for key, value in optional if value is not None)
    if request.has_server_state:
        found[sw.SERVER_STATE] = True
    found |= offer_attributes(request.offered, request.tool_choice, request.output_format)
    return found


def offer_attributes(
    offered: tuple[ToolDefinition, ...] | None,
    choice: ToolChoice | None,
    form: OutputFormat | None,
) -> Attributes:
    """Describe the tools on offer, the choice among them and the form of the answer."""
    found: Attributes = {}
    if offered is not None:
        found[sw.TOOLS_OFFERED] = [tool.name for tool in offered]
        found[sw.TOOLS_OFFERED_COUNT] = len(offered)
        if offered:
            found[sw.TOOLS_OFFERED_DIGEST] = digest_text(_encode(offered).decode())
        if any(tool.side != "client" for tool in offered):
            found[sw.TOOLS_OFFERED_SIDES] = [tool.side for tool in offered]
    if choice is not None:
        names = ",".join(choice.names)
        found[sw.TOOL_CHOICE] = f"{choice.mode}:{names}" if names else choice.mode
    if form is not None:
        found[sw.RESPONSE_FORMAT] = form.kind
        found[gen_ai.OUTPUT_TYPE] = "json" if form.kind.startswith("json") else "text"
        if form.name is not None:
            found[sw.RESPONSE_FORMAT_NAME] = form.name
        if form.schema_digest is not None:
            found[sw.RESPONSE_SCHEMA_DIGEST] = form.schema_digest
    return found


def delivered_attributes(results: DeliveredResults) -> Attributes:
    """Describe which results stand in a request."""
    found: Attributes = {sw.DELIVERED_IDS: list(results.call_ids)}
    if results.fresh:
        found[sw.DELIVERED] = _encode(results.fresh).decode()
    if results.reasoning_lost is not None:
        found[sw.REASONING_LOST] = results.reasoning_lost
    return found


def reply_attributes(reply: WireReply, text_requests: Iterable[ToolRequest]) -> Attributes:
    """Describe a reply: what it asks for, how much it says, why it ended and what it cost."""
    requested = [*reply.requested, *text_requests]
    found: Attributes = {
        sw.TOOL_CALLS: _encode([_outline(request) for request in requested]).decode(),
        sw.TEXT_CHARS: sum(map(len, texts_of(reply.messages, TextPart))),
        sw.REASONING_CHARS: sum(map(len, texts_of(reply.messages, ReasoningPart))),
    }
    if reply.has_refusal or any(True for _ in texts_of(reply.messages, RefusalPart)):
        found[sw.REFUSAL] = True
    if reply.response_id is not None:
        found[gen_ai.RESPONSE_ID] = reply.response_id
    if reply.model is not None:
        found[gen_ai.RESPONSE_MODEL] = reply.model
    if reply.finish_reasons:
        found[gen_ai.RESPONSE_FINISH_REASONS] = list(reply.finish_reasons)
    found |= _usage(reply.usage)
    return found


def _usage(usage: Usage) -> Attributes:
    counts = (
        (gen_ai.USAGE_INPUT_TOKENS, usage.input_tokens),
        (gen_ai.USAGE_OUTPUT_TOKENS, usage.output_tokens),
        (gen_ai.USAGE_CACHE_READ_INPUT_TOKENS, usage.cached_input_tokens),
        (gen_ai.USAGE_REASONING_TOKENS, usage.reasoning_tokens),
    )
    return {key: count for key, count in counts if count is not None}


def _outline(request: ToolRequest) -> dict[str, str | None]:
    return {
        "name": request.name,
        "call_id": request.call_id,
        "side": request.side,
        "source": request.source,
    }


def text_calls(request: WireRequest, reply: WireReply) -> tuple[ToolRequest, ...]:
    """Find calls that came out as visible text or inside reasoning instead of as calls."""
    if not request.offered:
        return ()
    found: list[ToolRequest] = []
    for text in texts_of(reply.messages, TextPart):
        found.extend(find_calls(text, request.offered, source="text"))
    for text in texts_of(reply.messages, ReasoningPart):
        found.extend(find_calls(text, request.offered, source="reasoning"))
    return tuple(found)


def texts_of(
    messages: Iterable[Message], kind: type[TextPart | ReasoningPart | RefusalPart]
) -> Iterable[str]:
    """Yield the texts of all parts of one kind."""
    for message in messages:
        for part in message.parts:
            if isinstance(part, kind) and part.text:
                yield part.text


def input_texts(request: WireRequest) -> list[str] | None:
    """Return every text given to the model, or `None` when part of the input is unreadable."""
    if request.has_server_state or request.error_type is not None:
        return None
    found: list[str] = []
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, MediaPart | OpaquePart):
                return None
            if isinstance(part, ToolResultPart):
                if any(isinstance(piece, MediaPart | OpaquePart) for piece in part.parts):
                    return None
                found.extend(piece.text for piece in part.parts if isinstance(piece, TextPart))
                if part.value is not None:
                    found.append(_encode(part.value).decode())
            elif isinstance(part, ToolCallPart):
                found.append(_encode(part.arguments).decode())
            elif part.text:
                found.append(part.text)
    form = request.output_format
    if form is not None and form.schema is not None:
        found.append(_encode(form.schema).decode())
    return found
