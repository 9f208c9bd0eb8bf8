"""`tool_error_swallowed`: an execution failed, and the answer stands as if it had not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.disclosure import claims_work, leaves_open, tells_of_failure, tells_plainly
from spanwitness.rules.failures import is_success
from spanwitness.rules.inherited import inherited_calls
from spanwitness.rules.plain_loops import ODD_LOOP
from spanwitness.rules.recovery import was_recovered
from spanwitness.rules.replies import reply_texts
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import EXECUTIONS

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Execution
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule(
    "tool_error_swallowed",
    severity="error",
    fault="reasoning",
    needs=EXECUTIONS,
    signs=ODD_LOOP,
    version=2,
)
def tool_error_swallowed(facts: Facts) -> Outcome:
    """An execution failed, no retry, fallback or disclosure followed, and the answer stands.

    Claims: An execution ended in an error (or its whole result is an error text), no later
        execution of the same tool or of one that can stand in for it succeeded, the run ended
        without an error, and the answer neither tells of a failure nor abstains. The answer is
        the run's, or the reply that the user was given next. What failed in earlier runs of the
        conversation had its answer there.
    Needs: Executions with their outcome, and the answer.
    Not assessed when: The outcome of an execution or the answer is not recorded, or the trace has a
        hole in which a retry may lie.
    Can be wrong: A failure that the answer did not depend on is reported; an answer that speaks of
        errors for another reason hides one. Any later success of another reading tool counts as a
        fallback for a read; a write is made up for by one that does the same.
    """
    if not facts.executions:
        return facts.no_execution
    failed = [e for e in facts.failures if e.tool not in facts.output_tools]
    if failed:
        earlier = inherited_calls(facts)
        failed = [e for e in failed if e.call_id not in earlier]
    if not failed:
        if facts.has_unknown_outcome:
            return not_assessed("how some executions ended is not recorded")
        return facts.nothing_found
    open_failures = [e for e in failed if not was_recovered(facts, e)]
    if not open_failures or not facts.stands_as_success or facts.run.has_final is False:
        return facts.nothing_found
    return _judge(facts, open_failures)


def _judge(facts: Facts, failed: list[Execution]) -> Outcome:
    hidden = []
    for execution in failed:
        answer = _answer_to(facts, execution)
        if answer is None:
            return not_assessed(
                "the answer was not recorded, so whether it tells of the failure is open"
            )
        if answer.strip() and _is_hidden(facts, execution, answer):
            hidden.append(execution)
    if not hidden:
        return facts.nothing_found
    if not facts.run.is_complete:
        return facts.incomplete
    names = sorted({e.tool for e in hidden})
    return violated(
        f"{', '.join(names[:5])} failed; no retry or other tool replaced it, and the"
        " answer does not say so.",
        span_ids=tuple(dict.fromkeys(e.span_id for e in hidden if e.span_id)),
        evidence={
            "tools": list(names[:20]),
            "call_ids": [e.call_id for e in hidden[:20]],
            "is_marked": any(e.outcome == "error" for e in hidden),
        },
    )


def _is_hidden(facts: Facts, failed: Execution, answer: str) -> bool:
    if facts.effect_of(failed) != "write":
        return not tells_of_failure(answer)
    if not claims_work(answer, failed.tool):
        return not tells_plainly(answer) and not leaves_open(answer)
    # Where nothing else was done, "it is done" can only be about what failed.
    return not _has_other_work(facts, failed) or not tells_plainly(answer)


def _has_other_work(facts: Facts, failed: Execution) -> bool:
    earlier = inherited_calls(facts)
    return any(
        is_success(e)
        and e.call_id not in earlier
        and e.tool not in facts.output_tools
        and (facts.effect_of(e) == "write" or e.side == "subagent")
        for e in facts.executions
        if e is not failed
    )


def _answer_to(facts: Facts, failed: Execution) -> str | None:
    """Return what the user was told after a failure.

    In a run that holds several turns of a dialog it is the reply before the user's next message.
    """
    chats = facts.run.chats
    at = facts.chat_before(failed)
    if facts.run.submission is None and 0 <= at < len(chats) - 1:
        n_asked = _n_of_user(chats[-1])
        for chat in chats[at + 1 :]:
            if chat.requested or not chat.text_chars:
                continue
            if _n_of_user(chat) == n_asked:
                break
            texts = reply_texts(chat)
            return None if texts is None else "\n".join(texts)
    return facts.answer_text


def _n_of_user(chat: ChatCall) -> int:
    return sum(message.role == "user" for message in chat.input_messages or ())
