"""Where numbers may stand in a long text: by the digits that they begin with.

A number keeps its leading digits when it is scaled by powers of ten, grouped, or written with
another decimal sign. So a few digits find every way to write it, in one linear pass.
"""

from __future__ import annotations

import re
from math import floor, log10
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["leading_digits", "leading_pattern"]

_PREFIX_DIGITS: Final = 4


def leading_pattern(prefixes: Collection[str]) -> re.Pattern[str]:
    """Make the pattern of numbers that begin with some digits.

    Args:
        prefixes: As `leading_digits` returns them; an empty one stands for zero.
    """
    arms = [
        rf"{digit}(?={_following(rests)})(?<![1-9]\d)(?<![1-9]\.\d)"
        for digit, rests in _by_first(prefixes).items()
    ]
    if "" in prefixes:
        arms.append(r"0(?<!\d\d)(?<!\d\.\d)(?=[0,]*(?:\.0+)?(?:[eE]|(?!\.?\d)))")
    return re.compile("|".join(arms))


def _by_first(digits: Iterable[str]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for each in sorted(digits):
        if each:
            groups.setdefault(each[0], []).append(each[1:])
    return groups


def _following(rests: list[str]) -> str:
    """Write what may follow the first digits of numbers, as one tree of alternatives."""
    ends: list[str] = []
    for rest in rests:
        if not rest:
            return ""
        if not rest.strip("0"):
            ends.append(r"(?!\.?[1-9])")
            break
    arms = [
        digit + _following(deeper)
        for digit, deeper in _by_first(rest for rest in rests if rest.strip("0")).items()
    ]
    if arms:
        ends.append(f"[., '\u00a0]?(?:{'|'.join(arms)})")
    return ends[0] if len(ends) == 1 else f"(?:{'|'.join(ends)})"


def leading_digits(low: float, high: float) -> set[str]:
    """Return the leading digits, four or fewer, of the numbers between two positive ones."""
    if not 1e-300 < low <= high < 1e300:
        return {str(n) for n in range(1, 10)} | {""}
    scale = 10.0 ** -floor(log10(low))
    low, high = low * scale * (1 - 1e-12), high * scale * (1 + 1e-12)
    for n_digits in range(_PREFIX_DIGITS, 0, -1):
        unit = 10 ** (n_digits - 1)
        first, last = int(low * unit), int(high * unit)
        if last - first <= 3 or n_digits == 1:
            return {str(n)[:n_digits] for n in range(max(first, 1), last + 1)}
    return set()
