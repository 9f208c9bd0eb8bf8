"""Numbers that follow from numbers of the window, with the calculation shown.

Among many numbers some would give any number by chance. So what is combined comes in an order, the
likeliest first: the calculation that the answer itself shows, the numbers that the answer states
and the window holds, the numbers of the question, and then records and columns of results. For the
last two a claim is compared with so few different results, in its own decade and at its own
precision, that a random number would meet one of them in less than one case in a hundred.
"""

from __future__ import annotations

import json
import re
from itertools import combinations
from math import floor, log10
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.grounding.numbers import plain_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spanwitness.grounding.statements import FoundClaim

__all__ = ["Derivation", "derive"]

_MAX_OPERANDS: Final = 10
_MAX_ROW: Final = 8
_MAX_CHANCE: Final = 0.01
_SHORT_CHARS: Final = 2000
_MAX_TEXTS: Final = 48
_MAX_JSON: Final = 131_072
_MAX_COLUMNS: Final = 24
_MAX_DEPTH: Final = 16


class Derivation(NamedTuple):
    """How a number follows from others."""

    shown: str
    """`12 + 30 = 42`."""
    is_weak: bool
    """A number with so few digits that many calculations give it."""


class _Result(NamedTuple):
    value: float
    shown: str


def derive(
    claim: FoundClaim, answer: str, supported: Sequence[float], window: Sequence[str]
) -> Derivation | None:
    """Say how a claimed number follows from numbers of the window; `None` = it does not.

    Args:
        claim: A number that no text holds.
        answer: The answer, for the calculation that it shows itself.
        supported: Numbers that the answer states and the window holds.
        window: Texts of the window: the question first, then results.
    """
    if not claim.numbers:
        return None
    target = _Target(claim)
    held = set(supported)
    for result in _shown_by(answer, held):
        if target.is_met_by(result.value):
            return Derivation(f"{result.shown} = {target.shown}", is_weak=False)
    few = list(dict.fromkeys(supported))[:_MAX_OPERANDS]
    for result in _of_numbers(few):
        if target.is_met_by(result.value):
            return Derivation(f"{result.shown} = {target.shown}", is_weak=target.is_short)
    return target.first_of(_of_window(window, few))


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
        self._seen: set[int] = set()

    def is_met_by(self, value: float) -> bool:
        value = abs(value)
        return any(low <= value <= high for low, high in self._low_high)

    def first_of(self, results: Iterable[_Result]) -> Derivation | None:
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
    r"[$\u20ac\u00a3]?\d[\d.,]*%?(?:\s?[a-zA-Z%]{0,8}\s?[-+*/x\u00d7\u00f7\u2212]\s?"
    r"[$\u20ac\u00a3]?\d[\d.,]*%?){1,12}(?=[^=\n]{0,16}=)"
)
_PIECE = re.compile(r"([-+*/x\u00d7\u00f7\u2212])?\s?[$\u20ac\u00a3]?(\d[\d.,]*)(%)?")


def _shown_by(answer: str, held: set[float]) -> Iterator[_Result]:
    """Work out the calculations that the answer shows, where the window holds their numbers."""
    for found in _EXPRESSION.finditer(answer[:20_000]):
        total: list[float] = []
        is_held = True
        for piece in _PIECE.finditer(found[0]):
            number = (
                float(piece[2].rstrip(".,").replace(",", "") or 0) if _is_plain(piece[2]) else None
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
            yield _Result(sum(total), found[0].strip())


def _is_plain(text: str) -> bool:
    return re.fullmatch(r"\d+(?:,\d{3})*(?:\.\d+)?[.,]?", text) is not None


def _of_numbers(numbers: Sequence[float]) -> Iterator[_Result]:
    """Combine a few numbers: each with each, all, and neighbours."""
    if len(numbers) >= 2:
        joined = " + ".join(map(_plain, numbers))
        total = sum(numbers)
        yield _Result(total, joined)
        yield _Result(total / len(numbers), f"({joined}) / {len(numbers)}")
    for a, b in combinations(numbers, 2):
        yield from _of_pair(a, b)
    for size in (3, 4):
        if len(numbers) <= _MAX_ROW:
            for some in combinations(numbers, size):
                if len(some) < len(numbers):
                    yield _Result(sum(some), " + ".join(map(_plain, some)))


def _of_pair(a: float, b: float) -> Iterator[_Result]:
    x, y = _plain(a), _plain(b)
    yield _Result(a + b, f"{x} + {y}")
    yield _Result(a - b, f"{x} - {y}" if a >= b else f"{y} - {x}")
    yield _Result(a * b, f"{x} * {y}")
    for one, other, p, q in ((a, b, x, y), (b, a, y, x)):
        if other:
            yield _Result(one / other, f"{p} / {q}")
            yield _Result((one - other) / other * 100, f"({p} - {q}) / {q} in %")
            yield _Result(one / other * 100, f"{p} / {q} in %")
        yield _Result(one * (1 - other / 100), f"{p} less {q} %")
        yield _Result(one * (1 + other / 100), f"{p} plus {q} %")
        yield _Result(one * other / 100, f"{q} % of {p}")


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(round(value, 10))


def _of_window(window: Sequence[str], supported: Sequence[float]) -> Iterator[_Result]:
    rows: list[list[float]] = []
    for text in window[:_MAX_TEXTS]:
        if len(text) <= _SHORT_CHARS and not text.lstrip().startswith(("{", "[")):
            row = [_value(w) for w in plain_numbers(text)]
            if row:
                rows.append(row)
    for row in rows[:1]:
        if len(row) <= _MAX_ROW:
            yield from _of_numbers(list(dict.fromkeys([*row, *supported]))[:_MAX_ROW])
    for text in window[:_MAX_TEXTS]:
        if text.lstrip().startswith(("{", "[")) and len(text) <= _MAX_JSON:
            yield from _of_columns(text)
    for row in rows[1:]:
        if 2 <= len(row) <= _MAX_ROW:
            yield _Result(sum(row), " + ".join(map(_plain, row)))
            for a, b in combinations(row, 2):
                yield _Result(a + b, f"{_plain(a)} + {_plain(b)}")
                yield _Result(a - b, f"{_plain(max(a, b))} - {_plain(min(a, b))}")
                yield _Result(a * b, f"{_plain(a)} * {_plain(b)}")


def _value(written: object) -> float:
    return written.amounts[0].said  # type: ignore[attr-defined,no-any-return]


class _Numbers:
    """The numbers of a JSON value: by key, by record, and how long its lists are."""

    def __init__(self, value: object) -> None:
        self.columns: dict[str, list[float]] = {}
        self.records: list[list[float]] = []
        self.counts: list[int] = []
        pending: list[tuple[str, object, int]] = [("", value, 0)]
        while pending:
            key, item, depth = pending.pop()
            if isinstance(item, dict):
                inner = self._record(item)
            elif isinstance(item, list):
                self.counts.append(len(item))
                numbers = list(filter(_is_number, item))
                if numbers:
                    self.columns.setdefault(key, []).extend(map(float, numbers))
                inner = [(key, v) for v in item if isinstance(v, (dict, list))]
            else:
                continue
            if depth < _MAX_DEPTH:
                pending.extend((k, v, depth + 1) for k, v in inner)

    def _record(self, item: dict[str, object]) -> list[tuple[str, object]]:
        record = [float(v) for v in item.values() if _is_number(v)]  # type: ignore[arg-type]
        if 2 <= len(record) <= 4:
            self.records.append(record)
        for key, value in item.items():
            if _is_number(value):
                self.columns.setdefault(key, []).append(float(value))  # type: ignore[arg-type]
        return [(k, v) for k, v in item.items() if isinstance(v, (dict, list))]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _of_columns(text: str) -> Iterator[_Result]:
    """Sums, means and counts of the columns of JSON lists, and products within their records."""
    try:
        found = _Numbers(json.loads(text))
    except (ValueError, RecursionError, OverflowError):
        return
    for name, numbers in list(found.columns.items())[:_MAX_COLUMNS]:
        if len(numbers) >= 2:
            yield from _of_column(name, numbers)
    for count in dict.fromkeys(found.counts):
        yield _Result(count, f"{count} entries")
    products = [record[0] * record[1] for record in found.records if len(record) == 2]
    if len(products) > 1:
        yield _Result(sum(products), f"sum of the products of {len(products)} records")
    for record in found.records[:24]:
        if len(record) == 2:
            yield _Result(record[0] * record[1], f"{_plain(record[0])} * {_plain(record[1])}")


def _of_column(name: str, numbers: list[float]) -> Iterator[_Result]:
    total, low, high = sum(numbers), min(numbers), max(numbers)
    told = " + ".join(map(_plain, numbers[:6])) + (" + ..." if len(numbers) > 6 else "")
    yield _Result(total, told)
    yield _Result(total / len(numbers), f"mean of {len(numbers)} values of {name}")
    yield _Result(high - low, f"{_plain(high)} - {_plain(low)}")
    if len(numbers) <= 4:
        for a, b in combinations(numbers, 2):
            yield _Result(abs(a - b), f"{_plain(max(a, b))} - {_plain(min(a, b))}")
            yield _Result(a + b, f"{_plain(a)} + {_plain(b)}")
