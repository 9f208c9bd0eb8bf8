"""`wrong_source`: the support comes from another document, row or field than was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.rules import tool_names, wording
from spanwitness.rules.answers import is_answer_left
from spanwitness.rules.attribution import is_read
from spanwitness.rules.decoded import decoded
from spanwitness.rules.failures import is_success
from spanwitness.rules.fields import misread_fields
from spanwitness.rules.identity import guess_subject
from spanwitness.rules.neighbours import values_beside_another
from spanwitness.rules.rows import misplaced_values
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.sources import read_of_subject
from spanwitness.rules.subjects import EXECUTIONS
from spanwitness.rules.unsupported import answer_spans

if TYPE_CHECKING:
    from spanwitness.model import Execution
    from spanwitness.model.verdict import Fault, ReasoningKind, Severity
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    reason: str
    span_ids: tuple[str, ...]
    evidence: dict[str, object]
    severity: Severity | None = None
    fault: Fault = "reasoning"
    kind: ReasoningKind | None = "selection"


@rule("wrong_source", severity="error", fault="reasoning", needs=EXECUTIONS)
def wrong_source(facts: Facts) -> Outcome:
    """The support of the answer comes from another document, row or field than was asked for.

    Claims: One of five. A result says itself that it is about another thing than its call asked
        for (the same key, another value; fault tool). Everything that supports the answer was read
        from documents of another thing than the run's subject: the declared one, else, at `info`,
        the only one that the question names. A value is told of one row or call and stands only in
        that of another (`warning` for one, `error` for several). A field of the answer holds the
        value of another field of the result that has one of its own. A value is told of one
        numbered thing (`INV-2041`) and stands only in sentences that name another of its kind and
        not this one (`error` for the declared subject, else `warning`).
    Needs: Arguments and results of tools; the answer; for the document the run's subject.
    Not assessed when: Results or the answer are not recorded, or no document says what it is
        about.
    Can be wrong: A document that names the subject by another name only is taken for another
        one; a subject of everyday words is named by many documents.
    """
    if not facts.executions:
        return facts.no_execution
    other = [e for e in facts.executions if _answers_another(facts, e)]
    if other:
        return _of_tool(other)
    if not facts.stands_as_success or is_answer_left(facts):
        return facts.nothing_found
    answer = facts.answer_text
    if answer is None:
        return not_assessed("the answer was not recorded")
    if wording.abstains(answer):
        return facts.nothing_found
    for found in (
        _by_subject(facts, answer),
        _by_rows(facts, answer),
        _by_fields(facts),
        _by_sentence(facts, answer),
    ):
        if found is not None:
            return violated(
                found.reason, span_ids=found.span_ids[:10], evidence=found.evidence,
                severity=found.severity, fault=found.fault, kind=found.kind,
            )  # fmt: skip
    if all(not e.has_result for e in facts.executions):
        return not_assessed("results are not recorded")
    return facts.nothing_found


_KEYS: Final = frozenset({"id", "number", "code", "sku", "isbn", "email", "reference", "symbol"})


def _answers_another(facts: Facts, execution: Execution) -> bool:
    """Say whether a result names itself, under the key of an argument, as another thing."""
    arguments, result = execution.arguments, execution.result
    if not isinstance(arguments, dict) or not execution.has_result or not is_success(execution):
        return False
    if not is_read(facts, execution):
        return False
    asked = {
        key: value
        for key, value in arguments.items()
        if isinstance(value, (str, int))
        and not isinstance(value, bool)
        and tool_names.words_of(key)[-1:] != ()
        and tool_names.words_of(key)[-1] in _KEYS
    }
    if not asked:
        return False
    text = wording.as_text(result)
    if all(str(value) in text for value in asked.values()):
        return False
    record = decoded(result)
    if not isinstance(record, dict):
        return False
    return any(
        isinstance(record.get(key), (str, int))
        and not _is_same(record[key], value)
        and not _stands_in(value, text)
        for key, value in asked.items()
    )


def _is_same(left: object, right: object) -> bool:
    return _bare(left) == _bare(right)


def _stands_in(value: object, text: str) -> bool:
    return _bare(value) in _bare(text)


def _bare(value: object) -> str:
    return "".join(c for c in str(value).casefold() if c.isalnum())


def _of_tool(other: list[Execution]) -> Outcome:
    names = sorted({e.tool for e in other})
    return violated(
        f"{', '.join(names[:5])} returned the record of another thing than it was asked for.",
        span_ids=tuple(dict.fromkeys(e.span_id for e in other if e.span_id))[:10],
        evidence={"tools": names[:20], "call_ids": [e.call_id for e in other[:20]]},
        fault="tool",
    )


def _by_subject(facts: Facts, answer: str) -> _Found | None:
    if not wording.asserts(answer):
        return None
    declared = facts.run.subject
    subject = declared or guess_subject(facts.run.input_text or "")
    if subject is None:
        return None
    read = read_of_subject(facts, subject)
    if not read.is_of_another:
        return None
    whose = "the run's subject" if declared else "the one thing that the question names"
    return _Found(
        reason=f"What supports the answer was read from {read.n_other} source"
        f"{'s' if read.n_other != 1 else ''} of another thing than {whose}, and none of it.",
        span_ids=(*answer_spans(facts), *read.span_ids),
        evidence={"n_sources": read.n_other, "is_subject_declared": declared is not None},
        severity=None if declared else "info",
    )


def _by_rows(facts: Facts, answer: str) -> _Found | None:
    found = misplaced_values(facts, answer)
    if not found:
        return None
    n = len(found)
    what = "calls" if found[0].is_call else "rows"
    return _Found(
        reason=f"{n} value{'s' if n != 1 else ''} of the answer"
        f" {'are' if n != 1 else 'is'} told of one thing and stand{'' if n != 1 else 's'} in the"
        f" result for another ({what} of {found[0].tool}).",
        span_ids=(*answer_spans(facts), *dict.fromkeys(s for f in found for s in f.span_ids if s)),
        evidence={"n_values": n, "tools": sorted({f.tool for f in found})[:20]},
        severity=None if n > 1 else "warning",
    )


def _by_fields(facts: Facts) -> _Found | None:
    found = misread_fields(facts)
    if not found:
        return None
    fields = [each.field for each in found]
    return _Found(
        reason=f"{', '.join(fields[:5])} of the answer hold{'s' if len(fields) == 1 else ''} the"
        " value of another field of the result, which has one of that name.",
        span_ids=(*answer_spans(facts), *dict.fromkeys(f.span_id for f in found if f.span_id)),
        evidence={"fields": fields[:20]},
    )


def _by_sentence(facts: Facts, answer: str) -> _Found | None:
    found = values_beside_another(facts, answer)
    if not found:
        return None
    n = len(found)
    return _Found(
        reason=f"{n} value{'s' if n != 1 else ''} of the answer {'are' if n != 1 else 'is'} told of"
        f" one thing and stand{'' if n != 1 else 's'} only beside the number of another.",
        span_ids=(*answer_spans(facts), *dict.fromkeys(s for f in found for s in f.span_ids)),
        evidence={"n_values": n, "is_subject_declared": any(f.is_subject for f in found)},
        severity=None if any(f.is_subject for f in found) else "warning",
    )
