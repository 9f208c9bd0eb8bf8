"""The items of OpenAI Responses: messages, calls, results, reasoning, as input and as output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from spanwitness.model import (
    MediaPart,
    Message,
    OpaquePart,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from spanwitness.wire.codec import Entry
from spanwitness.wire.openai_tools import read_definitions, read_mcp_listing
from spanwitness.wire.reading import (
    arguments,
    canonical_json,
    data_media,
    is_objects,
    items,
    label,
    linked_media,
    mapping,
    signature,
    text,
    text_result,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["read_entry", "read_output_parts"]

CallSide = Literal["client", "provider", "mcp"]

_ROLES: Final = {"developer": "system"}
_CLIENT_CALLS: Final = {
    "computer_call": ("computer", ("action", "actions")),
    "local_shell_call": ("local_shell", ("action",)),
    "apply_patch_call": ("apply_patch", ("operation",)),
}
"""Built-in calls that the caller runs: the tool's name and the keys that hold what is asked."""
_CLIENT_RESULTS: Final = {
    "function_call_output": None,
    "custom_tool_call_output": None,
    "computer_call_output": "computer",
    "local_shell_call_output": "local_shell",
    "shell_call_output": "shell",
    "apply_patch_call_output": "apply_patch",
}
_HOSTED: Final = {
    "web_search_call": ("web_search", ("action",)),
    "file_search_call": ("file_search", ("queries",)),
    "code_interpreter_call": ("code_interpreter", ("code",)),
    "image_generation_call": ("image_generation", ("revised_prompt",)),
}
_FAILED: Final = frozenset({"failed", "incomplete"})


def read_entry(item: object) -> Entry:
    """Read one input item."""
    if not isinstance(item, dict):
        return Entry(message=Message(role="unknown", parts=(OpaquePart(kind="unreadable"),)))
    kind = text(item.get("type"))
    if kind in {None, "message"} and ("role" in item or "content" in item):
        role = text(item.get("role")) or "unknown"
        return Entry(
            message=Message(role=_ROLES.get(role, role), parts=read_content(item.get("content")))
        )
    if kind == "mcp_list_tools":
        return Entry(offered=read_mcp_listing(item.get("tools")))
    if kind in {"tool_search_output", "additional_tools"}:
        return _read_added_tools(item, str(kind))
    if kind == "configuration_update":
        return Entry()
    parts = read_output_parts(item)
    is_result = kind in _CLIENT_RESULTS or kind == "program_output"
    return Entry(
        message=Message(role="tool" if is_result else "assistant", parts=parts),
        has_server_state=kind in {None, "item_reference"},
    )


def _read_added_tools(item: dict[str, object], kind: str) -> Entry:
    offered = read_definitions(item.get("tools"))
    if kind == "additional_tools":
        return Entry(offered=offered)
    return Entry(
        message=Message(role="tool", parts=_read_tool_search_result(item)), offered=offered
    )


def read_content(content: object) -> tuple[Part, ...]:
    """Read the content of a message item."""
    if isinstance(content, str):
        return (TextPart(text=content),)
    if content is None:
        return ()
    if not is_objects(content):
        return (OpaquePart(kind="unreadable"),)
    return tuple(_read_content_part(part) for part in content)


def _read_content_part(part: object) -> Part:
    if not isinstance(part, dict):
        return TextPart(text=part) if isinstance(part, str) else OpaquePart(kind="unreadable")
    kind = text(part.get("type")) or "unknown"
    match kind:
        case "input_text" | "output_text" | "text" | "summary_text" if isinstance(
            part.get("text"), str
        ):
            return TextPart(text=str(part["text"]))
        case "refusal":
            return RefusalPart(text=text(part.get("refusal")) or "")
        case "input_image" | "computer_screenshot" | "image":
            return linked_media(part.get("image_url") or part.get("file_id"), "image")
        case "input_file":
            return _read_file(part)
        case "input_audio":
            audio = mapping(part.get(kind)) or part
            form = text(audio.get("format"))
            return data_media(text(audio.get("data")) or "", form and f"audio/{form}", "audio")
        case "reasoning_text":
            return ReasoningPart(text=text(part.get("text")))
        case _:
            return OpaquePart(kind=kind)


def _read_file(part: dict[str, object]) -> Part:
    data = text(part.get("file_data"))
    if data is None:
        return linked_media(part.get("file_url") or part.get("file_id"), "document")
    return linked_media(data, "document") if data.startswith("data:") else data_media(data, None)


def read_output_parts(item: dict[str, object]) -> tuple[Part, ...]:
    """Read an item that is no message of the user's: a call, a result, reasoning, an answer."""
    kind = text(item.get("type")) or "unknown"
    read = _ITEM_READERS.get(kind)
    if read is not None:
        return read(item)
    if kind in _CLIENT_CALLS:
        name, keys = _CLIENT_CALLS[kind]
        return (ToolCallPart(name=name, call_id=_id_of(item), arguments=_asked(item, keys)),)
    if kind in _CLIENT_RESULTS:
        return (_read_result(item, kind),)
    if kind in _HOSTED:
        return _read_hosted(item, kind)
    return (OpaquePart(kind=kind),)


def _id_of(item: dict[str, object]) -> str | None:
    """Return the id by which call and result find each other, rather than the item's own."""
    return text(item.get("call_id")) or text(item.get("id")) or None


def _asked(item: dict[str, object], keys: tuple[str, ...]) -> dict[str, object]:
    return {key: item[key] for key in keys if item.get(key) is not None}


def _read_message(item: dict[str, object]) -> tuple[Part, ...]:
    return read_content(item.get("content"))


def _read_function_call(item: dict[str, object]) -> tuple[Part, ...]:
    return (_read_call(item, arguments(item.get("arguments")), "client"),)


def _read_custom_call(item: dict[str, object]) -> tuple[Part, ...]:
    return (_read_call(item, text(item.get("input")) or "", "client"),)


def _read_approval(item: dict[str, object]) -> tuple[Part, ...]:
    return (_read_call(item, arguments(item.get("arguments")), "mcp"),)


def _read_call(item: dict[str, object], given: object, side: CallSide) -> ToolCallPart:
    # A remote call that had to be approved is the one that was asked for then.
    call_id = text(item.get("approval_request_id")) or _id_of(item)
    return ToolCallPart(
        name=text(item.get("name")) or "", call_id=call_id, arguments=given, side=side
    )


def _read_mcp_call(item: dict[str, object]) -> tuple[Part, ...]:
    call = _read_call(item, arguments(item.get("arguments")), "mcp")
    error = item.get("error")
    output = text(item.get("output"))
    if output is None and error is None:
        return (call,)
    if output is None:
        output = error if isinstance(error, str) else canonical_json(error)
    return (
        call,
        text_result(call.call_id, output, name=call.name, is_error=error is not None),
    )


def _read_tool_search(item: dict[str, object]) -> tuple[Part, ...]:
    call = ToolCallPart(
        name="tool_search",
        call_id=_id_of(item),
        arguments=arguments(item.get("arguments")),
        side="client" if item.get("execution") == "client" else "provider",
    )
    return (call,)


def _read_tool_search_result(item: dict[str, object]) -> tuple[Part, ...]:
    names = [tool.name for tool in read_definitions(item.get("tools"))]
    return (text_result(_id_of(item), canonical_json(names), name="tool_search"),)


def _read_shell(item: dict[str, object]) -> tuple[Part, ...]:
    """Read a shell call: the caller's, unless it runs in a container."""
    where = text(mapping(item.get("environment")).get("type"))
    call = ToolCallPart(
        name="shell",
        call_id=_id_of(item),
        arguments=_asked(item, ("action",)),
        side="client" if where in {None, "local"} else "provider",
    )
    return (call,)


def _read_program(item: dict[str, object]) -> tuple[Part, ...]:
    asked = _asked(item, ("code",))
    return (ToolCallPart(name="program", call_id=_id_of(item), arguments=asked, side="provider"),)


def _read_program_result(item: dict[str, object]) -> tuple[Part, ...]:
    return (text_result(_id_of(item), text(item.get("result")), name="program"),)


def _read_hosted(item: dict[str, object], kind: str) -> tuple[Part, ...]:
    name, keys = _HOSTED[kind]
    call = ToolCallPart(
        name=name, call_id=_id_of(item), arguments=_asked(item, keys), side="provider"
    )
    status = label(item.get("status"))
    if status in {"in_progress", "searching", "interpreting", "generating"}:
        return (call,)
    parts = _hosted_result(item, kind)
    is_error = True if status in _FAILED else None
    result = ToolResultPart(call_id=call.call_id, name=name, parts=parts, is_error=is_error)
    return call, result


def _hosted_result(
    item: dict[str, object], kind: str
) -> tuple[TextPart | MediaPart | OpaquePart, ...]:
    """Read what a hosted tool gave; most of it stays with the provider and is opaque."""
    match kind:
        case "file_search_call" if is_objects(item.get("results")):
            return tuple(
                TextPart(text=found)
                for result in items(item["results"])
                if (found := text(result.get("text"))) is not None
            )
        case "code_interpreter_call" if is_objects(item.get("outputs")):
            return tuple(
                TextPart(text=logs)
                if (logs := text(output.get("logs"))) is not None
                else linked_media(output.get("url"), "image")
                for output in items(item["outputs"])
            )
        case "image_generation_call" if isinstance(item.get("result"), str):
            return (data_media(str(item["result"]), None, "image"),)
    return (OpaquePart(kind=kind),)


def _read_result(item: dict[str, object], kind: str) -> ToolResultPart:
    name = _CLIENT_RESULTS[kind]
    call_id = _id_of(item)
    output = item.get("output")
    is_error = True if item.get("status") == "failed" else None
    if isinstance(output, str) or output is None:
        return text_result(call_id, text(output), name=name, is_error=is_error)
    if kind == "shell_call_output":
        pieces = [
            f"{text(part.get('stdout')) or ''}{text(part.get('stderr')) or ''}"
            for part in items(output)
        ]
        return text_result(call_id, "\n".join(pieces), name=name, is_error=is_error)
    parts = read_content(output if is_objects(output) else [output])
    return ToolResultPart(
        call_id=call_id,
        name=name,
        parts=tuple(p for p in parts if isinstance(p, TextPart | MediaPart | OpaquePart)),
        is_error=is_error,
    )


def _read_reasoning(item: dict[str, object]) -> tuple[Part, ...]:
    """Read a reasoning item: its full text where it is given, else the summary."""
    written = [
        piece_text
        for key in ("content", "summary")
        for piece in items(item.get(key))
        if (piece_text := text(piece.get("text"))) is not None
    ]
    full = items(item.get("content"))
    kept = written[: len(full)] if full else written
    thought = ReasoningPart(
        text="\n".join(kept) if kept else None,
        signature_digest=signature(item.get("encrypted_content")),
    )
    return (thought,)


_ITEM_READERS: Final[dict[str, Callable[[dict[str, object]], tuple[Part, ...]]]] = {
    "message": _read_message,
    "function_call": _read_function_call,
    "custom_tool_call": _read_custom_call,
    "reasoning": _read_reasoning,
    "mcp_call": _read_mcp_call,
    "mcp_approval_request": _read_approval,
    "tool_search_call": _read_tool_search,
    "tool_search_output": _read_tool_search_result,
    "shell_call": _read_shell,
    "program": _read_program,
    "program_output": _read_program_result,
}
