"""Where a date stands in a text, in whatever form it is written there.

What is searched for begins with the letters or digits that a form begins with, or with its year or
month, so that the search runs fast; what stands before those is looked at then.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.grounding.folding import GROUPING, fold_word
from spanwitness.grounding.languages import MONTH_NAMES, foreign_dates
from spanwitness.grounding.search import MAX_HITS, Hit
from spanwitness.normalize.references import find_dates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.grounding.evidence import EvidenceText
    from spanwitness.grounding.statements import FoundClaim

__all__ = ["DateSearch"]

_MONTHS: Final = (
    "jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?",
    "aug(?:ust)?", "sept?(?:ember)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?",
)  # fmt: skip
_GAP: Final = rf"[-/., {GROUPING}]{{1,3}}"
_TH: Final = r"(?:st|nd|rd|th)?"
_BEFORE: Final = 24


class _Form(NamedTuple):
    """One form of a date: what is searched for, and what has to stand before it."""

    head: str
    """What the pattern begins with, letter for letter."""
    pattern: re.Pattern[str]
    before: re.Pattern[str] | None = None


class DateSearch:
    """A date, ready to be looked for in any text.

    One that is written in figures alone may be read two ways.

    Args:
        claim: The claim.
    """

    def __init__(self, claim: FoundClaim) -> None:
        self._said = fold_word(claim.text).lower()
        self._readings: list[tuple[_Form, ...]] = []
        for iso in _isos(fold_word(claim.text)):
            year, month, day = iso.split("-")
            self._readings.append(tuple(_forms(year, int(month), int(day))))

    def find(self, text: EvidenceText) -> list[Hit]:
        """Find the places of a text that hold it, at most `MAX_HITS`."""
        hits: list[Hit] = []
        body = text.lower
        first: dict[str, int] = {}
        for forms in self._readings:
            for form in forms:
                if form.head not in first:
                    first[form.head] = body.find(form.head)
                if first[form.head] < 0:
                    continue
                for start, end in _places(form, body, first[form.head]):
                    same = self._said == body[start:end]
                    hits.append(Hit(text, start, end, "exact" if same else "date"))
                    if len(hits) >= MAX_HITS:
                        return hits
        return hits


def _places(form: _Form, body: str, first: int) -> Iterator[tuple[int, int]]:
    for found in form.pattern.finditer(body, first):
        start = found.start()
        if form.before is not None:
            before = form.before.search(body, max(start - _BEFORE, 0), start)
            if before is None:
                continue
            start = before.start()
        yield start, found.end()


def _isos(text: str) -> list[str]:
    """Return the readings of a date as `2026-11-29`, without a year as `-11-29`."""
    found = [value.removeprefix("date:") for one in find_dates(text) for value in one.values]
    if not found:
        found = [one.iso for one in foreign_dates(text)][:1]
    if not found:
        without_year = find_dates(f"{text} 2000")
        found = [v.removeprefix("date:2000") for one in without_year for v in one.values]
    slashed = re.fullmatch(r"(\d{1,2})[/.](\d{1,2})[/.](\d{4})", text.strip())
    if slashed:
        one, two, year = slashed.groups()
        found += [f"{year}-{int(one):02}-{int(two):02}", f"{year}-{int(two):02}-{int(one):02}"]
    return [iso for iso in dict.fromkeys(found) if 1 <= int(iso.split("-")[1]) <= 12]


def _forms(year: str, month: int, day: int) -> Iterator[_Form]:
    name = _MONTHS[month - 1]
    letters = name[:3]
    day_before = re.compile(rf"(?<![\d.,])0?{day}{_TH}\.?{_GAP}(?:of )?\Z")
    east = rf"{month}\s?[\u6708\uc6d4]\s?0?{day}\s?[\u65e5\u53f7\uc77c]"
    names = f"{MONTH_NAMES[month - 1]}|{name}"
    west = rf"(?<![\d.,])0?{day}(?:\.|er|[\u00ba\u00b0])? (?:de |d')?(?:{names})"
    if not year:
        yield _Form(f"{month}\u6708", re.compile(east), re.compile(r"(?<!\d)0?\Z"))
        yield _Form(letters, re.compile(rf"{name}\.? ?0?{day}{_TH}(?!\w)"))
        yield _Form(letters, re.compile(rf"{name}(?!\w)"), day_before)
        yield _Form("-", re.compile(rf"-0?{month}-0?{day}(?!\d|-\d)"), re.compile(r"\d{4}\Z"))
        yield _Form("/", re.compile(rf"/0?{day}(?![\d/])"), re.compile(rf"(?<![\d/])0?{month}\Z"))
        return
    yield _Form(year, re.compile(rf"{year}\s?[\u5e74\ub144]\s?0?{east}"))
    yield _Form(year, re.compile(rf"{year}(?!\d)"), re.compile(rf"{west}(?:,? (?:de |del )?)\Z"))
    years = rf"(?:{year}|'?{year[2:]}(?!\d))"
    yield _Form(year, re.compile(rf"{year}(?<!\d{year})[-/.]?0?{month}[-/.]?0?{day}(?!\d)"))
    yield _Form(year, re.compile(rf"{year}(?<!\d{year}){_GAP}{name}{_GAP}0?{day}(?!\d)"))
    yield _Form(letters, re.compile(rf"{name}\.?{_GAP}0?{day}{_TH}{_GAP}{years}(?!\d)"))
    yield _Form(letters, re.compile(rf"{name}\.?{_GAP}{years}(?!\d)"), day_before)
    yield _Form(
        year,
        re.compile(rf"{year}(?<=[-/.]{year})(?!\d)"),
        re.compile(
            rf"(?<!\d)(?:0?{day}(?P<one>[-/.])0?{month}(?P=one)|0?{month}(?P<two>[-/.])0?{day}(?P=two))\Z"
        ),
    )
