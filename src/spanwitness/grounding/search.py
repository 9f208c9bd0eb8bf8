"""Where claimed numbers stand in a text: the few claims are searched for, in linear passes.

A text may be megabytes and claims are few. Numbers are found by the digits that they begin with.
What the claims ask for is worked out once and held against every text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice
from math import floor, log10
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.grounding.amounts import Written, compare
from spanwitness.grounding.folding import GROUPING, fold_word
from spanwitness.grounding.layout import commas_part, context_unit, letter_unit
from spanwitness.grounding.numbers import number_at
from spanwitness.grounding.units import mantissas_of
from spanwitness.normalize.digits import leading_digits, leading_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.grounding.evidence import EvidenceText
    from spanwitness.grounding.statements import FoundClaim
    from spanwitness.model import MatchWord

__all__ = ["MAX_HITS", "Hit", "NumberSearch"]

MAX_HITS: Final = 6
"""Places of one claim in one text that are kept; more make it common."""
_FEW_CHARS: Final = 65_536
_MOST_CHARS_READ: Final = 1_000_000
_MOST_IDLE: Final = 500
_FEW_NUMBERS: Final = 8_000
"""To make the patterns takes as long as to look at so many numbers."""
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


class NumberSearch:
    """The numbers that claims state, ready to be looked for in any text.

    Args:
        claims: The claims; those without numbers are passed over.
    """

    def __init__(self, claims: Sequence[FoundClaim]) -> None:
        self._claims = [(i, c) for i, c in enumerate(claims) if c.numbers]
        self._plans: dict[tuple[int, bool | None], _Plan] = {}

    def find(self, text: EvidenceText) -> dict[int, list[Hit]]:
        """Find the places of a text that meet claimed numbers.

        Returns:
            Hits by the claim's index, at most `MAX_HITS` each, in the order of the text.
        """
        found: dict[int, list[Hit]] = {}
        if not self._claims:
            return found
        end = len(text.folded.text)
        if end <= _SMALL_CHARS:
            _Pass(text, self._plan(2, is_small=None), found).run(end)
        else:
            least = 3 if end > _MANY_CHARS else 2
            _Pass(text, self._plan(least, is_small=False), found).run(end)
            _Pass(text, self._plan(least, is_small=True), found).run(_SMALL_CHARS)
        for hits in found.values():
            hits.sort(key=_start_of)
        return found

    def _plan(self, least: int, *, is_small: bool | None) -> _Plan:
        plan = self._plans.get((least, is_small))
        if plan is None:
            asked = [(i, c) for i, c in self._claims if is_small is None or c.is_small is is_small]
            plan = _Plan([_needle(i, claim, least) for i, claim in asked])
            self._plans[least, is_small] = plan
        return plan


def _start_of(hit: Hit) -> int:
    return hit.start


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
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")
_DIGITS_ONLY: Final = str.maketrans("", "", "., '" + GROUPING)


class _Plan:
    """Needles, with the bounds of all of them as one list without overlaps."""

    def __init__(self, needles: list[_Needle]) -> None:
        self.needles = needles
        self.zeros = [needle for needle in needles if needle.has_zero]
        self._lows: list[float] = []
        self._highs: list[float] = []
        self._owners: list[list[_Needle]] = []
        owned = [(w, n.number, n) for n in needles for w in n.windows]
        for (low, high), _, needle in sorted(owned, key=lambda one: one[:2]):
            if self._highs and low <= self._highs[-1]:
                self._highs[-1] = max(self._highs[-1], high)
                if needle not in self._owners[-1]:
                    self._owners[-1].append(needle)
            else:
                self._lows.append(low)
                self._highs.append(high)
                self._owners.append([needle])
        bounds = [*zip(self._lows, self._highs, strict=True)]
        self.firsts = frozenset(
            str(digit)
            for digit in range(1, 10)
            if any(low < digit + 1 and high >= digit for low, high in bounds)
        )
        """The digits that asked numbers begin with."""

    def within(self, digits: str) -> list[_Needle]:
        """Return the needles whose bounds hold some leading digits."""
        value = float(f"{digits[0]}.{digits[1:]}")
        index = bisect_right(self._lows, value)
        return self._owners[index - 1] if index and value <= self._highs[index - 1] else []


class _Pass:
    """One look through one text."""

    def __init__(self, text: EvidenceText, plan: _Plan, found: dict[int, list[Hit]]) -> None:
        self._text = text
        self._folded = text.folded.text
        self._plan = plan
        self._found = found
        self._n_contexts = 0
        self._n_hits = 0

    def run(self, end: int) -> None:
        """Look through the text up to a place."""
        if not self._plan.needles:
            return
        if end <= _FEW_CHARS or self._has_few_numbers(end):
            self._read_each(end)
            return
        for digit in "123456789":
            done = 0
            while done < end:
                done = self._scan(digit, done, end)
        if self._plan.zeros:
            self._scan_zeros(end)

    def _has_few_numbers(self, end: int) -> bool:
        """Say whether a text, by its beginning, has so few numbers that all can be looked at."""
        if end > _MOST_CHARS_READ:
            return False
        n_numbers = len(_RUN.findall(self._folded, 0, _SMALL_CHARS))
        return n_numbers * end <= _FEW_NUMBERS * _SMALL_CHARS

    def _read_each(self, end: int) -> None:
        """Of a short text, look at every number: that is cheaper than to make patterns."""
        folded = self._folded
        for run in _RUN.finditer(folded, 0, end):
            if not self._plan.needles:
                return
            start, stop = run.span()
            starts = [start]
            if "," in run[0]:
                starts += [
                    m.start()
                    for m in _PIECE.finditer(folded, start + 1, stop)
                    if folded[m.start() - 1] == ","
                ]
            done = -1
            for start in starts:
                at = start
                while at < stop and folded[at] in "0.," and at < start + _BACK:
                    at += 1
                if at < stop and folded[at].isdigit():
                    asked = self._asked(at) if folded[at] in self._plan.firsts else None
                else:
                    asked = self._plan.zeros
                if asked and start >= done:
                    n_hits = self._n_hits
                    done = self._read(start, asked)
                    if self._n_hits > n_hits:
                        self._drop_done()

    def _asked(self, at: int) -> list[_Needle]:
        """Return the needles within whose bounds the digits from a place on lie."""
        leading = _LEADING.match(self._folded, at)
        if leading is None:
            return []
        run = leading[0]
        if run.isdigit():
            return self._plan.within(run)
        found = self._plan.within(run.translate(_DIGITS_ONLY))
        for mark in ", ":
            if mark in run:
                piece = self._plan.within(run.partition(mark)[0].translate(_DIGITS_ONLY))
                found = found + [n for n in piece if n not in found]
        return found

    def _scan(self, digit: str, at: int, end: int) -> int:
        """Look at candidates that begin with a digit until a claim needs no more.

        One pass for each digit: a pattern that begins with one character is searched several times
        as fast as one that begins with a set of them.
        """
        prefixes = {
            prefix
            for needle in self._plan.needles
            for low, high in needle.windows
            for prefix in leading_digits(low, min(high, 9.999999999))
            if prefix.startswith(digit)
        }
        if not prefixes:
            return end
        made_for, n_idle = self._plan, 0
        done = at
        for place in leading_pattern(prefixes).finditer(self._folded, at, end):
            start = place.start()
            if start < done:
                continue
            asked = self._asked(start)
            if asked:
                n_hits = self._n_hits
                done = max(self._read(start, asked), start + 1)
                if self._n_hits > n_hits:
                    self._drop_done()
            elif self._plan is not made_for:
                n_idle += 1
                if n_idle > _MOST_IDLE:
                    return start  # a narrower pattern is worth its making
        return end

    def _scan_zeros(self, end: int) -> None:
        for place in islice(leading_pattern([""]).finditer(self._folded, 0, end), _MAX_ZEROS):
            self._read(place.start(), self._plan.zeros)

    def _read(self, at: int, asked: list[_Needle]) -> int:
        date = _ISO_DATE.match(self._folded, at)
        if date is not None:
            return date.end()  # no number, and tables are full of them
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
            asked = _dimensions(*needle.claim.numbers)
            for one in self._in_context(written, at, parts=parts, asked=asked):
                word, is_loose = _met(needle.claim, one)
                if word is not None:
                    break
        if word is None:
            return
        if word == "exact" and self._folded[written.start : written.end] not in needle.text:
            word = "folded"
        hits = self._found.setdefault(needle.number, [])
        if all(hit.start != written.start for hit in hits):
            self._n_hits += 1
            hits.append(Hit(self._text, written.start, written.end, word, is_loose))

    def _in_context(
        self, written: Written, at: int, *, parts: bool, asked: set[str]
    ) -> list[Written]:
        if self._n_contexts >= _MAX_CONTEXTS:
            return [written]
        self._n_contexts += 1
        unit = context_unit(self._text, written.start, written.end)
        letter = letter_unit(self._text, written.start) if unit is None else None
        if unit is None and letter is None:
            return [written]
        found = number_at(
            self._folded, at, commas_part=parts, is_european=self._text.is_european,
            unit=unit or letter,
        )  # fmt: skip
        is_told = letter is None or not asked.isdisjoint(_dimensions(*found))
        return found if is_told else [*found, written]

    def _drop_done(self) -> None:
        needles = self._plan.needles
        left = [n for n in needles if len(self._found.get(n.number, ())) < MAX_HITS]
        if len(left) < len(needles):
            self._plan = _Plan(left)


def _met(claim: FoundClaim, written: Written) -> tuple[MatchWord | None, bool]:
    said = _dimensions(*claim.numbers)
    is_same = not said.isdisjoint(_dimensions(written))
    for claimed in claim.numbers:
        if is_same and not claimed.unit and claimed.amounts[0].dimension is None:
            continue  # the key says of which unit it is
        word = compare(claimed, written, is_hedged=claim.is_hedged, is_unsigned=claim.is_fall)
        if word is not None:
            return word, bool(claimed.unit or said) and not written.unit
    return None, False


def _dimensions(*numbers: Written) -> set[str]:
    return {a.dimension for one in numbers for a in one.amounts if a.dimension is not None}


def _has_unit(claim: FoundClaim) -> bool:
    return any(one.unit or one.amounts[0].dimension is not None for one in claim.numbers)
