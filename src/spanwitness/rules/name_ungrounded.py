"""`name_ungrounded`: a look-up found nothing, and the short answer is a name from nowhere."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from spanwitness.normalize.delivery import is_empty_text
from spanwitness.rules import wording
from spanwitness.rules.attribution import is_read
from spanwitness.rules.failures import is_failure
from spanwitness.rules.inherited import inherited_calls
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.stated import input_texts
from spanwitness.rules.subjects import CHATS, EXECUTIONS
from spanwitness.rules.wording import as_text

if TYPE_CHECKING:
    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_MOST_WORDS = 16
"""Longer answers are no bare names; their values are the matter of `value_ungrounded`."""
_NAME = re.compile(r"[^\W\d_]{3,}")
_OPENING = re.compile(r"(?:^|[.!?:\n])\W*([^\W\d_]+)[ \t]+(?=[^\W\d_])")
"""The word that opens a sentence, with a word after it."""
_NO_NAME = frozenset(
    {"and", "for", "from", "her", "his", "its", "none", "not", "the", "with", "yes"}
)
_NOTHING = re.compile(
    r"\W*(?:(?:sorry|error)\W+)?"
    r"(?:(?:i )?(?:could|can|did)(?: not|n['\u2019]t|not) (?:find|locate)|"
    r"no (?:\w+ ){0,3}(?:results?|match\w*|records?|pages?|articles?|documents?|entries|entry|"
    r"hits?|items?|data)\b|nothing (?:was )?found|not found|0 (?:results?|hits?|matches)|no such|"
    r"(?:\w+ ){1,4}(?:was|were) not found|(?:\w+ ){1,4}does not exist)",
    re.IGNORECASE,
)
_MOST_CHARS = 600


@rule("name_ungrounded", severity="warning", fault="reasoning", needs=EXECUTIONS | CHATS)
def name_ungrounded(facts: Facts) -> Outcome:
    """A look-up of the run found nothing, and the short answer holds a name from nowhere.

    Claims: The answer is a few words, at least one of its capitalised words stands neither in what
        the run began with nor in any result, and some look-up gave nothing (empty, or a text such
        as "could not find ..."). Where every look-up gave something and at least half of the names
        are from nowhere, it is told at `info`: the model may know what it did not read.
    Needs: The answer, the first request, the results of tools.
    Not assessed when: One of them is not recorded, or the trace has a hole.
    Can be wrong: A right answer from memory after a vain search is reported; so is a name in
        another spelling or language. Longer answers and lower-case answers are not looked at, nor
        is the word that opens a sentence, unless a capitalised one follows.
    """
    if not facts.has_executions:
        return facts.no_execution
    answer = facts.answer_text
    if answer is None:
        if facts.run.has_final is False:
            return facts.nothing_found
        return not_assessed("the answer was not recorded")
    names = _names(answer)
    if not names or not facts.stands_as_success:
        return facts.nothing_found
    earlier = inherited_calls(facts)
    reads = [e for e in facts.executions if is_read(facts, e) and e.call_id not in earlier]
    if not reads:
        return facts.nothing_found
    if not all(e.has_result or e.outcome in ("empty", "error") for e in reads):
        return not_assessed("what some look-ups gave is not recorded")
    chats = facts.run.chats
    if not chats or chats[0].input_messages is None or any(c.has_server_state for c in chats):
        return not_assessed("what the run began with is not recorded")
    return _judge(facts, names, reads)


def _judge(facts: Facts, names: list[str], reads: list[Execution]) -> Outcome:
    strange = _strange(facts, names)
    vain = [e for e in reads if _found_nothing(e)]
    if not strange or (not vain and len(strange) * 2 < len(names)):
        return facts.nothing_found
    if not facts.run.is_complete:
        return facts.incomplete
    n = f"{len(strange)} of {len(names)} names"
    spans = tuple(dict.fromkeys(e.span_id for e in vain if e.span_id))
    counts: dict[str, object] = {
        "n_names": len(names), "n_unsupported": len(strange), "n_vain": len(vain),
    }  # fmt: skip
    if not vain:
        return violated(f"{n} of the answer stand in no result.", evidence=counts, severity="info")
    return violated(
        f"{', '.join(sorted({e.tool for e in vain})[:5])} found nothing, and {n} of the answer"
        " stand in no result.",
        span_ids=spans,
        evidence=counts,
    )


def _strange(facts: Facts, names: list[str]) -> list[str]:
    given = [*input_texts(facts.run.chats[0]), *(as_text(e.result) for e in facts.executions)]
    evidence = "\n".join(given).casefold()
    strange = [name for name in names if name.casefold().rstrip("s") not in evidence]
    if strange and not (evidence.isascii() and "".join(strange).isascii()):
        evidence = _without_accents(evidence)  # dear, and hardly ever needed
        strange = [n for n in strange if _without_accents(n.casefold()).rstrip("s") not in evidence]
    return strange


def _names(answer: str) -> list[str]:
    """Return the capitalised words of a short answer; none of a long one or of JSON."""
    if len(answer) > _MOST_CHARS or len(answer.split()) > _MOST_WORDS:
        return []
    if wording.json_leaves(answer) is not None or not wording.asserts(answer):
        return []
    opening = {m.start(1) for m in _OPENING.finditer(answer) if answer[m.end()].islower()}
    found = [m for m in _NAME.finditer(answer) if m.start() not in opening]
    words = [m.group() for m in found if m.group()[0].isupper()]
    return [w for w in words if w.casefold() not in _NO_NAME]


def _found_nothing(execution: Execution) -> bool:
    if execution.outcome == "empty":
        return True
    if is_failure(execution):
        return False
    text = as_text(execution.result)
    return is_empty_text(text) or (len(text) <= _MOST_CHARS and _NOTHING.match(text) is not None)


def _without_accents(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text)
    return "".join(c for c in plain if not unicodedata.combining(c))
