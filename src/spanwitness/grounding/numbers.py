"""Numbers with their units, as they stand in a text.

A number is read whole or not at all: digits that are part of a word, an identifier, a date, a time,
a version, a telephone number or a longer number are no number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spanwitness.grounding.amounts import Amount, Written
from spanwitness.grounding.folding import GROUPING
from spanwitness.grounding.units import scales_of, units_of

if TYPE_CHECKING:
    from spanwitness.grounding.units import Unit

__all__ = ["number_at", "plain_numbers"]

_BACK: Final = 48
_RUN_CHARS: Final = frozenset("0123456789.,'" + GROUPING)
_PLAIN = re.compile(r"\d+(?:\.\d+)?\Z")
_COMMA_DECIMAL = re.compile(r"\d+,\d+\Z")
_GROUPED = re.compile(
    r"\d{1,3}(?:(?P<one>[,' " + GROUPING + r"])\d{3}(?:(?P=one)\d{3})*|(?:,\d{2})+,\d{3})"
    r"(?P<fraction>[.,]\d+)?\Z"
)
_DOT_GROUPED = re.compile(r"\d{1,3}(?:\.\d{3})+(?P<fraction>,\d+)?\Z")
_EXPONENT = re.compile(
    r"[eE](?P<e>[-+]?\d{1,3})(?!\w)|\s?[xX\u00d7*]\s?10(?:\^|\*\*)?(?P<ten>[-+]?\d{1,2})(?!\d)"
    r"|\s?[xX\u00d7]\s?10(?P<raised>[\u207b\u207a]?[\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+)"
)
_RAISED = str.maketrans(
    "\u207b\u207a\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079", "-+0123456789"
)
_WORD = re.compile(
    r"(?P<gap>[ \t\u00a0]{0,2}|-)(?P<word>%|\u2030|[$\u20ac\u00a3\u00a5\u20b9]"
    r"|\u00b0[ ]?[CFcf]?(?![^\W\d_])|(?:US\$|[^\W\d_\u2e80-\U0003ffff]+)(?:[\u00b2\u00b3]|\^[23])?"
    r"(?:/[^\W\d_]+(?:[\u00b2\u00b3]|\^[23])?)?)"
)
_RANGE_ON = re.compile(
    r"\s{0,2}(?:-|\u2014|to|and|\.{2,3}|\u2026|~|/|\u00f7)\s{0,2}[-+]?\s?\d[\d.,]*(?=\s?(?:[^\W\d_]|[%\u00b0]))"
)
_CODE_BEFORE = re.compile(
    r"(?:\b(?:USD|EUR|GBP|JPY|CHF|INR|CAD|AUD|CNY|US\$|A\$|C\$)|[$\u20ac\u00a3\u00a5\u20b9])"
    r"[ " + GROUPING + r"]?\Z"
)
_CUT_BEFORE: Final = frozenset("%\\@&^")
_MONEY: Final = "$\u20ac\u00a3\u00a5\u20b9"
_MAX_POWER: Final = 150
"""Larger exponents are taken for this one, so that no later step overflows."""
_WIDE: Final = 0x2E80
"""From here on letters stand beside numbers without a space (Chinese, Japanese, Korean)."""


def number_at(
    text: str,
    at: int,
    *,
    commas_part: bool = False,
    is_european: bool = False,
    unit: str | None = None,
    ask_pint: bool = False,
) -> list[Written]:
    """Read the number of which a digit stands at a place; empty = it is part of something else.

    Args:
        text: The text, folded.
        at: Place of a digit.
        commas_part: Commas part values here (JSON, CSV), so that `1,234` may be two numbers.
        is_european: The text writes `1.234,5`.
        unit: The unit that what stands around gives it, where none is written beside it.
        ask_pint: Whether unknown unit words are asked of pint.
    """
    found: list[Written] = []
    for start, end in _runs(text, at, commas_part=commas_part):
        if not _is_free(text, start, end):
            continue
        found += [
            _written(text, start, end, digits, unit, ask_pint=ask_pint)
            for digits in _numerals(text[start:end], is_european=is_european)
        ]
    return found


def plain_numbers(text: str, *, commas_part: bool = False) -> list[Written]:
    """Read all numbers of a short text, each in its likeliest reading."""
    found: list[Written] = []
    end = 0
    for digit in _DIGIT.finditer(text):
        if digit.start() < end:
            continue
        readings = number_at(text, digit.start(), commas_part=commas_part)
        if readings:
            found.append(readings[0])
            end = readings[0].end
        else:
            end = digit.end()
    return found


_DIGIT = re.compile(r"\d+")


def _runs(text: str, at: int, *, commas_part: bool) -> list[tuple[int, int]]:
    """Return the stretches that may be one number around a digit, the longest first."""
    start = end = at
    least, most = max(at - _BACK, 0), min(at + _BACK, len(text))
    while start > least and text[start - 1] in _RUN_CHARS:
        start -= 1
    while end < most and text[end] in _RUN_CHARS:
        end += 1
    run = text[start:end]
    spaced = _spaced(text, start, end)
    if spaced is not None:
        return [spaced]
    left = len(run) - len(run.lstrip(".,'" + GROUPING))
    if left and run[left - 1] == "." and not text[max(start + left - 2, 0)].isalnum():
        left -= 1  # .5
    start += left
    end -= len(run) - len(run.rstrip(".,'" + GROUPING))
    if start > at or end <= at:
        return []
    run = text[start:end]
    found = [(start, end)]
    if "," in run and (commas_part or not _GROUPED.match(run)):
        first = text.rfind(",", start, at) + 1 or start
        last = text.find(",", at, end)
        piece = (first, end if last < 0 else last)
        is_list = run.count(",") > 1 or run.count(".") > 1
        if commas_part or is_list:
            found = [piece, *found] if commas_part else [*found, piece]
    return found


_SPACED = re.compile(r"(?<![\d.,] )(?<![\d.,'])\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?![\d']| ?\d)")


def _spaced(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the whole of a number whose groups are parted by spaces, as in `13 300`."""
    before, after = text[start - 1 : start], text[end : end + 1]
    if not (
        (before == " " and text[start - 2 : start - 1].isdigit())
        or (after == " " and text[end + 1 : end + 2].isdigit())
    ):
        return None
    low = max(start - 24, 0)
    line = text.rfind("\n", low, start) + 1 or low
    for found in _SPACED.finditer(text, line, min(end + 24, len(text))):
        if found.start() <= start and end <= found.end():
            return found.span()
    return None


def _numerals(run: str, *, is_european: bool) -> list[str]:
    """Return the plain numerals that a run of digits and separators may stand for."""
    if run[:1] == ".":
        run = "0" + run
    if _PLAIN.match(run):
        is_group = is_european and _DOT_GROUPED.match(run) is not None
        return [run.replace(".", ""), run] if is_group else [run]
    grouped = _GROUPED.match(run)
    if grouped:
        fraction = grouped["fraction"] or ""
        whole = run[: len(run) - len(fraction)]
        joined = "".join(c for c in whole if c.isdigit()) + fraction.replace(",", ".")
        if run.count(",") == 1 and "." not in run and _COMMA_DECIMAL.match(run):
            decimal = run.replace(",", ".")
            if run.startswith("0"):
                return [decimal]
            return [decimal, joined] if is_european else [joined]
        return [joined]
    if _COMMA_DECIMAL.match(run):
        return [run.replace(",", ".")]
    dotted = _DOT_GROUPED.match(run)
    if dotted and (run.count(".") > 1 or dotted["fraction"]):
        return [run.replace(".", "").replace(",", ".")]
    return []


def _is_free(text: str, start: int, end: int) -> bool:
    """Say whether a stretch is no part of a word, a date, a time, a path or a longer number."""
    return _is_free_before(text, start, end) and _is_free_after(text, start, end)


def _is_free_before(text: str, start: int, end: int) -> bool:
    before = text[start - 1 : start]
    if not before or before in " \n\t":
        return not _follows_power(text, start, end)
    if before.isalnum() or before == "_":
        if before.isalpha() and ord(before) >= _WIDE:
            return True
        return _CODE_BEFORE.search(text, max(start - 5, 0), start) is not None
    if before in _CUT_BEFORE:
        return False
    earlier = text[start - 2 : start - 1] if start > 1 else ""
    if before in "-/" and earlier.isdigit():
        return _is_range(text, start) if before == "-" else "." in text[start:end]
    if before in "-/":
        return not (earlier.isalnum() or earlier == "_" or (before == "/" and earlier in "/-"))
    if before == ":":
        return not earlier.isdigit()
    return before != "." or not earlier.isalnum()


def _follows_power(text: str, start: int, end: int) -> bool:
    """`10` in `3.3 x 10^6` is no number of its own."""
    return (
        text[start:end] == "10"
        and text[end : end + 1] in ("^", "*")
        and text[max(start - 2, 0) : start].strip() in ("x", "\u00d7", "*")
    )


def _is_free_after(text: str, start: int, end: int) -> bool:
    after = text[end : end + 1]
    if not after or after in " \n\t,;)]}\"'":
        return True
    if after == "_":
        return False
    following = text[end + 1 : end + 2]
    if after in "-/:" and following.isdigit():
        if after == "-":
            return _is_range(text, end + 1)
        return after == "/" and "." in text[start:end]
    if after.isalpha():
        if ord(after) >= _WIDE or _EXPONENT.match(text, end):
            return True
        word = _WORD.match(text, end)
        if word is None:
            return False
        stop = text[word.end() : word.end() + 1]
        if stop.isdigit() or stop == "_":
            return False
        return bool(units_of(word["word"]) or scales_of(word["word"]) is not None)
    return not (after == "." and following.isalnum() and not following.isupper())


_RANGE = re.compile(r"(?<![\w-])[-+]?(\d[\d.,]*)-[-+]?(\d[\d.,]*)(?![\w]*-\d)(?!-)")


def _is_range(text: str, second: int) -> bool:
    """Say whether the number after a hyphen, with the one before it, makes a range."""
    low = max(second - 24, 0)
    for found in _RANGE.finditer(text, low, second + 24):
        if found.start(2) != second:
            continue
        one, two = found[1].rstrip(".,"), found[2].rstrip(".,")
        if "." not in one + two and len(one) >= 3 and len(two) == 4:
            return False  # a telephone number
        if one.startswith("0") and len(one) > 1 and "." not in one:
            return False
        try:
            return float(one.replace(",", "")) <= float(two.replace(",", ""))
        except ValueError:
            return False
    return False


def _written(
    text: str, start: int, end: int, digits: str, unit: str | None, *, ask_pint: bool
) -> Written:
    stop, power = end, 1.0
    exponent = _EXPONENT.match(text, end)
    if exponent:
        raised = exponent["e"] or exponent["ten"] or exponent["raised"].translate(_RAISED)
        power, stop = 10.0 ** max(min(int(raised), _MAX_POWER), -_MAX_POWER), exponent.end()
    sign = _sign(text, start)
    written_unit, scale, units, stop = _unit_after(text, stop, ask_pint=ask_pint)
    if not units or "$" not in written_unit:
        money = _CODE_BEFORE.search(text, max(start - 6, 0), start)
        if money:
            if units and scale is None:
                written_unit, stop = "", end  # $114 is no number of what follows
            units = units_of(money[0].strip(" " + GROUPING))
            written_unit = money[0].strip(" " + GROUPING) + (written_unit and f" {written_unit}")
    if not units and scale is None:
        written_unit, scale, units = _unit_of_range(text, stop, ask_pint=ask_pint)
    if not units and unit:
        units = units_of(unit, ask_pint=ask_pint)
        outer = scales_of(unit)
        if not units and outer is not None and scale is None:
            scale = outer
    amounts = _amounts(digits, sign, power, scale, units, is_ambiguous=scale is not None)
    return Written(start, stop, ("-" if sign < 0 else "") + digits, amounts, written_unit)


def _sign(text: str, start: int) -> float:
    """Minus before the number or its currency sign, or a cell in parentheses, as in accounts."""
    at = start
    while at and text[at - 1] in _MONEY:
        at -= 1
    before = text[at - 1 : at] if at else ""
    if before == "-":
        earlier = text[at - 2 : at - 1] if at > 1 else ""
        return 1.0 if earlier.isdigit() or earlier in (")", "%") else -1.0
    if before == "(":
        close = text.find(")", start, start + 24)
        inside = text[start:close] if close > 0 else ""
        is_figure = all(c.isdigit() or c in ".,%" for c in inside)
        cell = text[max(at - 4, 0) : at - 1].rstrip(" ")
        if inside and is_figure and (not cell or cell[-1] in "|\t,;\n"):
            return -1.0
    return 1.0


def _unit_after(
    text: str, at: int, *, ask_pint: bool
) -> tuple[str, float | None, tuple[Unit, ...], int]:
    """Read the scale word and the unit that stand after a number."""
    found = _WORD.match(text, at)
    if found is None or _goes_on(text, found.end()):
        return "", None, (), at
    word = found["word"]
    if word in _PREPOSITIONS and _SAID_ON.match(text, found.end()):
        return "", None, (), at
    scale = scales_of(word)
    units = units_of(word)
    if scale is not None and not found["gap"].strip("-"):
        more = _WORD.match(text, found.end())
        if more is not None and not _goes_on(text, more.end()):
            next_units = units_of(more["word"])
            if next_units:
                return f"{word} {more['word']}", scale, next_units, more.end()
    if not units and scale is None and ask_pint:
        units = units_of(word, ask_pint=True)
    if not units and scale is None:
        return "", None, (), at
    return word, scale, units, found.end()


_PREPOSITIONS: Final = frozenset({"in", "a", "A", "at", "t", "s", "C", "F"})
_SAID_ON = re.compile(
    r" (?!(?:wide|long|tall|high|deep|thick|x|by|of|max|min|typ|and|or|to)\b)[a-z]|'[a-z]"
)
"""A word after `in`, which then is no inch, as in `$114 in total`."""


def _goes_on(text: str, at: int) -> bool:
    following = text[at : at + 1]
    return following.isdigit() or following == "_"


def _unit_of_range(
    text: str, at: int, *, ask_pint: bool
) -> tuple[str, float | None, tuple[Unit, ...]]:
    """Read the unit of `1.7` in `1.7 to 3.6 V`."""
    for _ in range(3):
        found = _RANGE_ON.match(text, at)
        if found is None:
            return "", None, ()
        word, scale, units, _ = _unit_after(text, found.end(), ask_pint=ask_pint)
        if units or scale is not None:
            return word, scale, units
        at = found.end()
    return "", None, ()


def _amounts(
    digits: str,
    sign: float,
    power: float,
    scale: float | None,
    units: tuple[Unit, ...],
    *,
    is_ambiguous: bool,
) -> tuple[Amount, ...]:
    plain = float(digits) * sign * power
    half = 0.5 * 10.0 ** -len(digits.partition(".")[2]) * power
    found: list[Amount] = []
    for unit in units:
        for factor in dict.fromkeys((scale or 1.0, 1.0) if is_ambiguous else (1.0,)):
            said, step = plain * factor, half * factor
            value = said * unit.factor + unit.offset
            found.append(Amount(said, value, step * unit.factor, step, unit.dimension))
    if scale is not None:
        said, step = plain * scale, half * scale
        found.append(Amount(said, said, step, step))
    if not found:
        found.append(Amount(plain, plain, half, half))
    return tuple(found)
