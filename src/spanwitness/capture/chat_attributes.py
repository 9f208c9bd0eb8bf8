"""What a chat span says about its request and its reply: attributes without content."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from spanwitness.capture.content import clean
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
from spanwitness.wire.reading import encode_json
from spanwitness.wire.text_calls import find_calls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.capture.deliveries import DeliveredResults
    from spanwitness.capture.spans import Attributes
    from spanwitness.model import OutputFormat, ToolChoice, ToolDefinition
    from spanwitness.wire.facts import WireReply, WireRequest

__all__ = [
    "ReplyTexts",
    "delivered_attributes",
    "echoed_attributes",
    "input_texts",
    "make_writable",
    "offered_attributes",
    "provider_name",
    "reply_attributes",
    "request_attributes",
    "text_calls",
    "texts_of",
]


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


@lru_cache(maxsize=256)
def provider_name(host: str, wire: str) -> str:
    """Return OTel's name of the provider; an unknown host is named after its wire format."""
    for end, name in _PROVIDERS:
        if host == end or host.endswith(f".{end}"):
            return name
    return _WIRE_PROVIDERS.get(wire, "openai")


def request_attributes(request: WireRequest, offer: Attributes) -> Attributes:
    """Describe a request: what it asks for and what it offers.

    Args:
        request: The request.
        offer: What `offered_attributes` gave for its tools.
    """
    found: Attributes = {gen_ai.REQUEST_STREAM: request.is_streaming}
    if request.max_tokens is not None:
        found[gen_ai.REQUEST_MAX_TOKENS] = request.max_tokens
    if request.temperature is not None:
        found[gen_ai.REQUEST_TEMPERATURE] = request.temperature
    if request.top_p is not None:
        found[gen_ai.REQUEST_TOP_P] = request.top_p
    if request.seed is not None:
        found[gen_ai.REQUEST_SEED] = request.seed
    if request.reasoning_mode is not None:
        found[sw.REASONING_MODE] = request.reasoning_mode
    if request.has_server_state:
        found[sw.SERVER_STATE] = True
    found.update(offer)
    _describe_choice(found, request.tool_choice, request.output_format)
    return found


def offered_attributes(offered: tuple[ToolDefinition, ...] | None) -> Attributes:
    """Describe the tools on offer; nothing when they are held on the provider's side."""
    if offered is None:
        return {}
    found: Attributes = {
        sw.TOOLS_OFFERED: tuple([tool.name for tool in offered]),
        sw.TOOLS_OFFERED_COUNT: len(offered),
    }
    if offered:
        found[sw.TOOLS_OFFERED_DIGEST] = digest_text(encode_json(offered, is_sorted=True))
        sides = tuple([tool.side for tool in offered])
        if sides.count("client") < len(sides):
            found[sw.TOOLS_OFFERED_SIDES] = sides
    return found


def _describe_choice(
    found: Attributes, choice: ToolChoice | None, form: OutputFormat | None
) -> None:
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


def echoed_attributes(request: WireRequest, echoed: WireRequest) -> Attributes:
    """Describe what the reply repeats and the request had left to state on the provider's side."""
    found = offered_attributes(echoed.offered) if request.offered is None else {}
    _describe_choice(
        found,
        echoed.tool_choice if request.tool_choice is None else None,
        echoed.output_format if request.output_format is None else None,
    )
    return found


def delivered_attributes(results: DeliveredResults) -> Attributes:
    """Describe which results stand in a request."""
    found: Attributes = {sw.DELIVERED_IDS: results.call_ids}
    if results.fresh:
        found[sw.DELIVERED] = encode_json(results.fresh)
    if results.reasoning_lost is not None:
        found[sw.REASONING_LOST] = results.reasoning_lost
    return found


class ReplyTexts(NamedTuple):
    """The texts of a reply, by what they are."""

    visible: list[str]
    reasoning: list[str]
    has_refusal: bool


def texts_of(reply: WireReply) -> ReplyTexts:
    """Return the texts of a reply."""
    visible: list[str] = []
    reasoning: list[str] = []
    has_refusal = reply.has_refusal
    for message in reply.messages:
        for part in message.parts:
            if isinstance(part, TextPart):
                visible.append(part.text)
            elif isinstance(part, ReasoningPart):
                reasoning.append(part.text or "")
            elif isinstance(part, RefusalPart):
                has_refusal = True
    return ReplyTexts(visible, reasoning, has_refusal)


def reply_attributes(
    reply: WireReply, texts: ReplyTexts, text_requests: Sequence[ToolRequest]
) -> Attributes:
    """Describe a reply: what it asks for, how much it says, why it ended and what it cost."""
    found: Attributes = {
        sw.TEXT_CHARS: sum(map(len, texts.visible)),
        sw.REASONING_CHARS: sum(map(len, texts.reasoning)),
    }
    requested = (*reply.requested, *text_requests)
    found[sw.TOOL_CALLS] = encode_json([_outline(r) for r in requested]) if requested else "[]"
    if texts.has_refusal:
        found[sw.REFUSAL] = True
    if reply.response_id is not None:
        found[gen_ai.RESPONSE_ID] = reply.response_id
    if reply.model is not None:
        found[gen_ai.RESPONSE_MODEL] = reply.model
    if reply.finish_reasons:
        found[gen_ai.RESPONSE_FINISH_REASONS] = reply.finish_reasons
    usage = reply.usage
    if usage.input_tokens is not None:
        found[gen_ai.USAGE_INPUT_TOKENS] = usage.input_tokens
    if usage.output_tokens is not None:
        found[gen_ai.USAGE_OUTPUT_TOKENS] = usage.output_tokens
    if usage.cached_input_tokens is not None:
        found[gen_ai.USAGE_CACHE_READ_INPUT_TOKENS] = usage.cached_input_tokens
    if usage.reasoning_tokens is not None:
        found[gen_ai.USAGE_REASONING_TOKENS] = usage.reasoning_tokens
    return found


def _outline(request: ToolRequest) -> dict[str, str | None]:
    return {
        "name": request.name,
        "call_id": request.call_id,
        "side": request.side,
        "source": request.source,
    }


def text_calls(request: WireRequest, texts: ReplyTexts) -> tuple[ToolRequest, ...]:
    """Find calls that came out as visible text or inside reasoning instead of as calls."""
    if not request.offered or not (texts.visible or texts.reasoning):
        return ()
    found: list[ToolRequest] = []
    for text in texts.visible:
        found.extend(find_calls(text, request.offered, source="text"))
    for text in texts.reasoning:
        found.extend(find_calls(text, request.offered, source="reasoning"))
    return tuple(found)


def make_writable(found: Attributes) -> None:
    """Replace lone surrogates: one of them would cost the whole batch at the exporter."""
    for key, value in found.items():
        kind = type(value)
        if kind is str:
            if not value.isascii():  # type: ignore[union-attr]
                found[key] = clean(value)  # type: ignore[arg-type]
        elif kind is tuple and value and type(value[0]) is str and not "".join(value).isascii():  # type: ignore[index,arg-type]
            found[key] = tuple(map(clean, value))  # type: ignore[arg-type]


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
                    found.append(encode_json(part.value))
            elif isinstance(part, ToolCallPart):
                found.append(encode_json(part.arguments))
            elif part.text:
                found.append(part.text)
    form = request.output_format
    if form is not None and form.schema is not None:
        found.append(encode_json(form.schema))
    return found
