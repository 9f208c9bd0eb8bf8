"""`empty_result_answered`: the reads gave nothing, and the answer makes a claim."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spanwitness.rules import wording
from spanwitness.rules.inherited import inherited_calls
from spanwitness.rules.plain_loops import ODD_LOOP
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, EXECUTIONS

if TYPE_CHECKING:
    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_POINTER = re.compile(
    r"\s*(?:please )?(?:see|refer to|as (?:described|reported|stated) in)?\s*"
    r"(?:my |the )?(?:full )?"
    r"(?:report|answer|findings|results?|summary|message|response)?\s*(?:is |are )?"
    r"(?:above|below|earlier|previous(?:ly)?)\W*",
    re.IGNORECASE,
)

_LONGEST_POINTER = 80
"""Characters."""


@rule(
    "empty_result_answered",
    severity="error",
    fault="reasoning",
    needs=EXECUTIONS | CHATS,
    signs=ODD_LOOP,
)
def empty_result_answered(facts: Facts) -> Outcome:
    """Every read gave nothing, and the answer makes a positive claim all the same.

    Claims: All reading executions of the run (tools that read, and sub-agents; of what a sub-agent
        read, only its report counts) came back empty, and the answer states values that no input
        holds (error) or another positive claim (warning), unless every value of it rests on what
        was given or read before. A flat denial ("there is no activity") that rests on a silent,
        empty output is told at `info`. Answers that say that nothing was found are right.
    Needs: Outcomes of executions, the effect of tools (declared, or told by their name), the
        answer or the counts of its values.
    Not assessed when: The outcome of a read, the effect of a tool or the answer is not recorded, or
        the trace has a hole.
    Can be wrong: General knowledge stated after an empty search is reported; a claim hedged with
        words of absence is missed.
    """
    if not facts.executions:
        return facts.no_execution
    empty = [e for e in facts.executions if _is_empty(e) and _may_read(facts, e)]
    unread = [e for e in facts.executions if _is_unread(e)]
    if not empty and not unread:
        if facts.has_unknown_outcome:
            return not_assessed("what some reads gave is not recorded")
        return facts.nothing_found
    handed = [e for e in (*empty, *unread) if e.side == "subagent"]
    if any(
        e not in empty
        and e not in unread
        and e not in facts.failures
        and _may_read(facts, e)
        and not _is_inside(facts, e, handed)
        for e in facts.executions
    ):
        return facts.nothing_found
    if unread:
        return not_assessed("what a sub-agent reported is not recorded")
    earlier = inherited_calls(facts)
    empty = [e for e in empty if e.call_id not in earlier]
    if not empty:
        return facts.nothing_found  # those of earlier turns had their answers then
    reads = [e for e in empty if e.side == "subagent" or facts.effect_of(e) == "read"]
    if not facts.run.is_complete:
        return facts.incomplete
    if not facts.stands_as_success or facts.run.has_final is False:
        return facts.nothing_found
    return _judge(facts, reads or empty, is_read=bool(reads))


def _may_read(facts: Facts, execution: Execution) -> bool:
    return execution.tool not in facts.output_tools and facts.effect_of(execution) != "write"


def _is_inside(facts: Facts, execution: Execution, handed: list[Execution]) -> bool:
    """Say whether a sub-agent asked for an execution: only its report reached the answer."""
    if not handed:
        return False
    at = facts.chat_before(execution)
    if at < 0:
        return False
    chat = facts.run.chats[at]
    return any(
        e.call is not None and e.call.start_ns <= chat.start_ns and chat.end_ns <= e.call.end_ns
        for e in handed
    )


def _is_unread(execution: Execution) -> bool:
    """Say whether a sub-agent's report may be a mere pointer that was not recorded."""
    if execution.side != "subagent" or execution.outcome != "value" or execution.has_result:
        return False
    chars = None if execution.call is None else execution.call.result_chars
    return chars is None or chars <= _LONGEST_POINTER


def _is_empty(execution: Execution) -> bool:
    if execution.outcome == "empty":
        return True
    if execution.outcome != "value" or not execution.has_result:
        return False
    result = execution.result
    if isinstance(result, str):
        return not result.strip() or (
            execution.side == "subagent" and _POINTER.fullmatch(result) is not None
        )
    return False


def _judge(facts: Facts, empty: list[Execution], *, is_read: bool) -> Outcome:
    replies = facts.replies
    said = facts.stated(replies[-1]) if replies else None
    answer = facts.answer_text
    if said is not None and said.has_unseen and (answer is None or not wording.abstains(answer)):
        return _violated(empty, "states values that no input holds", None)
    if answer is None:
        return not_assessed("the answer was not recorded")
    if not wording.asserts(answer):
        return facts.nothing_found
    if wording.claims_absence(answer):
        is_silent = all(e.result in (None, "") for e in empty)
        return _violated(empty, "denies it flatly", "info") if is_silent else facts.nothing_found
    if wording.discloses_failure(answer):
        return facts.nothing_found
    if _is_given(facts):
        return facts.nothing_found
    if not is_read:
        return not_assessed("whether the tools that gave nothing are meant to read is not declared")
    return _violated(empty, "makes a positive claim", "warning")


def _is_given(facts: Facts) -> bool:
    """Say whether the answer rests on other things than the reads: what was given, or known before.

    Every value that can be looked for has its support in a message or an earlier result.
    """
    states = {c.receipt.state for c in facts.claims if c.receipt.state != "untraceable"}
    return bool(states) and states <= {"in_window", "derivable"}


def _violated(empty: list[Execution], what: str, severity: str | None) -> Outcome:
    names = ", ".join(sorted({e.tool for e in empty})[:5])
    return violated(
        f"{names} gave nothing, and the answer {what}.",
        span_ids=tuple(dict.fromkeys(e.span_id for e in empty if e.span_id)),
        evidence={"tools": sorted({e.tool for e in empty})[:20], "n_empty": len(empty)},
        severity=severity,  # type: ignore[arg-type]
    )
