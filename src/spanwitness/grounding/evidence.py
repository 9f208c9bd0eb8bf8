"""The texts that an answer may rest on, each distinct text once, with who holds it.

A history repeats in every request, and what a tool returned stands in messages again: the same text
has many holders. What is looked for in it is looked for once.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.grounding.folding import fold, lower_in_place, runs_of, unescaped
from spanwitness.grounding.layout import JsonPaths, is_csv, is_european
from spanwitness.model import (
    MediaPart,
    OpaquePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from spanwitness.normalize.order import positions
from spanwitness.normalize.plain import plain_value, unblock

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from spanwitness.grounding.folding import Folded
    from spanwitness.model import ChatCall, Execution, Message, Part, Run, SourceKind

__all__ = ["Evidence", "EvidenceText", "Holder", "answering_chat", "json_text"]

_ROLES: Final[dict[str, SourceKind]] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant",
    "model": "assistant", "tool": "result", "function": "result",
}  # fmt: skip


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """One place of the run at which a text stands."""

    source: SourceKind
    span_id: str
    call_id: str | None = None
    execution: Execution | None = None
    in_window: bool = False
    """In the input of the model call that gave the answer."""
    in_earlier: bool = False
    """In the input of an earlier model call."""
    is_delivered: bool | None = None


class EvidenceText:
    """A text that is looked through once, whoever holds it."""

    def __init__(self, text: str) -> None:
        self.text = unescaped(text)
        """As it stands, but for escapes that JSON needs in ASCII."""
        self.folded: Folded = fold(self.text)
        """The text in one typography."""
        self.holders: list[Holder] = []
        self._known: dict[tuple[str, str | None], int] = {}

    @cached_property
    def lower(self) -> str:
        """The folded text in lower case; as long as it, unless a letter has no lower case."""
        return lower_in_place(self.folded.text)

    @cached_property
    def runs(self) -> frozenset[str]:
        """All runs of ASCII letters and digits, in lower case."""
        return runs_of(self.lower)

    @cached_property
    def is_json(self) -> bool:
        """Whether it looks like JSON."""
        return self.text.lstrip()[:1] in ("{", "[")

    @cached_property
    def is_csv(self) -> bool:
        """Whether commas part its columns."""
        return is_csv(self.folded.text)

    @cached_property
    def is_european(self) -> bool:
        """Whether it writes `1.234,5`."""
        return not self.is_json and is_european(self.folded.text)

    @cached_property
    def paths(self) -> JsonPaths:
        """The keys that lead to its places."""
        return JsonPaths(self.folded.text)

    def add(self, holder: Holder) -> None:
        """Note one more place at which the text stands.

        A history that is repeated is no other place: of the same call, the place that says most
        about what the answering call saw is kept.
        """
        key = (holder.source, holder.call_id)
        known = self._known.get(key)
        if known is None:
            self._known[key] = len(self.holders)
            self.holders.append(holder)
        elif _nearness(holder) > _nearness(self.holders[known]):
            self.holders[known] = holder


def _nearness(holder: Holder) -> int:
    return 2 if holder.in_window else 1 if holder.in_earlier else 0


def json_text(value: object) -> str:
    """Return a value as the text in which it is looked for."""
    value = unblock(value)
    if isinstance(value, str):
        return value
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError):
        pass
    try:
        return msgspec.json.encode(plain_value(value).value).decode("utf-8", "replace")
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError):
        return str(value)[:100_000]


def answering_chat(run: Run, answer: str | None) -> ChatCall | None:
    """Return the model call that gave the answer; `None` = the run shows none.

    It is the last reply before the submission (else of the run) that says what the answer says,
    else the last reply.
    """
    chats = [c for c in run.chats if c.ending in ("complete", "unknown") and c.error_type is None]
    submitted = run.submission
    if submitted is not None and chats:
        places = positions(run)
        at = places[submitted.span_id]
        chats = [chat for chat in chats if places[chat.span_id] < at] or chats
    if not chats:
        return None
    if answer and len(chats) > 1:
        wanted = _squeezed(answer)
        for chat in reversed(chats):
            said = _said(chat)
            if said is None:
                break
            if wanted and wanted in said:
                return chat
    return chats[-1]


def _said(chat: ChatCall) -> str | None:
    if chat.output_messages is None:
        return None
    found = [p.text for m in chat.output_messages for p in m.parts if isinstance(p, TextPart)]
    found += [json_text(c.arguments) for c in chat.requested or () if c.arguments is not None]
    return _squeezed("\n".join(found))


def _squeezed(text: str) -> str:
    return "".join(text[:20_000].split()).casefold()


class Evidence:
    """All texts of a run that an answer may rest on, and what of them cannot be seen.

    Args:
        run: The run.
        executions: Its executions.
        chat: The model call that gave the answer; `None` = not known.
    """

    def __init__(self, run: Run, executions: Sequence[Execution], chat: ChatCall | None) -> None:
        self.run = run
        self.chat = chat
        self.executions = executions
        self._texts: dict[str, EvidenceText] = {}
        self._by_call = {e.call_id: e for e in executions if e.call_id is not None}
        self._whole: dict[str, str] = {}
        """By call id: the text that a request carries of a result as a whole."""
        self.hidden: list[str] = []
        """Why absence proves nothing."""
        self._read()

    @property
    def texts(self) -> tuple[EvidenceText, ...]:
        """The distinct texts: results first, then messages."""
        return tuple(self._texts.values())

    # --- reading

    def _read(self) -> None:
        chats = self._chats_so_far()
        self._note_whole(chats)
        for execution in self.executions:
            self._add_result(execution)
        seen: set[int] = set()
        for chat in chats:
            is_last = chat is self.chat
            if chat.input_messages is not None:
                self._add_input(chat, seen, is_last=is_last)
            if not is_last:
                self._add_output(chat)
        self._add_forms()
        if self.run.input_text and self.chat is not None and self.chat.input_messages is None:
            self._add(
                self.run.input_text,
                Holder(
                    source="user", span_id=self.run.root_span_id, in_window=True, is_delivered=True
                ),
            )
        self._note_hidden(chats)

    def _chats_so_far(self) -> list[ChatCall]:
        chats: list[ChatCall] = []
        for chat in self.run.chats:
            chats.append(chat)
            if chat is self.chat:
                break
        return chats

    def _note_whole(self, chats: Iterable[ChatCall]) -> None:
        """Find the raw texts of results that stand whole in a request."""
        whole: dict[str, bool] = {}
        for chat in chats:
            for delivery in chat.delivered or ():
                if delivery.call_id is not None and delivery.state == "whole":
                    whole[delivery.call_id] = True
        seen: set[int] = set()
        for chat in chats:
            for message in chat.input_messages or ():
                if id(message) in seen:
                    continue
                seen.add(id(message))
                for part in message.parts:
                    if isinstance(part, ToolResultPart) and part.call_id is not None:
                        execution = self._by_call.get(part.call_id)
                        if execution is None or execution.how != "span" or whole.get(part.call_id):
                            self._whole.setdefault(part.call_id, _result_text(part))

    def _add_result(self, execution: Execution) -> None:
        if not execution.has_result:
            return
        call_id = execution.call_id
        if call_id is not None and call_id in self._whole:
            return  # it stands in a message as a whole, and is read there
        is_delivered = self._is_delivered(execution)
        in_window = (
            is_delivered is True and self.chat is not None and self._reached(execution, self.chat)
        )
        self._add(
            json_text(execution.result),
            Holder(
                source="result", span_id=execution.span_id, call_id=call_id, execution=execution,
                in_window=in_window, in_earlier=is_delivered is True and not in_window,
                is_delivered=is_delivered,
            ),
        )  # fmt: skip

    def _is_delivered(self, execution: Execution) -> bool | None:
        """Say whether a result, as returned, stood in some request as far as states tell."""
        if execution.how == "provider":
            return True
        if execution.call_id is None:
            return None
        known = True
        for chat in self.run.chats:
            if chat.delivered is None:
                known = False
                continue
            for delivery in chat.delivered:
                if delivery.call_id == execution.call_id:
                    if delivery.state == "whole":
                        return True
                    return False if delivery.state == "altered" else None
        return False if known and self.run.chats else None

    def _reached(self, execution: Execution, chat: ChatCall) -> bool:
        if execution.how == "provider":
            return True
        return any(d.call_id == execution.call_id for d in chat.delivered or ())

    def _add_input(self, chat: ChatCall, seen: set[int], *, is_last: bool) -> None:
        for message in chat.input_messages or ():
            if not is_last:
                if id(message) in seen:
                    continue
                seen.add(id(message))
            for part in message.parts:
                self._add_part(part, message, chat, is_last=is_last)

    def _add_part(self, part: Part, message: Message, chat: ChatCall, *, is_last: bool) -> None:
        def holder(source: SourceKind, call_id: str | None = None) -> Holder:
            return Holder(
                source=source, span_id=chat.span_id, call_id=call_id, in_window=is_last,
                in_earlier=not is_last, is_delivered=True,
            )  # fmt: skip

        if isinstance(part, TextPart):
            self._add(part.text, holder(_ROLES.get(message.role, "other")))
        elif isinstance(part, ReasoningPart):
            if part.text:
                self._add(part.text, holder("reasoning"))
        elif isinstance(part, ToolCallPart):
            if part.arguments is not None:
                self._add(json_text(part.arguments), holder("arguments", part.call_id))
        elif isinstance(part, ToolResultPart):
            execution = self._by_call.get(part.call_id or "")
            found = holder("result", part.call_id)
            if execution is not None:
                found = msgspec.structs.replace(
                    found, span_id=execution.span_id, execution=execution
                )
            self._add(_result_text(part), found)

    def _add_output(self, chat: ChatCall) -> None:
        """Add what the model itself said earlier, and what hosted tools gave it."""
        for message in chat.output_messages or ():
            for part in message.parts:
                if isinstance(part, ToolResultPart):
                    self._add_part(part, message, chat, is_last=False)
                    continue
                holder = Holder(source="assistant", span_id=chat.span_id, is_delivered=False)
                if isinstance(part, TextPart):
                    self._add(part.text, holder)
                elif isinstance(part, ReasoningPart) and part.text:
                    self._add(part.text, msgspec.structs.replace(holder, source="reasoning"))

    def _add_forms(self) -> None:
        chat = self.chat
        if chat is None:
            return
        holder = Holder(source="schema", span_id=chat.span_id, in_window=True, is_delivered=True)
        if chat.output_format is not None and chat.output_format.schema is not None:
            self._add(json_text(chat.output_format.schema), holder)
        for tool in chat.offered or ():
            if tool.parameters:
                self._add(json_text(tool.parameters), holder)

    def _add(self, text: str, holder: Holder) -> None:
        if not text:
            return
        found = self._texts.get(text)
        if found is None:
            found = self._texts[text] = EvidenceText(text)
        found.add(holder)

    # --- what cannot be seen

    def _note_hidden(self, chats: Sequence[ChatCall]) -> None:
        run, chat = self.run, self.chat
        if chat is None:
            self.hidden.append("no model call that gave the answer is recorded")
            return
        if chat.input_messages is None:
            self.hidden.append("the input of the answering call was not recorded")
        if chat.has_server_state:
            self.hidden.append("part of the input is held by the provider")
        if chat.is_truncated or any(c.is_truncated for c in chats):
            self.hidden.append("recorded content was cut")
        if any(_is_unreadable(part) for m in chat.input_messages or () for part in m.parts):
            self.hidden.append("the input holds a part that cannot be read")
        for execution in self.executions:
            self._note_execution(execution)
        if not run.is_complete:
            self.hidden.append("spans are missing")

    def _note_execution(self, execution: Execution) -> None:
        if execution.call is not None and execution.call.is_truncated:
            self.hidden.append("a recorded result was cut")
        elif (
            not execution.has_result
            and execution.call_id not in self._whole
            and execution.outcome in ("value", "unknown", "cached")
        ):
            self.hidden.append("a result was not recorded")


def _is_unreadable(part: Part) -> bool:
    if isinstance(part, (MediaPart, OpaquePart)):
        return True
    return isinstance(part, ToolResultPart) and any(
        isinstance(inner, (MediaPart, OpaquePart)) for inner in part.parts
    )


def _result_text(part: ToolResultPart) -> str:
    texts = [inner.text for inner in part.parts if isinstance(inner, TextPart)]
    if not texts and part.value is not None:
        return json_text(part.value)
    return texts[0] if len(texts) == 1 else "\n".join(texts)
