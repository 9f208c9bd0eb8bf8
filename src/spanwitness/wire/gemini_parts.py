"""The parts of Gemini contents, in requests and replies alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.model import (
    MediaPart,
    Message,
    OpaquePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from spanwitness.wire.codec import Entry
from spanwitness.wire.reading import (
    arguments,
    data_media,
    encode_json,
    is_objects,
    items,
    label,
    linked_media,
    mapping,
    modality_of,
    signature,
    text,
    text_result,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["grounding_parts", "read_entry", "read_parts"]

_ROLES: Final = {"model": "assistant", "function": "tool"}


def _pick(holder: dict[str, object], name: str, other: str) -> object:
    value = holder.get(name)
    return holder.get(other) if value is None else value


def read_entry(item: object) -> Entry:
    """Read one content of a request."""
    if isinstance(item, str):
        return Entry(message=Message(role="user", parts=(TextPart(text=item),)))
    if not isinstance(item, dict):
        return Entry(message=Message(role="unknown", parts=(OpaquePart(kind="unreadable"),)))
    parts = read_parts(item.get("parts"))
    role = text(item.get("role")) or "user"
    role = _ROLES.get(role, role)
    if role == "user" and parts and all(isinstance(part, ToolResultPart) for part in parts):
        role = "tool"
    return Entry(message=Message(role=role, parts=parts))


def read_parts(parts: object) -> tuple[Part, ...]:
    """Read an array of parts."""
    if parts is None:
        return ()
    if isinstance(parts, dict):
        parts = [parts]
    if not is_objects(parts):
        return (OpaquePart(kind="unreadable"),)
    found: list[Part] = []
    n_code = 0
    for part in parts:
        if not isinstance(part, dict):
            found.append(OpaquePart(kind="unreadable"))
            continue
        n_code += _pick(part, "executableCode", "executable_code") is not None
        found.extend(_read_part(part, n_code))
    return tuple(found)


def _read_part(part: dict[str, object], n_code: int) -> list[Part]:
    """Read one part; its thought signature, wherever it hangs, is a reasoning part of its own."""
    signed = signature(_pick(part, "thoughtSignature", "thought_signature"))
    written = part.get("text")
    if isinstance(written, str):
        if part.get("thought") is True:
            return [ReasoningPart(text=written, signature_digest=signed)]
        plain: list[Part] = [TextPart(text=written)] if written or signed is None else []
        return plain if signed is None else [ReasoningPart(signature_digest=signed), *plain]
    read = _read_data(part, n_code)
    return [read] if signed is None else [ReasoningPart(signature_digest=signed), read]


def _read_data(part: dict[str, object], n_code: int) -> Part:
    for keys, read in _READERS:
        value = _pick(part, *keys)
        if isinstance(value, dict):
            return read(value)
    code = _pick(part, "executableCode", "executable_code")
    if isinstance(code, dict):
        return ToolCallPart(
            name="code_execution",
            call_id=text(code.get("id")) or f"code_execution:{n_code}",
            arguments={"code": text(code.get("code")) or ""},
            side="provider",
        )
    result = _pick(part, "codeExecutionResult", "code_execution_result")
    if isinstance(result, dict):
        outcome = label(result.get("outcome"))
        return text_result(
            text(result.get("id")) or f"code_execution:{n_code}",
            text(result.get("output")) or "",
            name="code_execution",
            is_error=outcome is not None and outcome != "OUTCOME_OK",
        )
    kinds = [key for key in part if key not in _MARKS]
    return OpaquePart(kind=kinds[0][:100] if kinds else "empty")


_MARKS: Final = frozenset({"thought", "thoughtSignature", "thought_signature"})


def _read_inline(blob: dict[str, object]) -> MediaPart:
    mime_type = label(_pick(blob, "mimeType", "mime_type"))
    return data_media(text(blob.get("data")) or "", mime_type)


def _read_file(file: dict[str, object]) -> MediaPart:
    mime_type = label(_pick(file, "mimeType", "mime_type"))
    return linked_media(_pick(file, "fileUri", "file_uri"), modality_of(mime_type), mime_type)


def _read_call(call: dict[str, object]) -> ToolCallPart:
    return ToolCallPart(
        name=text(call.get("name")) or "",
        call_id=text(call.get("id")) or None,
        arguments=arguments(call.get("args")),
    )


def _read_result(result: dict[str, object]) -> ToolResultPart:
    """Read a function response: its JSON as value and as text, its media parts."""
    value = result.get("response")
    parts: list[TextPart | MediaPart | OpaquePart] = []
    if value is not None:
        parts.append(TextPart(text=encode_json(value)))
    for part in items(result.get("parts")):
        blob = _pick(part, "inlineData", "inline_data")
        file = _pick(part, "fileData", "file_data")
        if isinstance(blob, dict):
            parts.append(_read_inline(blob))
        elif isinstance(file, dict):
            parts.append(_read_file(file))
        else:
            parts.append(OpaquePart(kind="function_response_part"))
    return ToolResultPart(
        call_id=text(result.get("id")) or None,
        name=text(result.get("name")),
        parts=tuple(parts),
        value=value,
        # By convention, not by the format: the SDK sends {"error": ...} for a tool that raised.
        is_error=True if isinstance(value, dict) and set(value) == {"error"} else None,
    )


def _read_server_call(call: dict[str, object]) -> ToolCallPart:
    kind = label(_pick(call, "toolType", "tool_type"))
    return ToolCallPart(
        name=(kind or "unknown").lower(),
        call_id=text(call.get("id")) or None,
        arguments=arguments(call.get("args")),
        side="provider",
    )


def _read_server_result(result: dict[str, object]) -> ToolResultPart:
    kind = label(_pick(result, "toolType", "tool_type"))
    value = result.get("response")
    return ToolResultPart(
        call_id=text(result.get("id")) or None,
        name=(kind or "unknown").lower(),
        parts=() if value is None else (TextPart(text=encode_json(value)),),
        value=value,
    )


_READERS: Final[tuple[tuple[tuple[str, str], Callable[[dict[str, object]], Part]], ...]] = (
    (("functionCall", "function_call"), _read_call),
    (("functionResponse", "function_response"), _read_result),
    (("inlineData", "inline_data"), _read_inline),
    (("fileData", "file_data"), _read_file),
    (("toolCall", "tool_call"), _read_server_call),
    (("toolResponse", "tool_response"), _read_server_result),
)


def grounding_parts(candidate: dict[str, object]) -> tuple[Part, ...]:
    """Read the hosted tools that left only metadata: searches and fetched pages."""
    found: list[Part] = []
    grounding = mapping(_pick(candidate, "groundingMetadata", "grounding_metadata"))
    queries = _pick(grounding, "webSearchQueries", "web_search_queries")
    chunks = _pick(grounding, "groundingChunks", "grounding_chunks")
    if queries or chunks:
        kinds = {key for chunk in items(chunks) for key in chunk}
        name = "retrieval" if "retrievedContext" in kinds and not queries else "google_search"
        asked: dict[str, object] = {} if queries is None else {"queries": queries}
        found += _hosted(name, asked, _titles(chunks))
    pages = mapping(_pick(candidate, "urlContextMetadata", "url_context_metadata"))
    urls = items(_pick(pages, "urlMetadata", "url_metadata"))
    if urls:
        addresses = [text(_pick(one, "retrievedUrl", "retrieved_url")) or "" for one in urls]
        found += _hosted("url_context", {"urls": addresses}, addresses)
    return tuple(found)


def _hosted(name: str, asked: dict[str, object], seen: list[str]) -> list[Part]:
    call = ToolCallPart(name=name, call_id=f"{name}:0", arguments=asked, side="provider")
    # What was found stays with the provider; only titles and addresses come back.
    parts = (TextPart(text="\n".join(seen)), OpaquePart(kind=name))
    return [call, ToolResultPart(call_id=call.call_id, name=name, parts=parts)]


def _titles(chunks: object) -> list[str]:
    return [
        word
        for chunk in items(chunks)
        for source in chunk.values()
        for key in ("title", "uri", "text")
        if (word := text(mapping(source).get(key)))
    ]
