"""`error_as_answer`: the answer is the error text of a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.plain_loops import ODD_LOOP
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import EXECUTIONS
from spanwitness.rules.wording import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_MIN_CHARS = 4


@rule("error_as_answer", severity="error", fault="harness", needs=EXECUTIONS, signs=ODD_LOOP)
def error_as_answer(facts: Facts) -> Outcome:
    """The answer of a run that ended well is the error text of one of its tools.

    Claims: The answer equals the error text of a failed execution (up to white space, quotation
        marks and the name of the exception), and the run did not end in an error.
    Needs: The error texts and the answer, or the digests of both.
    Not assessed when: An execution failed and its text or the answer is not recorded.
    Can be wrong: A model that repeats an error word for word, on purpose, is reported.
    """
    if not facts.executions:
        return facts.no_execution
    failed = facts.failures
    if not failed or not facts.stands_as_success:
        if facts.has_unknown_outcome:
            return not_assessed("how some executions ended is not recorded")
        return facts.nothing_found
    answers = _answers(facts)
    unknown = False
    for execution in failed:
        if _is_same_digest(facts, execution):
            return _violated(execution)
        texts = set(_texts(execution))
        unknown |= not texts or (execution.call is not None and execution.call.is_truncated)
        if not texts.isdisjoint(answers):
            return _violated(execution)
    if facts.run.has_final is False:
        return facts.nothing_found
    if unknown or not answers:
        return not_assessed("an error text or the answer was not recorded")
    return facts.nothing_found


def _answers(facts: Facts) -> set[str]:
    run = facts.run
    texts = [facts.answer_text, run.final_text]
    return {folded for text in texts if text for folded in _forms(text)}


def _texts(execution: Execution) -> Iterator[str]:
    if not execution.has_result or execution.result is None:
        return
    result = execution.result
    if isinstance(result, str):
        yield from _forms(result)
    elif isinstance(result, dict):
        for key in ("error", "message", "detail", "error_message"):
            if isinstance(result.get(key), str):
                yield from _forms(result[key])
        yield from _forms(as_text(result))
    else:
        yield from _forms(str(result))


def _forms(text: str) -> Iterator[str]:
    """Yield the text, and what follows `SomeError:` and `Error:` in it."""
    for _ in range(3):
        folded = " ".join(text.split()).strip(" \"'`.").casefold()
        if len(folded) < _MIN_CHARS:
            return
        yield folded
        head, mark, text = text.partition(":")
        if (
            not mark
            or " " in head.strip()
            or not head.strip().casefold().endswith(("error", "exception", "failure"))
        ):
            return


def _is_same_digest(facts: Facts, execution: Execution) -> bool:
    submitted = facts.run.submission
    call = execution.call
    if submitted is None or submitted.digest is None or call is None:
        return False
    return submitted.digest in (call.error_text_digest, call.result_digest)


def _violated(execution: Execution) -> Outcome:
    return violated(
        f"The answer is the error text of {execution.tool}.",
        span_ids=(execution.span_id,) if execution.span_id else (),
        evidence={"tool": execution.tool, "call_id": execution.call_id},
    )
