"""Conditions that stand beside a value: in the same sentence, line or table row."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Condition", "conditions_of", "surroundings", "tells"]

_UNIT: Final = (
    r"(?:\u00b0\s?[CF]\b|\u2103|deg(?:rees)?\s?C\b|[mk\u00b5\u03bcun]?V(?:DC|AC|pp|rms)?\b|"
    r"[mk\u00b5\u03bcun]?A\b|[kMG]?Hz\b|[kM]?\u03a9|[kM]?ohms?\b|[mh]?bar\b|[hkM]?Pa\b|psi\b|"
    r"%\s?RH\b|rpm\b|RPM\b|N\u00b7?m\b|dBm?\b|[pnu\u00b5]F\b)"
)
_NUMBER: Final = r"[-+\u2212]?\d+(?:[.,]\d+)?"
_VALUE: Final = rf"(?P<number>{_NUMBER})\s?(?P<unit>{_UNIT})"
_AT: Final = re.compile(
    rf"(?:\b[Aa]t|@|\b[Ff]or|\b[Ww]hen|\b[Ww]ith|\b[Uu]nder)\s+(?:[A-Za-z_]+\s*=\s*)?{_VALUE}"
)
_SYMBOL: Final = re.compile(
    rf"\b(?P<symbol>V_?(?:DD(?:IO)?|CC|IN|OUT|S|BAT)|T_?(?:A|J|C|AMB)|I_?(?:OUT|LOAD|O)|R_?L|C_?L|"
    rf"f(?:_?(?:clk|osc|sw))?|RH|ODR|temperature|supply|load)\s*(?:=|:|of)\s*{_VALUE}",
    re.IGNORECASE,
)
_KIND: Final = re.compile(
    r"(?<![\w-])(?P<kind>typ(?:\.|ical(?:ly)?)?|max(?:\.|imum)?|min(?:\.|imum)?|nom(?:\.|inal)?|"
    r"peak|rms)(?![\w-])",
    re.IGNORECASE,
)
_KIND_WORDS: Final = {
    "typ": ("typ",), "nom": ("nom",), "pea": ("peak",), "rms": ("rms",),
    "max": ("max", "up to", "at most", "not exceed", "limit", "highest", "range", "between"),
    "min": ("min", "at least", "lowest", "from", "range", "between"),
}  # fmt: skip
_ALWAYS: Final = frozenset({"typ", "nom"})
_ATTACHED: Final = re.compile(r"\s?\(?")
"""What stands between a value and a word that follows it, such as `1.7 (typ)`."""
_ROW: Final = 600
"""Characters before and after a value that may belong to its sentence or row."""
_TABLE: Final = 4000
"""Characters above a row in which its header is looked for."""
_BREAK: Final = re.compile(r"\s(?:(?<=\n)|(?<=[^.][.!?]\s)\s*(?=[A-Z]))")
_NUMERAL: Final = re.compile(_NUMBER)
_KIND_HINTS: Final = ("typ", "max", "min", "nom", "peak", "rms")


class Condition(msgspec.Struct, frozen=True):
    """One condition beside a value."""

    text: str
    """As it is written (content)."""
    needles: tuple[str, ...]
    """An answer that holds one of these, as a word or number, tells it."""


def surroundings(text: str, start: int, end: int) -> str:
    """Return the sentence, line or table row of a text that holds a place."""
    left, right = max(start - _ROW, 0), min(end + _ROW, len(text))
    for found in _BREAK.finditer(text, left, right):
        if found.end() <= start:
            left = found.end()
        elif found.start() >= end:
            right = found.start()
            break
    return text[left:right]


def conditions_of(row: str, value: str, words: Iterable[str] = ()) -> Iterator[Condition]:
    """Yield the conditions of a sentence or row, without the value itself.

    Args:
        row: The sentence or row.
        value: The value as the evidence writes it; a condition is no condition of itself.
        words: Words that a contract declares as load-bearing.
    """
    has_others = any([number not in value for number in _NUMERAL.findall(row)])  # noqa: C419
    for pattern in (_AT, _SYMBOL) if has_others else ():
        for found in pattern.finditer(row):
            number = found["number"].replace(",", ".").lstrip("+")
            if found["number"] not in value:
                yield Condition(found[0], (number, found["number"]))
    for word in words:
        if _holds(row, word) and not _holds(value, word):
            yield Condition(word, (word,))


def kind_of(text: str, row: str, start: int, end: int) -> Condition | None:
    """Return whether a value is typical, a limit or a peak, where that has to be told.

    It has where the row gives several kinds ("typ 1.7, max 3"), in words or by the columns of its
    table; of a single kind only `typ` and `nom` count ("maximum current" may be a name).

    Args:
        text: The text that holds the row.
        row: The sentence or row of the value.
        start: Where the value begins in the text.
        end: Where it ends.
    """
    if _KIND.search(text[start:end]):
        return None
    by_column = _column_kind(text, start)
    if by_column is not None:
        return _kind(by_column)
    lower = row.lower()
    if not any([hint in lower for hint in _KIND_HINTS]):  # noqa: C419
        return None
    at = text.find(row, max(start - len(row), 0))
    if at < 0:
        return None
    marks = [(m["kind"].casefold()[:3], at + m.start(), at + m.end()) for m in _KIND.finditer(row)]
    kinds = {kind for kind, _, _ in marks}
    if not kinds or (len(kinds) == 1 and kinds.isdisjoint(_ALWAYS)):
        return None
    attached = [k for k, first, _ in marks if first >= end and _ATTACHED.fullmatch(text[end:first])]
    before = [kind for kind, _, last in marks if last <= start]
    if len(kinds) > 1 and not before and not attached:
        return None
    return _kind(before[-1] if before and not attached else (attached or [min(kinds)])[0])


def _kind(kind: str) -> Condition:
    return Condition(kind, _KIND_WORDS.get(kind, (kind,)))


def _column_kind(text: str, start: int) -> str | None:
    """Return the kind that the header of a table gives the column of a value."""
    line_start = text.rfind("\n", max(start - _TABLE, 0), start) + 1
    line_end = text.find("\n", start, start + _TABLE)
    if line_end < 0:
        line_end = min(len(text), start + _TABLE)
    line = text[max(line_start, start - _TABLE, 0) : line_end]
    cells = _cells(line)
    if len(cells) < 3:
        return None
    column = len(_cells(line[: start - line_start] + "x")) - 1
    above = text[max(line_start - _TABLE, 0) : line_start].splitlines()
    for header in reversed(above):
        names = _cells(header)
        if len(names) == len(cells):
            kinds = [m["kind"].casefold()[:3] if (m := _KIND.search(n)) else "" for n in names]
            if len({k for k in kinds if k}) > 1:
                return kinds[column] or None
    return None


def _cells(line: str) -> list[str]:
    mark = next((m for m in ("|", "\t", ";") if m in line), None)
    if mark is None:
        return re.split(r"\s{2,}|,\s", line.strip()) if line.strip() else []
    return [cell.strip() for cell in line.strip(mark if mark == "|" else "").split(mark)]


def tells(answer: str, condition: Condition) -> bool:
    """Say whether an answer, or a question, tells a condition."""
    return any(_holds(answer, needle) for needle in condition.needles)


def _holds(text: str, needle: str) -> bool:
    if needle[:1].isdigit() or needle[:1] in "-\u2212":
        bare = needle.lstrip("-\u2212")
        return re.search(rf"(?<![\d.]){re.escape(bare)}(?![\d]|\.\d)", text) is not None
    return re.search(rf"(?<!\w){re.escape(needle)}", text, re.IGNORECASE) is not None
