"""Numbers that follow from given ones by plain calculation: sums, differences, shares, prefixes.

Only numbers that stand together in one short text (a question, a row of amounts) are combined, and
only few of them: among many, some would give any number by chance.
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["derived"]

_MAX_COMBINED: Final = 8
"""Numbers of one text that are combined in every way; of up to ten times as many, only all."""


def derived(contents: Iterable[str], rows: Iterable[Sequence[float]]) -> set[str]:
    """Return those numbers that follow from the numbers of one row.

    Args:
        contents: Numbers as `find_values` writes them, without their kind (`42`, `12.5%`).
        rows: The numbers of each short text that was given, in their order.
    """
    wanted = [(content, *_bounds(content)) for content in contents]
    found: set[str] = set()
    if not wanted:
        return found
    for numbers in rows:
        if not 1 <= len(numbers) <= 10 * _MAX_COMBINED:
            continue
        for value in _results(numbers):
            found.update([content for content, low, high in wanted if low <= value <= high])
        if len(found) == len(wanted):
            break
    return found


def _bounds(content: str) -> tuple[float, float]:
    number = content.removesuffix("%")
    value = abs(float(number))
    fraction = number.partition(".")[2]
    if (fraction and value >= 10.0 ** -len(fraction) * 10) or content.endswith("%"):
        tolerance = 0.5001 * 10.0 ** -len(fraction)  # rounded, with two digits or more left
    else:
        tolerance = value * 1e-9
    return value - tolerance, value + tolerance


def _results(numbers: Sequence[float]) -> Iterator[float]:
    total = sum(numbers)
    yield total
    yield total / len(numbers)
    if len(numbers) > _MAX_COMBINED:
        return
    for number in numbers:
        yield number * 1000
        yield number / 1000
    yield sum(a * b for a, b in zip(numbers[::2], numbers[1::2], strict=False))  # pieces by price
    for start in range(len(numbers)):
        partial = 0.0
        for number in numbers[start:]:
            partial += number
            yield partial
    for a, b in permutations(numbers, 2):
        if a >= b:
            yield a - b
            yield a * b
        if b:
            yield a / b
            yield a / b * 100
        yield a * b / 100
        yield a * (1 + b / 100)
        yield a * (1 - b / 100)
