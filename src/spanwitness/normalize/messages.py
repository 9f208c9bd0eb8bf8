"""Messages and tool definitions as the JSON of OTel GenAI attributes, both ways.

What we write reads back as it was. What others write is accepted in all the spellings seen in the
wild: `response` or `result`, arguments as a JSON string, provider-shaped messages, plain text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

from spanwitness.model import (
    MediaPart,
    Message,
    OpaquePart,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolDefinition,
    ToolResultPart,
)
from spanwitness.model.calls import Side
from spanwitness.wire import anthropic_blocks, gemini_parts, openai_chat
from spanwitness.wire.openai_tools import read_definitions
from spanwitness.wire.reading import (
    NOTHING,
    arguments,
    data_media,
    encode_json,
    integer,
    is_objects,
    items,
    linked_media,
    load,
    mapping,
    schema,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "decode_definitions",
    "decode_instructions",
    "decode_messages",
    "encode_definitions",
    "encode_messages",
    "encode_parts",
]

_SIDES: Final = frozenset(get_args(Side))
_CALL_SIDES: Final = frozenset({"client", "provider", "mcp", "output"})
_MODALITIES: Final = frozenset({"image", "document", "audio", "video", "file", "unknown"})


def encode_messages(messages: Iterable[Message]) -> str:
    """Encode messages as the JSON of `gen_ai.input.messages` and `gen_ai.output.messages`."""
    return encode_json([_encode_message(message) for message in messages])


def encode_parts(parts: Iterable[Part]) -> str:
    """Encode parts as the JSON of `gen_ai.system_instructions`."""
    return encode_json([_encode_part(part) for part in parts])


def _encode_message(message: Message) -> dict[str, object]:
    made: dict[str, object] = {
        "role": message.role,
        "parts": [_encode_part(part) for part in message.parts],
    }
    if message.finish_reason is not None:
        made["finish_reason"] = message.finish_reason
    return made


def _encode_part(part: Part) -> dict[str, object]:
    match part:
        case TextPart():
            return {"type": "text", "content": part.text}
        case ToolCallPart():
            return _encode_call(part)
        case ToolResultPart():
            return _encode_result(part)
        case ReasoningPart():
            return _present(
                {
                    "type": "reasoning",
                    "content": part.text,
                    "signature_digest": part.signature_digest,
                }
            )
        case RefusalPart():
            return {"type": "refusal", "content": part.text}
        case MediaPart():
            return _encode_media(part)
        case OpaquePart():
            return {"type": "opaque", "kind": part.kind}


def _present(made: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in made.items() if value is not None}


def _encode_media(part: MediaPart) -> dict[str, object]:
    made: dict[str, object] = {
        "type": "blob",
        "modality": part.modality,
        "mime_type": part.mime_type,
        "size_bytes": part.size_bytes,
        "digest": part.digest,
    }
    if part.uri is None:
        made["content"] = ""
    elif "://" in part.uri:
        made |= {"type": "uri", "uri": part.uri}
    else:
        made |= {"type": "file", "file_id": part.uri}
    return _present(made)


def _encode_call(part: ToolCallPart) -> dict[str, object]:
    made = _present(
        {"type": "tool_call", "id": part.call_id, "name": part.name, "arguments": part.arguments}
    )
    given = part.arguments
    if isinstance(given, str) and arguments(given) != given:
        # Text that could pass for JSON: said, so that it is not decoded on the way back.
        made["arguments_format"] = "text"
    if part.side != "client":
        made["side"] = part.side
    return made


def _encode_result(part: ToolResultPart) -> dict[str, object]:
    made: dict[str, object] = {"type": "tool_call_response", "id": part.call_id, "name": part.name}
    made["is_error"] = part.is_error
    value = part.value
    if value is None:
        if len(part.parts) == 1 and isinstance(part.parts[0], TextPart):
            made["response"] = part.parts[0].text
        elif part.parts:
            made["response"] = [_encode_part(inner) for inner in part.parts]
        return _present(made)
    made["response"] = value
    is_plain = not isinstance(value, str | list)
    if not is_plain or part.parts != (TextPart(text=encode_json(value)),):
        made["content_parts"] = [_encode_part(inner) for inner in part.parts]
    return _present(made)


def decode_messages(value: object) -> tuple[Message, ...]:
    """Decode the messages of an attribute.

    Args:
        value: The attribute's value: a string of JSON, or what a reader of structured attributes
            already decoded.

    Returns:
        The messages. What cannot be read is there as an `OpaquePart`, never left out.
    """
    loaded = load(value) if isinstance(value, str | bytes) else value
    if isinstance(loaded, dict):
        loaded = loaded["messages"] if is_objects(loaded.get("messages")) else [loaded]
    if not is_objects(loaded):
        return (_unreadable(),)
    return tuple(_decode_message(item) for item in loaded)


def _unreadable() -> Message:
    return Message(role="unknown", parts=(OpaquePart(kind="unreadable"),))


def _decode_message(item: object) -> Message:
    if isinstance(item, str):
        inner = load(item)
        if not isinstance(inner, dict):
            return Message(role="unknown", parts=(TextPart(text=item),))
        item = inner
    if not isinstance(item, dict):
        return _unreadable()
    parts = item.get("parts")
    if is_objects(parts):
        role = text(item.get("role")) or "unknown"
        reason = text(item.get("finish_reason"))
        return Message(
            role=role, parts=tuple(_decode_part(part) for part in parts), finish_reason=reason
        )
    return _decode_foreign(item)


_ANTHROPIC_BLOCKS: Final = frozenset({"tool_use", "tool_result", "thinking", "server_tool_use"})


def _decode_foreign(item: dict[str, object]) -> Message:
    """Read a message in a provider's own shape."""
    if "type" in item and "role" not in item:
        # Instructions are a bare array of parts.
        return Message(role="system", parts=(_decode_part(item),))
    kinds = {text(block.get("type")) for block in items(item.get("content"))}
    read = openai_chat.read_entry
    if kinds & _ANTHROPIC_BLOCKS:
        read = anthropic_blocks.read_entry
    message = read(item).message
    return _unreadable() if message is None else message


def _decode_part(part: object) -> Part:
    if isinstance(part, str):
        return TextPart(text=part)
    if not isinstance(part, dict):
        return OpaquePart(kind="unreadable")
    kind = text(part.get("type"))
    if kind is None:
        # Gemini's own parts have no type.
        found = gemini_parts.read_parts([part])
        return found[-1] if found else OpaquePart(kind="unknown")
    decode = _DECODERS.get(kind)
    return OpaquePart(kind=kind) if decode is None else decode(part)


def _decode_reasoning(part: dict[str, object]) -> Part:
    content = part.get("content", part.get("text", part.get("thinking")))
    return ReasoningPart(text=text(content), signature_digest=text(part.get("signature_digest")))


def _decode_refusal(part: dict[str, object]) -> Part:
    return RefusalPart(text=text(part.get("content")) or "")


def _decode_opaque(part: dict[str, object]) -> Part:
    return OpaquePart(kind=text(part.get("kind")) or "unknown")


def _decode_text(part: dict[str, object]) -> Part:
    content = part.get("content", part.get("text"))
    if isinstance(content, str):
        return TextPart(text=content)
    return OpaquePart(kind="text")


def _decode_media(part: dict[str, object]) -> MediaPart:
    modality = text(part.get("modality")) or "unknown"
    if modality not in _MODALITIES:
        modality = "unknown"
    mime_type = text(part.get("mime_type"))
    uri = text(part.get("uri")) or text(part.get("file_id"))
    data = text(part.get("content")) or text(part.get("data"))
    if uri is None and data:
        return data_media(data, mime_type, modality)
    if uri is not None and uri.startswith("data:"):
        return linked_media(uri, modality, mime_type)
    return MediaPart(
        modality=modality,  # type: ignore[arg-type]  # one of the words, as tested above
        mime_type=mime_type,
        size_bytes=integer(part.get("size_bytes")),
        digest=text(part.get("digest")),
        uri=uri,
    )


def _decode_call(part: dict[str, object]) -> ToolCallPart:
    kind = part["type"]
    given = part.get("arguments")
    if kind == "server_tool_call":
        given = part.get("server_tool_call", given)
    if part.get("arguments_format") != "text" and isinstance(given, str):
        given = arguments(given)
    side = text(part.get("side"))
    if side not in _CALL_SIDES:
        side = "provider" if kind == "server_tool_call" else "client"
    return ToolCallPart(
        name=text(part.get("name")) or "",
        call_id=text(part.get("id")),
        arguments=given,
        side=side,  # type: ignore[arg-type]  # one of the words, as tested above
    )


def _decode_result(part: dict[str, object]) -> ToolResultPart:
    is_error = part.get("is_error")
    given: object = None
    for key in ("response", "result", "server_tool_call_response", "content"):
        if key in part:
            given = part[key]
            break
    value: object = None
    inner: tuple[TextPart | MediaPart | OpaquePart, ...] = ()
    held = part.get("content_parts")
    if is_objects(held):
        value, inner = given, _result_parts(held)
    elif isinstance(given, str):
        inner = (TextPart(text=given),)
    elif is_objects(given) and given and all(_is_part(one) for one in given):
        inner = _result_parts(given)
    elif given is not None:
        value, inner = given, (TextPart(text=encode_json(given)),)
    return ToolResultPart(
        call_id=text(part.get("id")),
        name=text(part.get("name")),
        parts=inner,
        value=value,
        is_error=is_error if isinstance(is_error, bool) else None,
    )


_DECODERS: Final[dict[str, Callable[[dict[str, object]], Part]]] = {
    "text": _decode_text,
    "tool_call": _decode_call,
    "server_tool_call": _decode_call,
    "tool_call_response": _decode_result,
    "server_tool_call_response": _decode_result,
    "reasoning": _decode_reasoning,
    "thinking": _decode_reasoning,
    "refusal": _decode_refusal,
    "opaque": _decode_opaque,
    "blob": _decode_media,
    "uri": _decode_media,
    "file": _decode_media,
    "media": _decode_media,
}
_PART_TYPES: Final = frozenset(
    {"text", "image", "image_url", "blob", "uri", "file", "media", "opaque", "document"}
)


def _is_part(one: object) -> bool:
    return isinstance(one, dict) and text(one.get("type")) in _PART_TYPES


def _result_parts(parts: list[object]) -> tuple[TextPart | MediaPart | OpaquePart, ...]:
    found: list[TextPart | MediaPart | OpaquePart] = []
    for one in parts:
        part = _decode_part(one)
        if isinstance(part, OpaquePart) and part.kind in {"image", "document"}:
            part = anthropic_blocks.read_blocks([one])[0]
        elif isinstance(part, OpaquePart) and part.kind == "image_url":
            part = openai_chat.read_content([one])[0]
        if isinstance(part, TextPart | MediaPart | OpaquePart):
            found.append(part)
        else:
            found.append(OpaquePart(kind="unreadable"))
    return tuple(found)


def decode_instructions(value: object) -> Message:
    """Decode `gen_ai.system_instructions`: an array of parts, or plain text in some dialects."""
    loaded = load(value) if isinstance(value, str | bytes) else value
    if is_objects(loaded):
        return Message(role="system", parts=tuple(_decode_part(part) for part in loaded))
    if isinstance(loaded, dict):
        return Message(role="system", parts=(_decode_part(loaded),))
    if isinstance(value, str):
        return Message(role="system", parts=(TextPart(text=value),))
    return Message(role="system", parts=(OpaquePart(kind="unreadable"),))


def encode_definitions(tools: Iterable[ToolDefinition]) -> str:
    """Encode tool definitions as the JSON of `gen_ai.tool.definitions`."""
    made: list[dict[str, object]] = []
    for tool in tools:
        one = _present({"type": "function", "name": tool.name, "parameters": tool.parameters})
        if tool.side != "client":
            one["side"] = tool.side
        if tool.is_deferred:
            one["defer_loading"] = True
        made.append(one)
    return encode_json(made)


def decode_definitions(value: object) -> tuple[ToolDefinition, ...] | None:
    """Decode `gen_ai.tool.definitions`.

    Returns:
        The definitions, or `None` when they cannot be read (which is not "none offered").
    """
    loaded = load(value) if isinstance(value, str | bytes) else value
    if isinstance(loaded, dict):
        loaded = [loaded]
    if loaded is NOTHING or not is_objects(loaded):
        return None
    found: list[ToolDefinition] = []
    for one in loaded:
        inner = load(one) if isinstance(one, str) else one
        if isinstance(inner, dict):
            found.extend(_decode_definition(inner))
        elif isinstance(one, str):
            found.append(ToolDefinition(name=one))
    return tuple(found)


_SCHEMA_KEYS: Final = (
    "parameters",
    "input_schema",
    "inputSchema",
    "parameters_json_schema",
    "parametersJsonSchema",
)


def _decode_definition(tool: dict[str, object]) -> tuple[ToolDefinition, ...]:
    declared = tool.get("function_declarations", tool.get("functionDeclarations"))
    if is_objects(declared):
        return tuple(one for inner in items(declared) for one in _decode_definition(inner))
    kind = text(tool.get("type"))
    name = text(tool.get("name"))
    if name is None or isinstance(tool.get("function"), dict) or kind == "mcp":
        return read_definitions([{**tool, "type": kind or "function"}])
    side = text(tool.get("side"))
    parameters = next((schema(tool[key]) for key in _SCHEMA_KEYS if key in tool), None)
    if parameters is None:
        parameters = schema(mapping(tool.get("custom")).get("parameters"))
    return (
        ToolDefinition(
            name=name,
            side=side if side in _SIDES else "client",  # type: ignore[arg-type]  # one of the words
            parameters=parameters,
            is_deferred=tool.get("defer_loading") is True,
        ),
    )
