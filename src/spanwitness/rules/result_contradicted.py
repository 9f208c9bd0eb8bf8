"""`result_contradicted`: the answer says the opposite of what the result says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spanwitness.rules import tool_names, wording
from spanwitness.rules.failures import is_success
from spanwitness.rules.inherited import inherited_calls
from spanwitness.rules.question import question_of, stands_in
from spanwitness.rules.records import leaves_of, records_of
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, EXECUTIONS

if TYPE_CHECKING:
    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.records import Record
    from spanwitness.rules.rule import Outcome

_MOST_WORDS = 40
"""Longer questions hold conditions that cannot be told apart here."""
_MOST_CHARS = 1000
"""Longer answers say more than one thing."""
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w])")
_DENIAL = re.compile(
    r"\A\W*(?:there (?:is|are|was|were) (?:no|none)\b|none\b|nothing\b|"
    r"(?:I (?:found|see|could find|was able to find)|you have|we have|(?:it|they) (?:has|have)) "
    r"(?:no|none)\b|"
    r"no (?:\w+ ){0,4}(?:match\w*|found|available|meets?|fits?|exists?|satisf\w+|qualif\w+)\b)",
    re.IGNORECASE,
)
_FLAT = re.compile(
    r"\A\W*(?:there are|(?:you|we) have|I (?:found|see)|(?:it|they) (?:has|have)) no (?P<thing>\w+)"
    r"(?: at all| on file| in your account)?[.!]",
    re.IGNORECASE,
)
"""A denial of all things of a kind, without any condition."""
_YES_NO = re.compile(
    r"\A\W*(?:does|do|did|is|are|was|were|has|have|can)\b[^?]*\?\s*\Z", re.IGNORECASE
)
_SAYS = re.compile(r"\A\W*(?P<word>yes|no)\b", re.IGNORECASE)
_LEAST = re.compile(r"\b(?:cheapest|lowest|least|smallest|minimum|fewest)\b", re.IGNORECASE)
_MOST = re.compile(
    r"\b(?:(?:most|highest|largest|greatest|biggest|maximum|priciest|dearest)\b)", re.IGNORECASE
)
_OF_PRICE = re.compile(r"\b(?:cheapest|expensive|priciest|dearest|costl\w+)\b", re.IGNORECASE)
_MOST_FIELDS = 200
"""Fields of records that a question is held against."""
_PRICES = ("price", "cost", "fare", "amount", "total", "fee", "rate")


@rule(
    "result_contradicted", severity="warning", fault="reasoning", kind="selection",
    needs=CHATS | EXECUTIONS,
)  # fmt: skip
def result_contradicted(facts: Facts) -> Outcome:
    """The answer says the opposite of what the last read says about the question.

    Claims: The question is short, the last successful read gave records as JSON, and the answer is
        a flat denial although the call that asked for the question's own conditions found some; or
        a "yes" or "no" to a question for the value of a field, against that field; or it takes
        for the cheapest (lowest, highest, ...) a record that is not the one.
    Needs: The question, the answer, results as JSON.
    Not assessed when: One of them is not recorded, or the trace has a hole.
    Can be wrong: Conditions that are put in words the result does not use are not applied, so that
        an answer which rightly heeds them is reported; other contradictions are not seen.
    """
    if not facts.has_executions:
        return facts.no_execution
    question, answer = question_of(facts), facts.answer_text
    if question is None or answer is None:
        return not_assessed("the question or the answer is not recorded")
    if not _may_contradict(question, answer):
        return facts.nothing_found
    last = _last_read(facts)
    if last is None:
        return facts.nothing_found
    if not last.has_result:
        return not_assessed("what the last read gave is not recorded")
    records = records_of(last.result)
    if not records:
        return facts.nothing_found
    what = (
        _all_denied(last, answer)
        or _denied(last, question, answer)
        or _turned_round(records, question, answer)
        or _not_the_extreme(records, question, answer)
    )
    if not what:
        return facts.nothing_found
    if not facts.run.is_complete:
        return facts.incomplete
    return violated(
        f"{last.tool} gave {len(records)} record{'s' * (len(records) != 1)}, and the answer"
        f" {what}.",
        span_ids=tuple(s for s in (last.span_id, facts.run.root_span_id) if s),
        evidence={"tool": last.tool, "call_id": last.call_id, "n_records": len(records)},
    )


def _may_contradict(question: str, answer: str) -> bool:
    """Say whether question and answer are such that there is something to compare."""
    if len(answer) > _MOST_CHARS or len(question.split()) > _MOST_WORDS:
        return False
    return bool(
        _DENIAL.search(answer)
        or _SAYS.match(answer)
        or _LEAST.search(question)
        or _MOST.search(question)
    )


def _last_read(facts: Facts) -> Execution | None:
    earlier = inherited_calls(facts)
    for execution in reversed(facts.executions):
        if execution.call_id in earlier or execution.tool in facts.output_tools:
            continue
        if facts.effect_of(execution) == "write":
            return None
        if is_success(execution):
            return execution
    return None


def _all_denied(last: Execution, answer: str) -> str:
    """`You have no orders`, where the tool that lists orders gave some."""
    found = _FLAT.match(answer)
    if found is None or len(wording.sentences(answer)) > 2:
        return ""
    words = {word.rstrip("s") for word in tool_names.words_of(last.tool)}
    return "says that there is none" if found["thing"].casefold().rstrip("s") in words else ""


def _denied(last: Execution, question: str, answer: str) -> str:
    """The call carried all that the question asks for, found some, and the answer denies it."""
    if len(wording.sentences(answer)) > 2 or not _DENIAL.search(answer):
        return ""
    arguments = last.arguments
    if not isinstance(arguments, dict) or not arguments:
        return ""
    given = " ".join(str(value) for value in arguments.values())
    numbers = set(_numbers(given))
    if any(number not in numbers for number in _numbers(question)):
        return ""
    texts = [v for v in arguments.values() if isinstance(v, str) and any(c.isalpha() for c in v)]
    if not any(stands_in(text, question) for text in texts):
        return ""
    return "says that there is none"


def _turned_round(records: list[Record], question: str, answer: str) -> str:
    said = _SAYS.match(answer)
    if said is None or len(records) != 1 or not _YES_NO.match(question):
        return ""
    for name, value in leaves_of(records[0]):
        asked = re.search(
            rf"(?<!\w){re.escape(name)}\s*(?:=|:|is|of|being|set to|equal to)\s*"
            r"[\"'\u201c]?(?P<value>[^\s\"'?,;\u201d]+)",
            question,
            re.IGNORECASE,
        )
        if asked is None or value is None or isinstance(value, bool):
            continue
        is_so = asked["value"].rstrip(".").casefold() == str(value).split()[0].casefold()
        if is_so != (said["word"].casefold() == "yes"):
            return f"says {said['word'].lower()} against its field {name}"
    return ""


def _not_the_extreme(records: list[Record], question: str, answer: str) -> str:
    is_least, is_most = _LEAST.search(question), _MOST.search(question)
    if len(records) < 2 or bool(is_least) == bool(is_most):
        return ""
    wanted = _restricted(records, question)
    field = _field(records, question)
    if field is None or len(wanted) < 2:
        return ""
    values = [_value(record, field) for record in wanted]
    known = [value for value in values if value is not None]
    told = set(_numbers(answer))
    stated = {value for value in known if value in told}
    if len(known) != len(values) or len(stated) != 1:
        return ""
    extreme = min(known) if is_least else max(known)
    word = (is_least or is_most)[0].lower()  # type: ignore[index]
    return "" if extreme in stated else f"takes another for the one with the {word} {field}"


def _restricted(records: list[Record], question: str) -> list[Record]:
    """Keep the records that have what the question names: a flag by its name, a field's value."""
    leaves = [dict(leaves_of(record)) for record in records]
    kept = list(range(len(records)))
    for name in list(dict.fromkeys(name for each in leaves for name in each))[:_MOST_FIELDS]:
        values = [each.get(name) for each in leaves]
        if all(isinstance(value, bool) for value in values):
            if stands_in(name, question):
                kept = [n for n in kept if values[n] is True]
            continue
        named = {v for v in values if isinstance(v, str) and len(v) > 1 and stands_in(v, question)}
        if named and len(named) < len(set(map(str, values))):
            kept = [n for n in kept if values[n] in named]
    return [records[n] for n in kept]


def _field(records: list[Record], question: str) -> str | None:
    """Return the field that the question compares; `None` when that cannot be told."""
    numeric = [
        name
        for name, value in leaves_of(records[0])
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if _OF_PRICE.search(question):
        numeric = [n for n in numeric if any(price in n.casefold() for price in _PRICES)]
    elif len(numeric) > 1:
        numeric = [n for n in numeric if stands_in(n, question)]
    return numeric[0] if len(numeric) == 1 else None


def _value(record: Record, field: str) -> float | None:
    value = dict(leaves_of(record)).get(field)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type]


def _numbers(text: str) -> list[float]:
    return [float(found.replace(",", "")) for found in _NUMBER.findall(text)]
