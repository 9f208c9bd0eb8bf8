"""Numbers that follow from numbers of the window, with the calculation shown.

Among many numbers some would give any number by chance. So what is combined comes in an order, the
likeliest first: the calculation that the answer itself shows; the numbers that the answer states
and the window holds, the nearest first, by the operations that the words around the claim speak of
(`total`, `difference`); the numbers of the question; records, columns and lines of results. But for
the first, a claim is compared with so few different results, in its own decade and at its own
precision, that a random number would meet one of them in less than two cases in a hundred.
"""

from __future__ import annotations

import re
from itertools import chain, combinations, islice
from math import floor, log10
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.grounding.columns import Result, plain, results_of_columns
from spanwitness.grounding.durations import lapses_of, told_in
from spanwitness.grounding.numbers import plain_numbers
from spanwitness.normalize.references import find_dates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spanwitness.grounding.statements import FoundClaim

__all__ = ["Derivation", "Operand", "Window", "derive"]

_MAX_OPERANDS: Final = 10
_MAX_ROW: Final = 8
_MAX_TIMES: Final = 120
_FEW_TIMES: Final = 12
"""Ways to tell the first durations of the window: nothing else is meant so often."""
_MAX_ASKED: Final = 3
"""Numbers of a question that is to scale something."""
_MAX_CHANCE: Final = 0.015
_SHORT_CHARS: Final = 2000
_MAX_TEXTS: Final = 48
_MAX_JSON: Final = 131_072


class Derivation(NamedTuple):
    """How a number follows from others."""

    shown: str
    """`12 + 30 = 42`."""
    is_weak: bool
    """A number with so few digits that many calculations give it."""


class Operand(NamedTuple):
    """A number that the answer states and the window holds."""

    value: float
    dimension: str | None
    place: int
    """Its place among the claims of the answer."""


def derive(
    claim: FoundClaim, place: int, answer: str, supported: Sequence[Operand], window: Window
) -> Derivation | None:
    """Say how a claimed number follows from numbers of the window; `None` = it does not.

    Args:
        claim: A number that no text holds.
        place: Its place among the claims of the answer.
        answer: The answer, for the calculation that it shows itself.
        supported: Numbers that the answer states and the window holds.
        window: The texts of the window.
    """
    if not claim.numbers:
        return None
    target = _Target(claim)
    held = {operand.value for operand in supported}
    for result in _shown_by(answer, held):
        if target.is_met_by(result.value):
            return Derivation(f"{result.shown} = {target.shown}", is_weak=False)
    times = list(islice(_of_times(claim, answer, window), _MAX_TIMES))
    for result in times[:_FEW_TIMES]:
        if target.is_met_by(result.value):
            return Derivation(f"{result.shown} = {target.shown}", is_weak=target.is_short)
    asked = _operations(answer, claim)
    few = _nearest(claim, place, supported)
    return target.first_of(
        chain(
            times,
            _of_numbers(few, [op for op in asked if op]),
            _of_window(window, few, asked),
            _of_numbers(few, _OTHER[target.is_share]),
        )
    )


def _of_times(claim: FoundClaim, answer: str, window: Window) -> Iterator[Result]:
    """Tell the time between two moments of the window, those that the answer names first."""
    amount = claim.numbers[0].amounts[0]
    if amount.dimension not in ("time", "month") or not amount.said:
        return
    unit = amount.value / amount.said
    for lapse in lapses_of([*_stated(answer, window), *window.texts]):
        for value in told_in(lapse, unit, is_month=amount.dimension == "month"):
            yield Result(value, lapse.shown)


def _stated(answer: str, window: Window) -> list[str]:
    """Return the dates of the answer that a text of the window holds."""
    dates = [one.values[0].removeprefix("date:") for one in find_dates(answer[:_SHORT_CHARS])]
    held = [day for day in dates if any(day in text for text in window.texts)]
    return [" ".join(held)] if len(held) > 1 else []


_CUES: Final = (
    ("sum", re.compile(r"\btotal|\bsum|combined|altogether|\bin all\b|together|\+", re.IGNORECASE)),
    ("difference", re.compile(
        r"differen|\bnet\b|remain|left\b|less\b|more\b|sav|increase|decrease|drop|rise|rose|fell"
        r"|refund|charge|change|additional|extra|balance|between|\bup\b|\bdown\b|grew|lost|gain",
        re.IGNORECASE)),
    ("product", re.compile(
        r"\btotal|\beach\b|\bper\b|times\b|\bfor (?:all|both|\d)|cost|\bx\b|\brate\b|/",
        re.IGNORECASE)),
    ("ratio", re.compile(
        r"ratio|per\b|each\b|times\b|half|share|%|percent|fraction|rate", re.IGNORECASE)),
    ("mean", re.compile(r"average|\bmean\b|\bavg", re.IGNORECASE)),
    ("share", re.compile(
        r"%|percent|share|grew|growth|rate|increase|decrease|drop|discount", re.IGNORECASE)),
)  # fmt: skip
_OTHER: Final = {True: ("share", "difference"), False: ("difference", "sum", "product")}
_AROUND_CLAIM: Final = 90


def _operations(answer: str, claim: FoundClaim) -> list[str]:
    """Return the operations that the words around a claim speak of."""
    at = claim.start
    around = claim.claim.field or ""
    if at >= 0 and not around:
        around = answer[max(at - _AROUND_CLAIM, 0) : at + len(claim.text) + 24]
    return [name for name, cue in _CUES if cue.search(around)]


def _nearest(claim: FoundClaim, place: int, supported: Sequence[Operand]) -> list[float]:
    """Return the operands of the same dimension that stand nearest, and those without one."""
    dimension = claim.numbers[0].amounts[0].dimension
    fit = [
        o for o in supported
        if dimension is None
        or o.dimension in (None, dimension, "share")
        or dimension == "share"
        or o.dimension.startswith(f"{dimension}/")
    ]  # fmt: skip
    fit.sort(key=lambda o: (o.dimension != dimension, abs(o.place - place)))
    return list(dict.fromkeys(o.value for o in fit))[:_MAX_OPERANDS]


class _Target:
    """The number that is looked for, and how many others it has been compared with."""

    def __init__(self, claim: FoundClaim) -> None:
        written = claim.numbers[0]
        self.shown = claim.text
        self._low_high: list[tuple[float, float]] = []
        for amount in written.amounts:
            for signed, step in ((amount.said, amount.said_step), (amount.value, amount.step)):
                value = abs(signed)
                tolerance = step * 1.0002 if "." in written.digits else max(value * 1e-9, 1e-12)
                if amount.dimension == "share":
                    tolerance = step * 1.0002
                self._low_high.append((value - tolerance, value + tolerance))
        self._low_high = list(dict.fromkeys(self._low_high))
        low, high = self._low_high[0]
        value = (low + high) / 2
        digits = written.digits.lstrip("-").replace(".", "").lstrip("0")
        self._n_values = 9.0 * 10 ** max(len(digits) - 1, 0)
        self._decade = floor(log10(value)) if value > 0 else 0
        self._unit = 10.0 ** (self._decade - len(digits) + 1) if digits else 1.0
        self.is_short = len(digits) <= 2
        self.is_share = written.amounts[0].dimension == "share"
        self._seen: set[int] = set()

    def is_met_by(self, value: float) -> bool:
        value = abs(value)
        return any(low <= value <= high for low, high in self._low_high)

    def first_of(self, results: Iterable[Result]) -> Derivation | None:
        """Return the first result that meets it, before chance would."""
        most = self._n_values * _MAX_CHANCE
        low = 10.0**self._decade
        for result in results:
            if self.is_met_by(result.value):
                return Derivation(f"{result.shown} = {self.shown}", is_weak=self.is_short)
            if low <= abs(result.value) < low * 10:
                self._seen.add(round(abs(result.value) / self._unit))
                if len(self._seen) > most:
                    return None
        return None


_EXPRESSION = re.compile(
    r"(?<![\d.,])[$\u20ac\u00a3]?\d[\d.,]{0,24}%?(?:\s?[a-zA-Z%]{0,8}\s?[-+*/x\u00d7\u00f7\u2212]\s?"
    r"[$\u20ac\u00a3]?\d[\d.,]{0,24}%?){1,12}(?=[^=\n]{0,16}=|(?<=\d)\))"
)
_PIECE = re.compile(r"([-+*/x\u00d7\u00f7\u2212])?\s?[$\u20ac\u00a3]?(\d[\d.,]*)(%)?")


def _shown_by(answer: str, held: set[float]) -> Iterator[Result]:
    """Work out the calculations that the answer shows, where the window holds their numbers."""
    for found in _EXPRESSION.finditer(answer[:20_000]):
        total: list[float] = []
        is_held = True
        for piece in _PIECE.finditer(found[0]):
            number = (
                float(piece[2].rstrip(".,").replace(",", "") or 0) if _isplain(piece[2]) else None
            )
            if number is None:
                is_held = False
                break
            is_held = is_held and (number in held or number in (2, 10, 12, 60, 100, 1000))
            number = number / 100 if piece[3] else number
            operator = piece[1] or "+"
            if operator in "*x\u00d7" and total:
                total[-1] *= number
            elif operator in "/\u00f7" and total and number:
                total[-1] /= number
            else:
                total.append(-number if operator in "-\u2212" else number)
        if is_held and total:
            yield Result(sum(total), found[0].strip())


def _isplain(text: str) -> bool:
    return re.fullmatch(r"\d+(?:,\d{3})*(?:\.\d+)?[.,]?", text) is not None


def _of_numbers(numbers: Sequence[float], operations: Sequence[str]) -> Iterator[Result]:
    """Combine a few numbers by some operations: all of them, then neighbours, then the others."""
    if len(numbers) < 2 or not operations:
        return
    joined = " + ".join(map(plain, numbers))
    total = sum(numbers)
    if "sum" in operations:
        yield Result(total, joined)
        for size in range(3, min(len(numbers), 7)):
            yield Result(sum(numbers[:size]), " + ".join(map(plain, numbers[:size])))
    if "mean" in operations:
        yield Result(total / len(numbers), f"({joined}) / {len(numbers)}")
        yield Result(sum(numbers[:2]) / 2, f"({plain(numbers[0])} + {plain(numbers[1])}) / 2")
    pairs = sorted(combinations(range(len(numbers)), 2), key=lambda two: (sum(two), two))
    for i, j in pairs:
        a, b = numbers[i], numbers[j]
        if a not in (0, 1) and b not in (0, 1):
            for operation in operations:
                yield from _of_pair(a, b, operation)


def _of_pair(a: float, b: float, operation: str) -> Iterator[Result]:
    high, low = max(a, b), min(a, b)
    x, y = plain(high), plain(low)
    match operation:
        case "sum":
            yield Result(high + low, f"{x} + {y}")
        case "difference":
            yield Result(high - low, f"{x} - {y}")
        case "product":
            yield Result(high * low, f"{x} * {y}")
        case "ratio":
            yield Result(high / low, f"{x} / {y}")
            yield Result(low / high, f"{y} / {x}")
        case "share":
            yield Result(low / high * 100, f"{y} / {x} in %")
            yield Result((high - low) / low * 100, f"({x} - {y}) / {y} in %")
            yield Result((high - low) / high * 100, f"({x} - {y}) / {x} in %")
            if low < 100:
                yield Result(high * low / 100, f"{y} % of {x}")
                yield Result(high * (1 - low / 100), f"{x} less {y} %")
                yield Result(high * (1 + low / 100), f"{x} plus {y} %")
        case _:
            return


class Window:
    """The texts of the window with the numbers that stand together in them, read once.

    Args:
        texts: The question first, then results.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts[:_MAX_TEXTS]
        self._rows: dict[int, list[float]] = {}
        self._fields: dict[int, list[float]] = {}
        self._columns: dict[int, tuple[Result, ...]] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def row(self, index: int) -> list[float]:
        """Return the numbers of a short text; of a longer one, or of JSON, none."""
        if index not in self._rows:
            text = self.texts[index]
            is_short = len(text) <= _SHORT_CHARS and not _looks_like_json(text)
            self._rows[index] = [_value(w) for w in plain_numbers(text)] if is_short else []
        return self._rows[index]

    def fields(self, index: int) -> list[float]:
        """Return the numbers of a short JSON text."""
        if index not in self._fields:
            text = self.texts[index]
            is_short = len(text) <= _SHORT_CHARS and _looks_like_json(text)
            numbers = plain_numbers(text, commas_part=True) if is_short else []
            self._fields[index] = [_value(w) for w in numbers]
        return self._fields[index]

    def columns(self, index: int) -> tuple[Result, ...]:
        """Return what the columns and records of a JSON text come to."""
        if index not in self._columns:
            text = self.texts[index]
            is_json = _looks_like_json(text) and len(text) <= _MAX_JSON
            self._columns[index] = tuple(results_of_columns(text)) if is_json else ()
        return self._columns[index]


def _of_window(
    window: Window, supported: Sequence[float], asked: Sequence[str]
) -> Iterator[Result]:
    """Combine numbers that stand together: in the question, in records and columns, in a line."""
    operations = list(asked) or ["sum", "difference", "product"]
    if window and 0 < len(window.row(0)) <= _MAX_ROW:
        both = list(dict.fromkeys([*window.row(0), *supported]))[:_MAX_ROW]
        yield from _of_numbers(both, operations)
        yield from _of_question(window)
    for index in range(len(window)):
        yield from window.columns(index)
    for index in range(1, len(window)):
        if 2 <= len(window.row(index)) <= _MAX_ROW:
            yield from _of_numbers(window.row(index), operations)


def _of_question(window: Window) -> Iterator[Result]:
    """Scale the few numbers of small results by a number of the question, or by two of them."""
    asked = window.row(0)
    few: list[float] = []
    for index in range(1, len(window)):
        few += window.fields(index)
    if not 0 < len(few) <= _MAX_ROW or len(asked) > _MAX_ASKED:
        return
    for number in few:
        for one in asked:
            yield from _of_pair(number, one, "product")
        for one, two in combinations(asked, 2):
            if one and two:
                yield Result(number * two / one, f"{plain(number)} * {plain(two)} / {plain(one)}")
    for number in few:
        for one in asked:
            if number and one:
                yield from _of_pair(number, one, "ratio")


def _looks_like_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[")


def _value(written: object) -> float:
    return written.amounts[0].said  # type: ignore[attr-defined,no-any-return]
