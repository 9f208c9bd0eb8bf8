"""Where claims stand in the texts: it is the few claims that are searched for, in one linear pass.

A text may be megabytes and claims are few. Numbers are found by the digits they begin with, names
and identifiers as they stand, dates by a pattern of their own forms.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice
from math import floor, log10
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.grounding.amounts import Written, compare
from spanwitness.grounding.folding import GROUPING, fold_word
from spanwitness.grounding.layout import commas_part, context_unit
from spanwitness.grounding.numbers import number_at
from spanwitness.grounding.units import mantissas_of
from spanwitness.normalize.digits import leading_digits, leading_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwitness.grounding.evidence import EvidenceText
    from spanwitness.grounding.statements import FoundClaim
    from spanwitness.model import MatchWord

__all__ = ["MAX_HITS", "Hit", "find_numbers", "find_words", "places"]

MAX_HITS: Final = 6
"""Places of one claim in one text that are kept; more make it common."""
_MAX_READ: Final = 20_000
"""Places of a word in one text that are looked at."""
_FEW_CHARS: Final = 65_536
_MANY_CHARS: Final = 262_144
"""In a longer text some number can be rounded to any two digits: there, three are asked for."""
_BACK: Final = 48
_MAX_ZEROS: Final = 200
_SMALL_CHARS: Final = 16_384
"""Bare small numbers are looked for in the beginning of a text only: they prove nothing."""
_MAX_CONTEXTS: Final = 120


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
    """A claimed number with the digits that its like begin with."""

    number: int
    claim: FoundClaim
    windows: tuple[tuple[float, float], ...]
    """Between which bounds the leading digits lie, as numbers from 1 to 10."""
    has_zero: bool
    text: str
    """The claim, folded."""


def find_numbers(claims: Sequence[FoundClaim], text: EvidenceText) -> dict[int, list[Hit]]:
    """Find the places of a text that meet claimed numbers.

    Returns:
        Hits by the claim's index, at most `MAX_HITS` each, in the order of the text.
    """
    found: dict[int, list[Hit]] = {}
    end = len(text.folded.text)
    least = 3 if end > _MANY_CHARS else 2
    large = [_needle(i, c, least) for i, c in enumerate(claims) if c.numbers and not c.is_small]
    small = [_needle(i, c, least) for i, c in enumerate(claims) if c.numbers and c.is_small]
    if end <= _SMALL_CHARS:
        _Pass(text, large + small, found).run(end)
    else:
        _Pass(text, large, found).run(end)
        _Pass(text, small, found).run(_SMALL_CHARS)
    for hits in found.values():
        hits.sort(key=lambda hit: hit.start)
    return found


def _needle(index: int, claim: FoundClaim, least_digits: int) -> _Needle:
    windows: set[tuple[float, float]] = set()
    has_zero = False
    for written in claim.numbers:
        digits = written.digits.lstrip("-")
        rounds = 1.0 if len(digits.replace(".", "").lstrip("0")) >= least_digits else 0.0
        if claim.is_hedged and "." not in digits:
            rounds *= 10.0 ** (len(digits) - len(digits.rstrip("0")))
        for amount in written.amounts:
            has_zero = has_zero or not amount.said
            windows.update(_windows(abs(amount.said), amount.said_step * rounds))
            if amount.dimension is None:
                continue
            for unit in mantissas_of(amount.dimension):
                value = (amount.value - unit.offset) / unit.factor
                windows.update(_windows(abs(value), amount.step * rounds / unit.factor))
    return _Needle(index, claim, tuple(sorted(windows)), has_zero, fold_word(claim.text))


def _windows(value: float, step: float) -> list[tuple[float, float]]:
    """Return the bounds of the leading digits of numbers about as large as a value."""
    if not 1e-300 < value < 1e300:
        return []
    reach = max(step * (1 + 1e-6), value * 3e-9)
    low, high = value - reach, value + reach
    if low <= 0:
        return [(1.0, 10.0)]
    scale = 10.0 ** -floor(log10(low))
    low, high = low * scale, high * scale
    return [(low, high)] if high < 10 else [(low, 10.0), (1.0, high / 10)]


_LEADING = re.compile(r"\d(?:[., '" + GROUPING + r"]?\d){0,15}")
_RUN = re.compile(r"\d[\d.,'" + GROUPING + r"]*")
_PIECE = re.compile(r"\d+")
_DIGITS_ONLY: Final = str.maketrans("", "", "., '" + GROUPING)


class _Pass:
    """One look through one text."""

    def __init__(
        self, text: EvidenceText, needles: list[_Needle], found: dict[int, list[Hit]]
    ) -> None:
        self._text = text
        self._folded = text.folded.text
        self._open = needles
        self._found = found
        self._n_contexts = 0
        self._lows: list[float] = []
        self._highs: list[float] = []
        self._owners: list[list[_Needle]] = []

    def run(self, end: int) -> None:
        """Look through the text up to a place."""
        if not self._open:
            return
        self._note_windows()
        if end <= _FEW_CHARS:
            self._read_each(end)
            return
        for digit in "123456789":
            done = 0
            while done < end:
                done = self._scan(digit, done, end)
        if self._zeros():
            self._scan_zeros(end)

    def _note_windows(self) -> None:
        """Join the bounds of all open needles to a list without overlaps."""
        self._lows, self._highs, self._owners = [], [], []
        owned = [(w, n.number, n) for n in self._open for w in n.windows]
        for (low, high), _, needle in sorted(owned, key=lambda one: one[:2]):
            if self._highs and low <= self._highs[-1]:
                self._highs[-1] = max(self._highs[-1], high)
                if needle not in self._owners[-1]:
                    self._owners[-1].append(needle)
            else:
                self._lows.append(low)
                self._highs.append(high)
                self._owners.append([needle])

    def _read_each(self, end: int) -> None:
        """Of a short text, look at every number: that is cheaper than to make patterns."""
        for run in _RUN.finditer(self._folded, 0, end):
            if not self._open:
                return
            starts = [run.start()]
            if "," in run[0]:
                starts += [
                    m.start()
                    for m in _PIECE.finditer(self._folded, run.start() + 1, run.end())
                    if self._folded[m.start() - 1] == ","
                ]
            done = -1
            for start in starts:
                at = start
                while at < run.end() and self._folded[at] in "0.," and at < start + _BACK:
                    at += 1
                is_zero = at >= run.end() or not self._folded[at].isdigit()
                asked = self._zeros() if is_zero else self._asked(at)
                if start >= done and asked:
                    done = self._read(start, asked)
                    self._drop_done()

    def _zeros(self) -> list[_Needle]:
        return [needle for needle in self._open if needle.has_zero]

    def _asked(self, at: int) -> list[_Needle]:
        """Return the needles within whose bounds the digits from a place on lie."""
        leading = _LEADING.match(self._folded, at)
        if leading is None:
            return []
        run = leading[0]
        found = self._within(run.translate(_DIGITS_ONLY))
        for mark in ", ":
            if mark in run:
                piece = self._within(run.partition(mark)[0].translate(_DIGITS_ONLY))
                found = found + [n for n in piece if n not in found]
        return found

    def _within(self, digits: str) -> list[_Needle]:
        value = float(f"{digits[0]}.{digits[1:]}")
        index = bisect_right(self._lows, value)
        return self._owners[index - 1] if index and value <= self._highs[index - 1] else []

    def _scan(self, digit: str, at: int, end: int) -> int:
        """Look at candidates that begin with a digit until a claim needs no more.

        One pass for each digit: a pattern that begins with one character is searched several times
        as fast as one that begins with a set of them.
        """
        prefixes = {
            prefix
            for needle in self._open
            for low, high in needle.windows
            for prefix in leading_digits(low, min(high, 9.999999999))
            if prefix.startswith(digit)
        }
        if not prefixes:
            return end
        done = at
        for place in leading_pattern(prefixes).finditer(self._folded, at, end):
            start = place.start()
            if start < done:
                continue
            asked = self._asked(start)
            if asked:
                done = max(self._read(start, asked), start + 1)
                if self._drop_done():
                    return done
        return end

    def _scan_zeros(self, end: int) -> None:
        for place in islice(leading_pattern([""]).finditer(self._folded, 0, end), _MAX_ZEROS):
            self._read(place.start(), self._zeros())

    def _read(self, at: int, asked: list[_Needle]) -> int:
        parts = "," in self._folded[max(at - 2, 0) : at + 24] and commas_part(self._text, at)
        numbers = number_at(self._folded, at, commas_part=parts, is_european=self._text.is_european)
        end = at + 1
        for written in numbers:
            end = max(end, written.end)
            for needle in asked:
                self._try(needle, written, at, parts=parts)
        return end

    def _try(self, needle: _Needle, written: Written, at: int, *, parts: bool) -> None:
        word, is_loose = _met(needle.claim, written)
        if (word is None or is_loose) and not written.unit and _has_unit(needle.claim):
            for one in self._in_context(written, at, parts=parts):
                word, is_loose = _met(needle.claim, one)
                if word is not None:
                    break
        if word is None:
            return
        if word == "exact" and self._folded[written.start : written.end] not in needle.text:
            word = "folded"
        hits = self._found.setdefault(needle.number, [])
        if all(hit.start != written.start for hit in hits):
            hits.append(Hit(self._text, written.start, written.end, word, is_loose))

    def _in_context(self, written: Written, at: int, *, parts: bool) -> list[Written]:
        if self._n_contexts >= _MAX_CONTEXTS:
            return [written]
        self._n_contexts += 1
        unit = context_unit(self._text, written.start, written.end)
        if unit is None:
            return [written]
        return number_at(
            self._folded, at, commas_part=parts, is_european=self._text.is_european, unit=unit
        )

    def _drop_done(self) -> bool:
        left = [n for n in self._open if len(self._found.get(n.number, ())) < MAX_HITS]
        if len(left) == len(self._open):
            return False
        self._open = left
        self._note_windows()
        return True


def _met(claim: FoundClaim, written: Written) -> tuple[MatchWord | None, bool]:
    for claimed in claim.numbers:
        word = compare(claimed, written, is_hedged=claim.is_hedged, is_unsigned=claim.is_fall)
        if word is not None:
            return word, bool(claimed.unit) and not written.unit
    return None, False


def _has_unit(claim: FoundClaim) -> bool:
    return any(one.unit or one.amounts[0].dimension is not None for one in claim.numbers)


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
    "p": ("page", r"p\."), "s": ("section", r"sec\.", "\u00a7"), "\u00a7": ("section", "\u00a7"),
    "t": ("table",), "f": ("figure", r"fig\."), "c": ("chapter",), "a": ("appendix",),
}  # fmt: skip


def _find_reference(kind: str, number: str, text: EvidenceText) -> list[Hit]:
    hits: list[Hit] = []
    body = text.lower
    for word in _KINDS[kind[0].lower()]:
        pattern = re.compile(
            rf"{word}(?:s|_?(?:number|no|num|index))?[\W_]{{0,6}}{re.escape(number)}(?!\d|\.\d)"
        )
        for found in islice(pattern.finditer(body), MAX_HITS):
            before = body[found.start() - 1 : found.start()] if found.start() else ""
            if not before.isalpha() or word == r"p\.":
                hits.append(Hit(text, *found.span(), "folded"))
    return hits[:MAX_HITS]


def _in_identifier(text: str, digits: str) -> list[re.Match[str]]:
    pattern = re.compile(rf"{digits}(?<![^\W_]{digits})(?![^\W_])")
    return list(islice(pattern.finditer(text), MAX_HITS))


def places(text: str, needle: str) -> Iterator[int]:
    """Yield where a needle stands that is no part of a longer word."""
    at, n, tried = text.find(needle), 0, 0
    first, last = needle[0], needle[-1]
    while at >= 0 and n < MAX_HITS and tried < _MAX_READ:
        tried += 1
        before, after = (
            text[at - 1 : at] if at else "",
            text[at + len(needle) : at + len(needle) + 1],
        )
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
