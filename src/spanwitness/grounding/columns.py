"""What the numbers of a JSON text give when they are taken by key and by record."""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Result", "plain", "results_of_columns"]

_MAX_COLUMNS: Final = 24
_MAX_DEPTH: Final = 16


class Result(NamedTuple):
    """A number with the calculation that gives it."""

    value: float
    shown: str


def plain(value: float) -> str:
    """Return a number as people write it."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(round(value, 10))


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


def results_of_columns(text: str) -> Iterator[Result]:
    """Sums, means and counts of the columns of JSON lists, and products within their records."""
    try:
        found = _Numbers(json.loads(text))
    except (ValueError, RecursionError, OverflowError):
        return
    for name, numbers in list(found.columns.items())[:_MAX_COLUMNS]:
        if len(numbers) >= 2:
            yield from _of_column(name, numbers)
    for count in dict.fromkeys(found.counts):
        yield Result(count, f"{count} entries")
    products = [record[0] * record[1] for record in found.records if len(record) == 2]
    if len(products) > 1:
        yield Result(sum(products), f"sum of the products of {len(products)} records")
    for record in found.records[:24]:
        if len(record) == 2:
            yield Result(record[0] * record[1], f"{plain(record[0])} * {plain(record[1])}")


def _of_column(name: str, numbers: list[float]) -> Iterator[Result]:
    total, low, high = sum(numbers), min(numbers), max(numbers)
    told = " + ".join(map(plain, numbers[:6])) + (" + ..." if len(numbers) > 6 else "")
    yield Result(total, told)
    yield Result(total / len(numbers), f"mean of {len(numbers)} values of {name}")
    yield Result(high - low, f"{plain(high)} - {plain(low)}")
    if len(numbers) <= 4:
        for a, b in combinations(numbers, 2):
            yield Result(abs(a - b), f"{plain(max(a, b))} - {plain(min(a, b))}")
            yield Result(a + b, f"{plain(a)} + {plain(b)}")
