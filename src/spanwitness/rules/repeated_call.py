"""`repeated_call`: the same call with the same result again and again, or a write done twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.model import TextPart
from spanwitness.rules import tool_names
from spanwitness.rules.failures import is_success
from spanwitness.rules.plain_loops import ODD_LOOP, REPEATS
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.same_calls import (
    arguments_key,
    has_same_arguments,
    knows_arguments,
    knows_result,
    result_key,
)
from spanwitness.rules.subjects import EXECUTIONS

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Execution
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_MANY = 3
_DONE = ("value", "empty")


@rule(
    "repeated_call",
    severity="warning",
    fault="reasoning",
    needs=EXECUTIONS,
    signs=ODD_LOOP | REPEATS,
    version=2,
)
def repeated_call(facts: Facts) -> Outcome:
    """The same call gave the same result three times with nothing between, or a write was repeated.

    Claims: Three or more executions in a row have the same tool, arguments and result; or a write
        that had succeeded was executed again with the same arguments, with no other write asked for
        and no new message of the user between (other writes of the same reply as the first are not
        between). Polling (a tool whose name says so, or changing results) and retries after an
        error are not reported.
    Needs: Executions in order with arguments and results, or their digests.
    Not assessed when: Arguments or results of repeated calls are not recorded.
    Can be wrong: A write that is meant to be repeated with equal arguments (append, press a key) is
        reported where it is declared a write.
    """
    ran = [e for e in facts.executions if e.how != "cache" and e.outcome != "cached"]
    if len(ran) < 2:
        return facts.nothing_found if facts.executions else facts.no_execution
    if len({e.tool for e in ran}) == len(ran):
        return facts.nothing_found
    found = _repeated_write(facts, ran) or _repeated_read(ran)
    if found is not None:
        return found
    if _is_unclear(ran):
        return not_assessed("arguments or results of repeated calls are not recorded")
    return facts.nothing_found


def _repeated_read(ran: list[Execution]) -> Outcome | None:
    length = 1
    for at in range(1, len(ran)):
        this, before = ran[at], ran[at - 1]
        is_same = (
            this.tool == before.tool
            and this.outcome in _DONE
            and before.outcome in _DONE
            and not tool_names.is_poll(this.tool)
            and has_same_arguments(this, before)
        )
        if is_same:
            result = result_key(this)
            is_same = result is not None and result == result_key(before)
        length = length + 1 if is_same else 1
        if length == _MANY:
            spans = tuple(e.span_id for e in ran[at - _MANY + 1 : at + 1] if e.span_id)
            return violated(
                f"{this.tool} was called {_MANY} times in a row with the same arguments and gave"
                " the same result each time.",
                span_ids=tuple(dict.fromkeys(spans)),
                evidence={"tool": this.tool},
            )
    return None


def _repeated_write(facts: Facts, ran: list[Execution]) -> Outcome | None:
    done: dict[str, int] = {}
    writes: list[int] = []
    for at, execution in enumerate(ran):
        if facts.effect_of(execution) != "write" or tool_names.is_poll(execution.tool):
            continue
        key = arguments_key(execution)
        before = done.get(key) if key is not None else None
        if (
            before is not None
            and not _was_changed_between(facts, ran, before, writes)
            and not _is_asked_anew(facts, ran, before, at)
        ):
            return violated(
                f"{execution.tool} had succeeded and was executed again with the same arguments.",
                span_ids=tuple(s for s in (ran[before].span_id, execution.span_id) if s),
                evidence={"tool": execution.tool, "call_id": execution.call_id},
            )
        if is_success(execution):
            writes.append(at)
            if key is not None:
                done[key] = at
    return None


def _was_changed_between(
    facts: Facts, ran: list[Execution], before: int, writes: list[int]
) -> bool:
    """Say whether a write that was asked for later may have undone the first one."""
    asked = facts.chat_before(ran[before])
    return any(
        asked < 0 or facts.chat_before(ran[place]) != asked for place in writes if place > before
    )


def _is_asked_anew(facts: Facts, ran: list[Execution], before: int, at: int) -> bool:
    first, second = facts.chat_before(ran[before]), facts.chat_before(ran[at])
    if first < 0 or second < 0 or first == second:
        return False
    chats = facts.run.chats
    return _last_of_user(chats[first]) != _last_of_user(chats[second])


def _last_of_user(chat: ChatCall) -> tuple[int, str]:
    texts = [
        "".join(part.text for part in message.parts if isinstance(part, TextPart))
        for message in chat.input_messages or ()
        if message.role == "user"
    ]
    texts = [text for text in texts if text]
    return (len(texts), texts[-1] if texts else "")


def _is_unclear(ran: list[Execution]) -> bool:
    length = 1
    for at in range(1, len(ran)):
        this, before = ran[at], ran[at - 1]
        may_be_same = (this.tool == before.tool and not tool_names.is_poll(this.tool)) and (
            not knows_arguments(this)
            or (not knows_result(this) and has_same_arguments(this, before))
        )
        length = length + 1 if may_be_same else 1
        if length >= _MANY or (may_be_same and tool_names.effect_of(this.tool) == "write"):
            return True
    return False
