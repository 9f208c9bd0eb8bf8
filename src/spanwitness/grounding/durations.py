"""How much time lies between two moments of the window, and how a duration is told in parts."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from spanwitness.grounding.units import units_of
from spanwitness.normalize.references import find_dates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Lapse", "lapses_of", "told_in"]

_T = TypeVar("_T")

_MAX_CHARS: Final = 20_000
_MAX_MOMENTS: Final = 8
_MAX_FIELDS: Final = 12
_DAY: Final = 86400.0
_MOMENT = re.compile(
    r"(?<!\d)(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?(Z|[+-]\d{2}:\d{2})?(?!\d)"
)
_CLOCK = re.compile(r"(?<![\d:.T+-])(\d{1,2}):(\d{2})(?::(\d{2}))?(?![\d:])")
_FIELD = re.compile(
    r'"([^"\n]{0,60}(?:_|\()(s|sec|secs|seconds|ms|min|mins|minutes|h|hours|days)\)?)"'
    r"\s{0,4}:\s{0,4}(\d+(?:\.\d+)?)"
)


class Lapse(NamedTuple):
    """A duration."""

    seconds: float
    months: int
    """Whole months between two days; 0 = none, or not between days."""
    shown: str


def lapses_of(texts: Sequence[str]) -> Iterator[Lapse]:
    """Yield durations: between moments of the texts, in their order, and those of named fields."""
    moments: dict[str, datetime] = {}
    clocks: dict[str, float] = {}
    fields: dict[str, Lapse] = {}
    for text in texts:
        head = text[:_MAX_CHARS]
        moments |= _moments(head)
        for found in _CLOCK.finditer(head):
            seconds = int(found[1]) * 3600.0 + int(found[2]) * 60 + int(found[3] or 0)
            clocks.setdefault(found[0], seconds)
        for found in _FIELD.finditer(head):
            for unit in units_of(found[2])[:1]:
                seconds = float(found[3]) * unit.factor
                fields.setdefault(found[0], Lapse(seconds, 0, f"{found[1]} {found[3]}"))
        if len(moments) > 2 * _MAX_MOMENTS:
            break
    yield from list(fields.values())[:_MAX_FIELDS]
    for (a, one), (b, two) in _pairs(moments.items()):
        early, late = sorted([one, two])
        yield Lapse((late - early).total_seconds(), _months(early, late), f"{a} to {b}")
    for (a, start), (b, end) in _pairs(clocks.items()):
        yield Lapse(abs(end - start), 0, f"{a} to {b}")


def _pairs(items: Iterable[tuple[str, _T]]) -> Iterator[tuple[tuple[str, _T], tuple[str, _T]]]:
    return combinations(list(items)[:_MAX_MOMENTS], 2)


def _moments(text: str) -> dict[str, datetime]:
    found: dict[str, datetime] = {}
    if "-" in text:
        for moment in _MOMENT.finditer(text):
            try:
                when = datetime.fromisoformat(f"{moment[1]}T{moment[2]}{moment[3] or ''}")
            except ValueError:
                continue
            found[moment[0]] = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    if found:
        return found
    for reference in find_dates(text):
        try:
            day = date.fromisoformat(reference.values[0].removeprefix("date:"))
        except ValueError:
            continue
        found[day.isoformat()] = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return found


def _months(early: datetime, late: datetime) -> int:
    whole = (late.year - early.year) * 12 + late.month - early.month
    return whole - (late.day < early.day)


def told_in(lapse: Lapse, unit: float, *, is_month: bool) -> Iterator[float]:
    """Yield how a duration may be told in a unit: rounded, whole, or what is left of it.

    Args:
        lapse: The duration.
        unit: The unit in seconds, or in months.
        is_month: Whether the unit counts months.
    """
    if is_month:
        if lapse.months:
            yield lapse.months // unit
            yield lapse.months / unit
        return
    count = lapse.seconds / unit
    yield count
    yield float(round(count))
    yield float(int(count))
    outer = {1.0: 60.0, 60.0: 3600.0, 3600.0: _DAY}.get(unit)
    if outer is not None and lapse.seconds > outer:
        yield float(int(lapse.seconds % outer // unit))
    if unit == _DAY:
        yield float(round(count)) + 1  # both days counted
