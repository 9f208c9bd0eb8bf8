"""Values of an answer that stand beside the number of another thing than the one it tells of.

Invoices, orders, cases and parts are told apart by numbers behind one prefix (`INV-2041`,
`INV-2017`). An answer that tells a value of one of them, where every sentence that holds the value
names another, tells it of the wrong one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.rules.conditions import surroundings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanwitness.model import AssessedClaim
    from spanwitness.rules.facts import Facts

__all__ = ["Beside", "values_beside_another"]

_NAME: Final = re.compile(
    r"(?<![\w-])(?P<kind>[A-Z]{1,8})(?:[-_/#]|(?=\d))(?P<number>\d{2,12})(?![\w-])"
)
_NO_KIND: Final = frozenset(
    re.findall(
        r"\w+",
        "AED AUD BRL CAD CHF CNY CZK DKK EUR GBP HKD INR JPY KRW MXN NOK NZD PLN SEK SGD USD ZAR"
        " CH FIG HTTP ISO IEC IEEE IP IPV MP P PAGE PP Q REV RFC SEC SHA TAB UTF V VER",
    )
)
"""Prefixes of amounts, standards and places: their numbers tell no things apart."""
_KINDS: Final = frozenset({"number", "date"})


class Beside(msgspec.Struct, frozen=True):
    """A value that is told of one thing and stands beside another."""

    span_ids: tuple[str, ...]
    is_subject: bool
    """The run's declared subject is the thing; else the answer's own sentence names it."""


def values_beside_another(facts: Facts, answer: str) -> tuple[Beside, ...]:
    """Return the values that stand only in sentences about another thing of the same kind.

    A value counts where the answer's own sentence, else the declared subject, names a thing, and
    every place that holds the value is in a result of prose, in a sentence that names others of its
    kind and not this one.
    """
    subject = _names(facts.run.subject or "")
    if not subject and not _names(answer):
        return ()
    # Records have rows and keys of their own; see `rules.rows`.
    texts = {
        (e.span_id, e.call_id): e.result
        for e in facts.executions
        if isinstance(e.result, str) and e.result.lstrip()[:1] not in ("{", "[")
    }
    found = []
    for claim in facts.claims:
        if claim.kind not in _KINDS or claim.receipt.is_weak or not claim.receipt.places:
            continue
        told = _names(_sentence_of(answer, claim))
        wanted = told or subject
        if wanted and _stands_beside_others(claim, wanted, texts):
            spans = tuple(dict.fromkeys(p.span_id for p in claim.receipt.places if p.span_id))
            found.append(Beside(spans, not told or told <= subject))
    return tuple(found)


def _names(text: str) -> frozenset[tuple[str, str]]:
    return frozenset(
        (found["kind"], found["number"].lstrip("0"))
        for found in _NAME.finditer(text)
        if found["kind"] not in _NO_KIND
    )


def _sentence_of(answer: str, claim: AssessedClaim) -> str:
    start = answer.find(claim.text) if claim.text else -1
    return surroundings(answer, start, start + len(claim.text)) if start >= 0 else ""


def _stands_beside_others(
    claim: AssessedClaim,
    wanted: Iterable[tuple[str, str]],
    texts: dict[tuple[str, str | None], str],
) -> bool:
    kinds = {kind for kind, _ in wanted}
    for place in claim.receipt.places:
        text = texts.get((place.span_id, place.call_id))
        if place.source != "result" or text is None or place.end > len(text):
            return False
        beside = _names(surroundings(text, place.start, place.end))
        named = {name for name in beside if name[0] in kinds}
        if not named or not named.isdisjoint(wanted):
            return False
    return True
