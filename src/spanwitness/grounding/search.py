"""Where claims stand in the texts: it is the few claims that are searched for, in one linear pass.

A text may be megabytes and claims are few. Numbers are found by the digits they begin with, names
and identifiers as they stand, dates by a pattern of their own forms.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.grounding.amounts import Written, compare
from spanwitness.grounding.folding import GROUPING, fold_word
from spanwitness.grounding.layout import commas_part, context_unit, is_european
from spanwitness.grounding.numbers import number_at
from spanwitness.grounding.units import mantissas_of
from spanwitness.normalize.digits import leading_digits, leading_pattern
from spanwitness.normalize.references import find_dates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwitness.grounding.evidence import EvidenceText
    from spanwitness.grounding.statements import FoundClaim
    from spanwitness.model import MatchWord

__all__ = ["Hit", "find_dates_of", "find_numbers", "find_words", "places"]

MAX_HITS: Final = 6
"""Places of one claim in one text that are kept; more make it common."""
_MAX_READ: Final = 20_000
"""Candidates for one claim in one text that are read."""
_SMALL_CHARS: Final = 16_384
"""Bare small numbers are looked for in the beginning of a text only: they prove nothing."""
_MAX_CONTEXTS: Final = 400


class Hit(NamedTuple):
    """One place in a text that meets a claim."""

    text: EvidenceText
    start: int
    """In the folded text."""
    end: int
    match: MatchWord
    is_loose: bool = False
    """The unit or the scale was not told where it stands."""


class _Needle(NamedTuple):
    number: int
    claim: FoundClaim
    prefixes: frozenset[str]


def find_numbers(claims: Sequence[FoundClaim], text: EvidenceText) -> dict[int, list[Hit]]:
    """Find the places of a text that meet claimed numbers.

    Returns:
        Hits by the claim's index, at most `MAX_HITS` each.
    """
    found: dict[int, list[Hit]] = {}
    large = [_needle(i, c) for i, c in enumerate(claims) if c.numbers and not c.is_small]
    small = [_needle(i, c) for i, c in enumerate(claims) if c.numbers and c.is_small]
    _Pass(text, large, found).run(len(text.folded.text))
    if small:
        _Pass(text, small, found).run(min(len(text.folded.text), _SMALL_CHARS))
    return found


def _needle(index: int, claim: FoundClaim) -> _Needle:
    prefixes: set[str] = set()
    for written in claim.numbers:
        digits = written.digits.lstrip("-")
        rounds = len(digits) >= 2
        if claim.is_hedged and "." not in digits:
            zeros = 10.0 ** (len(digits) - len(digits.rstrip("0")))
        else:
            zeros = 1.0
        for amount in written.amounts:
            step = amount.step * zeros if rounds else 0.0
            said_step = amount.said_step * zeros if rounds else 0.0
            prefixes |= _digits(abs(amount.said), said_step)
            if amount.dimension is None:
                continue
            for unit in mantissas_of(amount.dimension):
                value = (amount.value - unit.offset) / unit.factor
                prefixes |= _digits(abs(value), step / unit.factor)
    return _Needle(index, claim, frozenset(prefixes))


def _digits(value: float, step: float) -> set[str]:
    if not value:
        return {""}
    low, high = value - max(step, value * 2e-9), value + max(step, value * 2e-9)
    if low <= 0:
        return leading_digits(value, value) | leading_digits(high, high)
    return leading_digits(low, high)


class _Pass:
    """One pass over one text."""

    def __init__(
        self, text: EvidenceText, needles: list[_Needle], found: dict[int, list[Hit]]
    ) -> None:
        self._text = text
        self._folded = text.folded.text
        self._open = needles
        self._found = found
        self._n_read = 0
        self._n_contexts = 0
        self._european: bool | None = None

    def run(self, end: int) -> None:
        at = 0
        while self._open and at < end:
            pattern = leading_pattern(set().union(*(n.prefixes for n in self._open)))
            at = self._scan(pattern, at, end)

    def _scan(self, pattern: re.Pattern[str], at: int, end: int) -> int:
        """Look at candidates until a claim needs no more, and say where to go on."""
        done = at
        for place in pattern.finditer(self._folded, at, end):
            start = place.start()
            if start < done:
                continue
            self._n_read += 1
            if self._n_read > _MAX_READ * max(len(self._open), 1):
                return end
            done = max(self._read(start), start + 1)
            if self._drop_done():
                return done
        return end

    def _read(self, at: int) -> int:
        parts = "," in self._folded[max(at - 2, 0) : at + 24] and commas_part(self._text, at)
        numbers = number_at(self._folded, at, commas_part=parts, is_european=self._is_european())
        end = at
        for written in numbers:
            end = max(end, written.end)
            for needle in self._open:
                self._try(needle, written, at, parts=parts)
        return end if numbers else at + 1

    def _is_european(self) -> bool:
        if self._european is None:
            self._european = is_european(self._text)
        return self._european

    def _try(self, needle: _Needle, written: Written, at: int, *, parts: bool) -> None:
        word, is_loose = _met(needle.claim, written)
        if (word is None or is_loose) and not written.unit and _may_scale(needle.claim, written):
            again = self._in_context(written, at, parts=parts)
            for one in again:
                word, is_loose = _met(needle.claim, one)
                if word is not None:
                    break
        if word is None:
            return
        hits = self._found.setdefault(needle.number, [])
        if not hits or hits[-1].start != written.start:
            hits.append(Hit(self._text, written.start, written.end, word, is_loose))

    def _in_context(self, written: Written, at: int, *, parts: bool) -> list[Written]:
        if self._n_contexts >= _MAX_CONTEXTS:
            return [written]
        self._n_contexts += 1
        unit = context_unit(self._text, written.start, written.end)
        if unit is None:
            return [written]
        return number_at(
            self._folded, at, commas_part=parts, is_european=self._is_european(), unit=unit
        )

    def _drop_done(self) -> bool:
        left = [n for n in self._open if len(self._found.get(n.number, ())) < MAX_HITS]
        if len(left) == len(self._open):
            return False
        self._open = left
        return True


def _met(claim: FoundClaim, written: Written) -> tuple[MatchWord | None, bool]:
    for claimed in claim.numbers:
        word = compare(claimed, written, is_hedged=claim.is_hedged, is_unsigned=claim.is_fall)
        if word is not None:
            has_units = bool(claimed.unit), bool(written.unit)
            return word, has_units == (True, False)
    return None, False


def _may_scale(claim: FoundClaim, written: Written) -> bool:
    """Say whether the unit that stands around could matter: the claim has one."""
    return any(one.amounts[0].dimension is not None or one.unit for one in claim.numbers) and bool(
        written.amounts
    )


# --- words


def find_words(claim: FoundClaim, text: EvidenceText) -> list[Hit]:
    """Find a name or an identifier: as it stands, else in other case, else word by word."""
    needle = fold_word(claim.text).strip().lstrip("#").rstrip(".,;:")
    if not needle:
        return []
    if claim.kind == "identifier":
        reference = _REFERENCE.fullmatch(needle)
        if reference is not None:
            return _find_reference(reference[1], reference[2], text)
    folded = text.folded.text
    found = [Hit(text, at, at + len(needle), "exact") for at in places(folded, needle)]
    if not found and needle.isdigit():
        # The digits of `credit_card_4421486` name the card.
        found = [Hit(text, *m.span(), "folded") for m in _in_identifier(folded, needle)]
    lower = needle.lower()
    if not found and (folded != text.lower or lower != needle):
        found = [Hit(text, at, at + len(lower), "folded") for at in places(text.lower, lower)]
    if not found and claim.kind == "name":
        found = _scattered(lower, text)
    return found


_REFERENCE = re.compile(
    r"(pages?|pp?\.|sections?|sect?\.|tables?|fig(?:ures?|\.)|chapters?|appendix|\u00a7)"
    r"\s*(\d+(?:\.\d+)*)(?:\s*-\s*\d+)?",
    re.IGNORECASE,
)
_KINDS: Final = {
    "p": "(?:page|pp?)", "s": "(?:section|sect?|\u00a7)", "\u00a7": "(?:section|sect?|\u00a7)",
    "t": "table", "f": "fig(?:ure)?", "c": "chapter", "a": "appendix",
}  # fmt: skip


def _find_reference(kind: str, number: str, text: EvidenceText) -> list[Hit]:
    word = _KINDS[kind[0].lower()]
    pattern = re.compile(
        rf"{word}(?:s|_?(?:number|no|num|index))?[\W_]{{0,6}}{re.escape(number)}(?![\d]|\.\d)"
    )
    hits: list[Hit] = []
    for found in pattern.finditer(text.lower):
        if not text.lower[found.start() - 1 : found.start()].isalpha():
            hits.append(Hit(text, *found.span(), "folded"))
            if len(hits) >= MAX_HITS:
                break
    return hits


def _in_identifier(text: str, digits: str) -> list[re.Match[str]]:
    pattern = re.compile(rf"{digits}(?<![^\W_]{digits})(?![^\W_])")
    return list(islice(pattern.finditer(text), MAX_HITS))


def places(text: str, needle: str) -> Iterator[int]:
    """Yield where a needle stands that is no part of a longer word."""
    at, n, tried = text.find(needle), 0, 0
    first, last = needle[0], needle[-1]
    while at >= 0 and n < MAX_HITS and tried < _MAX_READ:
        tried += 1
        before, after = text[at - 1 : at] if at else "", text[at + len(needle) :][:1]
        if not (_joins(before) and _joins(first)) and not (_joins(last) and _joins(after)):
            n += 1
            yield at
        at = text.find(needle, at + 1)


def _joins(char: str) -> bool:
    return bool(char) and (char.isalnum() or char == "_") and ord(char) < 0x2E80


_NEAR: Final = 80


def _scattered(lower: str, text: EvidenceText) -> list[Hit]:
    """`Sophia Silva` in `{"first_name": "Sophia", "last_name": "Silva"}`."""
    words = [w for w in re.findall(r"[^\W_]+", lower) if len(w) > 1]
    if not 2 <= len(words) <= 6 or sum(map(len, words)) < 5:
        return []
    rarest = max(words, key=len)
    body = text.lower
    for at in places(body, rarest):
        low, high = max(at - _NEAR, 0), at + len(rarest) + _NEAR
        window = body[low:high]
        if all(re.search(rf"(?<![^\W_]){re.escape(w)}(?![^\W_])", window) for w in words):
            return [Hit(text, at, at + len(rarest), "folded")]
    return []


# --- dates

_MONTHS: Final = (
    "jan(?:uary)?", "feb(?:ruary)?", "mar(?:ch)?", "apr(?:il)?", "may", "june?", "july?",
    "aug(?:ust)?", "sept?(?:ember)?", "oct(?:ober)?", "nov(?:ember)?", "dec(?:ember)?",
)  # fmt: skip


def find_dates_of(claim: FoundClaim, text: EvidenceText) -> list[Hit]:
    """Find a date in whatever form; one that is written in figures alone may be read two ways."""
    hits: list[Hit] = []
    body = text.lower
    for iso in _isos(claim.text):
        year, month, day = iso.split("-")
        if year and year not in body and year[2:] not in body:
            continue
        for found in _date_pattern(year, int(month), int(day)).finditer(body):
            same = fold_word(claim.text).lower() == found[0]
            hits.append(Hit(text, *found.span(), "exact" if same else "date"))
            if len(hits) >= MAX_HITS:
                return hits
    return hits


def _isos(text: str) -> list[str]:
    found = [value.removeprefix("date:") for one in find_dates(text) for value in one.values]
    if not found:
        without_year = find_dates(f"{text} 2000")
        found = [v.removeprefix("date:2000") for one in without_year for v in one.values]
    slashed = re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{4})", text.strip())
    if slashed and found and 1 <= int(slashed[1]) <= 12 and 1 <= int(slashed[2]) <= 12:
        found = [f"{slashed[3]}-{int(slashed[1]):02}-{int(slashed[2]):02}", *found]
        found.append(f"{slashed[3]}-{int(slashed[2]):02}-{int(slashed[1]):02}")
    return [iso for iso in dict.fromkeys(found) if 1 <= int(iso.split("-")[1]) <= 12]


def _date_pattern(year: str, month: int, day: int) -> re.Pattern[str]:
    """Make the pattern of the forms of one date, in lower case.

    Each arm begins with a letter or digit, so that the search runs fast.
    """
    name = _MONTHS[month - 1]
    if not year:
        return re.compile(
            rf"0?{month}(?<=[-/]0{month})[-/]0?{day}(?!\d)|0?{month}(?<=\d[-/]{month})[-/]0?{day}(?!\d)"
            rf"|{name}\.? 0?{day}(?:st|nd|rd|th)?(?![\w])|0?{day}(?<!\d{day})(?:st|nd|rd|th)?"
            rf"[- ](?:of )?{name}|0?{month}(?<!\d{month})/0?{day}(?!\d)"
        )
    years = rf"(?:{year}|'?{year[2:]}(?!\d))"
    gap = rf"[-/., {GROUPING}]{{1,3}}"
    days = rf"0?{day}(?<!\d0{day})(?<!\d{day})"
    arms = (
        rf"{year}(?<!\d\d{{4}})[-/.]?0?{month}[-/.]?0?{day}(?!\d)",
        rf"{year}(?<!\d\d{{4}}){gap}{name}{gap}0?{day}(?!\d)",
        rf"{days}(?:st|nd|rd|th)?\.?{gap}(?:of )?{name}\.?{gap}{years}(?!\d)",
        rf"{name}\.?{gap}0?{day}(?:st|nd|rd|th)?{gap}{years}(?!\d)",
        rf"0?{day}(?<![\d]{day})(?P<s>[-/.])0?{month}(?P=s){year}(?!\d)",
        rf"0?{month}(?<![\d]{month})(?P<t>[-/.])0?{day}(?P=t){year}(?!\d)",
    )
    return re.compile("|".join(arms))
