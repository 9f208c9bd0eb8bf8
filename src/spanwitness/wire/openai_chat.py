"""OpenAI chat completions, and the many servers that speak it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from spanwitness.model import (
    MediaPart,
    Message,
    OpaquePart,
    OutputFormat,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolDefinition,
    ToolResultPart,
    Usage,
)
from spanwitness.wire import openai_chat_stream
from spanwitness.wire.codec import Entry, Reader
from spanwitness.wire.facts import WireReply, WireRequest, requests_in
from spanwitness.wire.openai_chat_plain import read_plain
from spanwitness.wire.openai_tools import (
    grammar_format,
    read_definitions,
    read_format,
    read_tool_choice,
    schema_format,
)
from spanwitness.wire.reading import (
    arguments,
    data_media,
    error_word,
    integer,
    is_objects,
    items,
    label,
    linked_media,
    load,
    mapping,
    number,
    signature,
    text,
    text_result,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["READER", "read_content", "read_entry"]

ROLES: Final = {"developer": "system", "function": "tool"}


def read_entry(item: object) -> Entry:
    """Read one message of a request."""
    if not isinstance(item, dict):
        return Entry(message=Message(role="unknown", parts=(OpaquePart(kind="unreadable"),)))
    role = text(item.get("role")) or "unknown"
    role = ROLES.get(role, role)
    if role == "tool":
        return Entry(message=Message(role=role, parts=(_read_result(item),)))
    return Entry(message=Message(role=role, parts=_read_parts(item)))


def _read_result(item: dict[str, object]) -> ToolResultPart:
    call_id = text(item.get("tool_call_id"))
    name = text(item.get("name"))
    content = item.get("content")
    if isinstance(content, str):
        return ToolResultPart(call_id=call_id, name=name, parts=(TextPart(text=content),))
    parts = tuple(
        part
        for part in read_content(content)
        if isinstance(part, TextPart | MediaPart | OpaquePart)
    )
    return ToolResultPart(call_id=call_id, name=name, parts=parts)


_RARE: Final = frozenset(
    {
        "annotations",
        "audio",
        "executed_tools",
        "function_call",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "refusal",
        "thinking_blocks",
    }
)


_ABSENT: Final[tuple[object, ...]] = (None, "", [])


def _read_parts(item: dict[str, object]) -> tuple[Part, ...]:
    content = item.get("content")
    calls = item.get("tool_calls")
    is_plain = not any([item[key] not in _ABSENT for key in _RARE.intersection(item)])  # noqa: C419
    if is_plain and not calls and isinstance(content, str):
        return (TextPart(text=content),)
    parts: list[Part] = [] if is_plain else [*_read_reasoning(item)]
    if content is not None:
        parts += read_content(content)
    if not is_plain and (refusal := text(item.get("refusal"))):
        parts.append(RefusalPart(text=refusal))
    if not is_plain and item.get("audio") is not None:
        parts.append(_read_audio(mapping(item["audio"])))
    if calls:
        parts += [_read_call(call) for call in items(calls)]
    if not is_plain:
        if isinstance(item.get("function_call"), dict):
            parts.append(_read_call({"function": item["function_call"]}))
        parts += _read_hosted(item)
    return tuple(parts)


def _read_reasoning(item: dict[str, object]) -> list[ReasoningPart]:
    """Read the fields in which compatible servers give reasoning; they may repeat one text."""
    thought = text(item.get("reasoning_content")) or text(item.get("reasoning"))
    signed = next(
        (
            found
            for block in items(item.get("reasoning_details") or item.get("thinking_blocks"))
            if (found := signature(block.get("signature") or block.get("data"))) is not None
        ),
        None,
    )
    if thought or signed:
        return [ReasoningPart(text=thought or None, signature_digest=signed)]
    return []


def read_content(content: object) -> list[Part]:
    """Read a message's content, a string or an array of parts."""
    if isinstance(content, str):
        return [TextPart(text=content)]
    if content is None:
        return []
    if not is_objects(content):
        return [OpaquePart(kind="unreadable")]
    return [_read_content_part(part) for part in content]


def _read_content_part(part: object) -> Part:
    if isinstance(part, str):
        return TextPart(text=part)
    if not isinstance(part, dict):
        return OpaquePart(kind="unreadable")
    kind = text(part.get("type")) or "unknown"
    match kind:
        case "text" if isinstance(part.get("text"), str):
            return TextPart(text=str(part["text"]))
        case "image_url" | "video_url" | "audio_url" | "document_url":
            inner = part.get(kind)
            url = inner.get("url") if isinstance(inner, dict) else inner
            return linked_media(url, kind.removesuffix("_url"))
        case "input_audio":
            audio = mapping(part.get(kind))
            form = text(audio.get("format"))
            return data_media(text(audio.get("data")) or "", form and f"audio/{form}", "audio")
        case "file":
            return _read_file(mapping(part.get("file")))
        case "refusal":
            return RefusalPart(text=text(part.get("refusal")) or "")
        case "thinking":
            return _read_thinking(part)
        case _:
            return OpaquePart(kind=kind)


def _read_file(file: dict[str, object]) -> Part:
    data = text(file.get("file_data"))
    if data is None:
        return linked_media(file.get("file_id"), "document")
    return linked_media(data, "document") if data.startswith("data:") else data_media(data, None)


def _read_thinking(part: dict[str, object]) -> Part:
    """Read a thinking part: Mistral nests text parts in it, others give a string."""
    thought = part.get("thinking")
    if is_objects(thought):
        thought = "".join(text(piece.get("text")) or "" for piece in items(thought))
    return ReasoningPart(text=text(thought), signature_digest=signature(part.get("signature")))


def _read_audio(audio: dict[str, object]) -> Part:
    data = text(audio.get("data"))
    return (
        linked_media(audio.get("id"), "audio") if data is None else data_media(data, None, "audio")
    )


def _read_call(call: dict[str, object]) -> ToolCallPart:
    function = call.get("function")
    custom = call.get("custom")
    if not isinstance(function, dict) and isinstance(custom, dict):
        return ToolCallPart(
            name=text(custom.get("name")) or "",
            call_id=text(call.get("id")) or None,
            arguments=text(custom.get("input")) or "",
        )
    if not isinstance(function, dict):
        return ToolCallPart(name="", call_id=text(call.get("id")) or None)
    name, call_id = function.get("name"), call.get("id")
    if not isinstance(name, str):
        name = ""
    return ToolCallPart(
        name=name,
        call_id=call_id if isinstance(call_id, str) and call_id else None,
        arguments=arguments(function.get("arguments")),
        side="provider" if name[:1] == "$" else "client",
    )


def _read_hosted(item: dict[str, object]) -> list[Part]:
    """Read tools that the server ran itself: listed, or to be seen by the citations they left."""
    parts: list[Part] = []
    for tool in items(item.get("executed_tools")):
        name = text(tool.get("name")) or text(tool.get("type")) or "unknown"
        call_id = label(tool.get("id")) or f"{name}:{label(tool.get('index')) or len(parts)}"
        parts.append(
            ToolCallPart(
                name=name,
                call_id=call_id,
                arguments=arguments(tool.get("arguments")),
                side="provider",
            )
        )
        parts.append(text_result(call_id, text(tool.get("output")), name=name))
    if not parts and any(
        note.get("type") == "url_citation" for note in items(item.get("annotations"))
    ):
        parts.append(ToolCallPart(name="web_search", call_id="web_search:0", side="provider"))
    return parts


def _with_search(message: Message) -> Message:
    """Add the search that only the reply's list of sources shows, where none stands there yet."""
    if any(isinstance(part, ToolCallPart) and part.side != "client" for part in message.parts):
        return message
    search = ToolCallPart(name="web_search", call_id="web_search:0", side="provider")
    return replace(message, parts=(search, *message.parts))


def read_request(body: dict[str, object], entries: Sequence[Entry]) -> WireRequest:
    """Read a request body."""
    offered = read_definitions(body.get("tools")) + read_definitions(body.get("functions"))
    if body.get("web_search_options") is not None:
        offered += (ToolDefinition(name="web_search", side="provider"),)
    offered += tuple(
        ToolDefinition(name=name, side="provider")
        for plugin in items(body.get("plugins"))
        if (name := text(plugin.get("id"))) is not None
    )
    effort = label(body.get("reasoning_effort")) or label(
        mapping(body.get("reasoning")).get("effort")
    )
    max_tokens = integer(body.get("max_completion_tokens"))
    return WireRequest(
        wire="openai_chat",
        model=text(body.get("model")),
        is_streaming=body.get("stream") is True,
        messages=tuple(entry.message for entry in entries if entry.message is not None),
        offered=offered,
        tool_choice=read_tool_choice(body.get("tool_choice"), body.get("function_call")),
        output_format=_read_format(body),
        max_tokens=integer(body.get("max_tokens")) if max_tokens is None else max_tokens,
        temperature=number(body.get("temperature")),
        top_p=number(body.get("top_p")),
        seed=integer(body.get("seed")),
        reasoning_mode=effort,
    )


_GRAMMARS: Final = ("guided_grammar", "guided_regex", "guided_choice", "grammar", "regex", "ebnf")
_SCHEMAS: Final = ("guided_json", "json_schema")


def _read_format(body: dict[str, object]) -> OutputFormat:
    """Read the answer's form, also where Ollama, vLLM, SGLang and llama.cpp have it."""
    form = read_format(body.get("response_format"))
    if form.kind != "text":
        return form
    ollama = body.get("format")
    if isinstance(ollama, dict):
        return schema_format(ollama)
    if ollama == "json":
        return OutputFormat(kind="json_object")
    structured = mapping(body.get("structured_outputs"))
    if structured.get("json") is not None:
        return schema_format(_unpacked(structured["json"]))
    if structured.get("json_object") is True:
        return OutputFormat(kind="json_object")
    for key in ("grammar", "regex", "choice", "structural_tag"):
        if structured.get(key) is not None:
            return grammar_format(structured[key])
    for key in _SCHEMAS:
        if body.get(key) is not None:
            return schema_format(_unpacked(body[key]))
    for key in _GRAMMARS:
        if body.get(key) is not None:
            return grammar_format(body[key])
    return form


def _unpacked(value: object) -> object:
    if not isinstance(value, str):
        return value
    loaded = load(value)
    return loaded if isinstance(loaded, dict) else value


def read_reply(body: object) -> WireReply:
    """Read a whole reply."""
    if not isinstance(body, dict):
        return WireReply(error_type="unexpected_body", is_terminated=True)
    messages: list[Message] = []
    reasons: list[str] = []
    for choice in items(body.get("choices")):
        reason = label(choice.get("finish_reason"))
        if reason is not None:
            reasons.append(reason)
        message = choice.get("message")
        if isinstance(message, dict):
            messages.append(
                Message(role="assistant", parts=_read_parts(message), finish_reason=reason)
            )
    if messages and (body.get("citations") or body.get("search_results")):
        messages[0] = _with_search(messages[0])
    has_error = "choices" not in body or body.get("error") is not None
    return WireReply(
        response_id=text(body.get("id")),
        model=text(body.get("model")),
        messages=tuple(messages),
        requested=requests_in(messages),
        finish_reasons=tuple(reasons),
        usage=read_usage(body.get("usage")),
        has_refusal=any(isinstance(p, RefusalPart) for m in messages for p in m.parts),
        is_terminated=True,
        error_type=error_word(body) if has_error else None,
    )


def read_usage(usage: object) -> Usage:
    """Read token counts."""
    counts = mapping(usage)
    cached = integer(mapping(counts.get("prompt_tokens_details")).get("cached_tokens"))
    if cached is None:
        cached = integer(counts.get("prompt_cache_hit_tokens"))
    return Usage(
        input_tokens=integer(counts.get("prompt_tokens")),
        output_tokens=integer(counts.get("completion_tokens")),
        cached_input_tokens=cached,
        reasoning_tokens=integer(
            mapping(counts.get("completion_tokens_details")).get("reasoning_tokens")
        ),
    )


def read_stream(body: bytes) -> WireReply:
    """Read a stream of chunks."""
    return openai_chat_stream.finish(openai_chat_stream.collect(body), read_reply)


READER: Final = Reader(
    wire="openai_chat",
    history_key="messages",
    read_entry=read_entry,
    read_request=read_request,
    read_reply=read_reply,
    read_stream=read_stream,
    read_plain=read_plain,
)
