"""Small runs for rule tests, written in the order in which things happen.

`run(chat(calls=[call("search", q="x")]), tool("search", gives="found 3", q="x"), chat(says="3"))`
gives a complete run with content on: spans are numbered in the order given, the history grows from
call to call, and the results of tools stand whole in the next request of the model. Every field of
the model can be overridden by name; what is given explicitly is left alone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from spanwitness.contracts import Contract
from spanwitness.model import (
    ChatCall,
    Delivery,
    Discovery,
    Message,
    OutputFormat,
    Part,
    ReasoningPart,
    Run,
    Step,
    Submission,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolChoice,
    ToolDefinition,
    ToolRequest,
    ToolResultPart,
    Verdict,
)
from spanwitness.rules.engine import evaluate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Item: TypeAlias = ChatCall | ToolCall | Step | Discovery | Submission
SAME: Any = object()
"""The default of arguments that are worked out from the others."""


def offer(name: str, /, *, side: str = "client", **properties: object) -> ToolDefinition:
    """A tool definition; `offer("read", page="integer")` has one required argument."""
    schema = {k: {"type": v} if isinstance(v, str) else v for k, v in properties.items()}
    parameters = {"type": "object", "properties": schema, "required": sorted(schema)}
    return ToolDefinition(name=name, side=side, parameters=parameters)  # type: ignore[arg-type]


def call(
    name: str, /, *, id: str | None = SAME, side: str = "client", source: str = "structured",  # noqa: A002
    arguments: object = SAME, **keywords: object,
) -> ToolRequest:  # fmt: skip
    """A call in a reply. Its id is `call_<name>` unless given."""
    return ToolRequest(
        name=name,
        call_id=f"call_{name}" if id is SAME else id,
        arguments=keywords if arguments is SAME else arguments,
        side=side,  # type: ignore[arg-type]
        source=source,  # type: ignore[arg-type]
    )


def choice(mode: str, *names: str) -> ToolChoice:
    """A tool choice."""
    return ToolChoice(mode=mode, names=names)  # type: ignore[arg-type]


def json_schema(schema: dict[str, object] | None = None, **fields: Any) -> OutputFormat:
    """An output format that asks for JSON of a schema."""
    return OutputFormat(kind="json_schema", schema=schema, schema_digest="5c4e3a", **fields)


def says(role: str, *parts: str | Part) -> Message:
    """A message of texts and parts."""
    return Message(
        role=role, parts=tuple(TextPart(text=p) if isinstance(p, str) else p for p in parts)
    )


def system(*parts: str | Part) -> Message:
    """A system message."""
    return says("system", *parts)


def user(*parts: str | Part) -> Message:
    """A user message."""
    return says("user", *parts)


def assistant(*parts: str | Part) -> Message:
    """An assistant message."""
    return says("assistant", *parts)


def result(value: object, /, *, id: str | None, name: str | None = None, **fields: Any) -> Message:  # noqa: A002
    """A tool message that carries a result."""
    text = value if isinstance(value, str) else json.dumps(value)
    parts = fields.pop("parts", (TextPart(text=text),))
    return says("tool", ToolResultPart(call_id=id, name=name, parts=parts, **fields))


def chat(
    says: str | Mapping[str, object] | None = None,
    *,
    calls: Iterable[ToolRequest] = (),
    thinks: str | None = None,
    offers: Iterable[ToolDefinition | str] | None = (),
    given: Iterable[Message] | None = None,
    choice: ToolChoice | None = SAME,
    format: OutputFormat | None = SAME,  # noqa: A002
    **fields: Any,
) -> ChatCall:
    """A model call; a mapping as `says` is a JSON answer.

    `offers=None`, `choice=None`, `format=None` mean that the trace does not record them.
    """
    calls = tuple(calls)
    text = says if isinstance(says, str) or says is None else json.dumps(says)
    is_shared = isinstance(offers, tuple) and all(isinstance(o, ToolDefinition) for o in offers)
    if offers is not None and not is_shared:
        offers = tuple(o if isinstance(o, ToolDefinition) else offer(o) for o in offers)
    parts: list[Part] = []
    if thinks is not None:
        parts.append(ReasoningPart(text=thinks))
    if text:
        parts.append(TextPart(text=text))
    parts.extend(
        ToolCallPart(name=c.name, call_id=c.call_id, arguments=c.arguments)
        for c in calls
        if c.source == "structured"
    )
    structured = any(c.source == "structured" for c in calls)
    reason = "tool_calls" if structured else "stop"
    values: dict[str, Any] = {
        "span_id": "",
        "dialect": "spanwitness",
        "wire": "openai_chat",
        "offered": offers,
        "tool_choice": ToolChoice(mode="auto") if choice is SAME else choice,
        "output_format": OutputFormat(kind="text") if format is SAME else format,
        "input_messages": None if given is None else tuple(given),
        "output_messages": (Message(role="assistant", parts=tuple(parts), finish_reason=reason),),
        "requested": calls,
        "finish_reasons": (reason,),
        "text_chars": len(text or ""),
        "reasoning_chars": len(thinks or ""),
        "ending": "complete",
    }
    return ChatCall(**(values | fields))


def tool(
    name: str, /, *, gives: object = SAME, error: str | None = None, id: str | None = SAME,  # noqa: A002
    arguments: object = SAME, fields: Mapping[str, Any] | None = None, **keywords: object,
) -> ToolCall:  # fmt: skip
    """An execution seen as a span, linked to `call_<name>` unless another id is given.

    Keywords are the call's arguments; fields of the model go into `fields`.
    """
    outcome = "error" if error is not None else "value"
    returned = error if error is not None else (None if gives is SAME else gives)
    if outcome == "value" and returned in (None, "", [], {}) and returned is not False:
        outcome = "empty"
    values: dict[str, Any] = {
        "span_id": "",
        "name": name,
        "call_id": f"call_{name}" if id is SAME else id,
        "link": "none" if id is None else "exact",
        "outcome": outcome,
        "error_type": "RuntimeError" if error is not None else None,
        "arguments": keywords if arguments is SAME else arguments,
        "result": returned,
        "has_result": True,
    }
    return ToolCall(**(values | dict(fields or {})))


def step(name: str, kind: str = "solve", **fields: Any) -> Step:
    """A protocol step."""
    return Step(span_id=fields.pop("span_id", ""), name=name, kind=kind, **fields)  # type: ignore[arg-type]


def listing(*tools: str, error: str | None = None, **fields: Any) -> Discovery:
    """A listing of tools that worked, or failed with an error type."""
    found = None if error is not None else tuple(ToolDefinition(name=t, side="mcp") for t in tools)
    return Discovery(span_id="", tools=fields.pop("tools", found), error_type=error, **fields)


def submission(answer: object = None, **fields: Any) -> Submission:
    """A frozen answer."""
    return Submission(span_id="", answer=answer, has_answer=answer is not None, **fields)


def contract(*expect: Mapping[str, Any], **fields: Any) -> Contract:
    """A contract of the given clauses."""
    return Contract.model_validate(
        {"contract": "test", "version": "1", "expect": list(expect), **fields}
    )


def run(
    *items: Item, prompt: str = "Please help.", opening: Iterable[Message] = (), **fields: Any
) -> Run:
    """A run of the given things in their order, complete and with content on.

    The final text is the last visible text of a reply, unless given; `opening` stands before the
    prompt in every request.
    """
    placed = [_placed(item, n) for n, item in enumerate(items, start=2)]
    if fields.get("content", "on") == "on":
        placed = _with_history(placed, [*opening, user(prompt)])
    chats = tuple(i for i in placed if isinstance(i, ChatCall))
    values: dict[str, Any] = {
        "run_id": "run-1",
        "trace_id": "ab" * 16,
        "root_span_id": "r" * 16,
        "name": "run",
        "agent": "agent",
        "dialects": ("spanwitness",),
        "chats": chats,
        "tools": tuple(i for i in placed if isinstance(i, ToolCall)),
        "steps": tuple(i for i in placed if isinstance(i, Step)),
        "discoveries": tuple(i for i in placed if isinstance(i, Discovery)),
        "submission": next((i for i in placed if isinstance(i, Submission)), None),
        "final_text": _last_text(chats),
        "input_text": prompt,
        "content": "on",
        "status": "ok",
    }
    values["has_final"] = fields.get("final_text", values["final_text"]) is not None
    return Run(**(values | fields))


def judge(rule: str, of: Run, /, *contracts: Contract) -> Verdict:
    """The verdict of one built-in rule."""
    return next(v for v in evaluate(of, contracts).verdicts if v.rule == rule)


def without_content(of: Run, /) -> Run:
    """The same run as a trace with content off shows it."""
    chats = tuple(
        msgspec.structs.replace(
            c,
            input_messages=None,
            output_messages=None,
            requested=None
            if c.requested is None
            else tuple(msgspec.structs.replace(r, arguments=None) for r in c.requested),
            offered=None
            if c.offered is None
            else tuple(msgspec.structs.replace(t, parameters=None) for t in c.offered),
        )
        for c in of.chats
    )
    tools = tuple(
        msgspec.structs.replace(t, arguments=None, result=None, has_result=False) for t in of.tools
    )
    submitted = of.submission
    if submitted is not None:
        submitted = msgspec.structs.replace(submitted, answer=None, has_answer=False)
    return msgspec.structs.replace(
        of, chats=chats, tools=tools, submission=submitted, final_text=None, input_text=None,
        content="off",
    )  # fmt: skip


def incomplete(of: Run, *reasons: str) -> Run:
    """The same run with a hole in its trace."""
    return msgspec.structs.replace(
        of, is_complete=False, incomplete_reasons=reasons or ("spans_missing",)
    )


def _placed(item: Any, n: int) -> Any:
    changes: dict[str, Any] = {}
    if not item.span_id:
        changes["span_id"] = f"{n:016x}"
    if item.seq is None:
        changes["seq"] = n
    if not item.start_ns:
        changes["start_ns"] = n * 1000
        if hasattr(item, "end_ns") and not item.end_ns:
            changes["end_ns"] = n * 1000 + 500
    return msgspec.structs.replace(item, **changes)


def _with_history(items: list[Any], opening: list[Message]) -> list[Any]:
    history = list(opening)
    carried: list[Delivery] = []
    placed: list[Any] = []
    for item in items:
        if isinstance(item, ToolCall) and item.call_id is not None:
            history.append(result(_rendered(item), id=item.call_id, name=item.name))
            carried.append(
                Delivery(
                    call_id=item.call_id,
                    state="whole",
                    part_types=("text",),
                    is_empty=item.outcome == "empty",
                )
            )
        if isinstance(item, ChatCall):
            messages = tuple(item.input_messages or history)
            delivered = item.delivered
            if delivered is None and item.dialect == "spanwitness":
                delivered = tuple(carried) if item.input_messages is None else _carried(messages)
            elif delivered is not None and item.input_messages is None:
                kept = {d.call_id for d in delivered}
                messages = tuple(m for m in history if _ids(m) <= kept)
            item = msgspec.structs.replace(item, input_messages=messages, delivered=delivered)  # noqa: PLW2901
            history.extend(item.output_messages or ())
        placed.append(item)
    return placed


def _ids(message: Message) -> set[str | None]:
    return {p.call_id for p in message.parts if isinstance(p, ToolResultPart)}


def _carried(messages: Iterable[Message]) -> tuple[Delivery, ...]:
    return tuple(
        Delivery(call_id=p.call_id, state="unknown", part_types=("text",))
        for m in messages
        for p in m.parts
        if isinstance(p, ToolResultPart)
    )


def _rendered(item: ToolCall) -> object:
    return "" if item.outcome == "empty" and item.result is None else item.result


def _last_text(chats: tuple[ChatCall, ...]) -> str | None:
    for found in reversed(chats):
        for message in found.output_messages or ():
            for part in message.parts:
                if isinstance(part, TextPart):
                    return part.text
    return None
