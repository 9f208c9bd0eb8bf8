"""What stands around a value: the unit that its column, row or key gives it, and its keys."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from spanwitness.grounding.units import LETTERS, scales_of, units_of

if TYPE_CHECKING:
    from spanwitness.grounding.evidence import EvidenceText

__all__ = [
    "JsonPaths",
    "commas_part",
    "context_unit",
    "excerpt",
    "is_csv",
    "is_european",
    "letter_unit",
]

_AROUND: Final = 600
_EXCERPT: Final = 80
_UNIT_FIELD = re.compile(
    r'"(?:[\w ]*[_ ])?(?:units?|currency|uom)"\s{0,4}:\s{0,4}"([^"\n]{1,24})"', re.IGNORECASE
)
_KEY_BEFORE = re.compile(r'"([^"\n]{1,80})"\s{0,8}:\s{0,8}(?:\[[^\[\]{}"]{0,400})?"?\Z')
_LABEL_UNIT = re.compile(
    r"[(\[]\s*([^()\[\]]{1,24}?)\s*[)\]]\s*$|[_,/\s]\s*([^\W_][\w/%]{0,11}|%)\s*$"
)
_EUROPEAN = re.compile(r"\d\.\d{3},\d|(?<![\d.,])\d{1,3},\d{1,2}(?![\d,.])")
_ANGLO = re.compile(r"\d,\d{3}\.\d|(?<![\d.,])\d{1,3}\.\d{1,2}(?![\d,.])")
_SAMPLE: Final = 20_000
_MAX_LINE: Final = 1000
_MAX_UP: Final = 60


def commas_part(text: EvidenceText, start: int) -> bool:
    """Say whether commas part values where a number stands: JSON outside strings, and CSV."""
    folded = text.folded.text
    if text.is_json:
        before = folded[max(start - 40, 0) : start]
        return not re.search(r'"[^",:\[\]{}]*\Z', before) or before.endswith('":')
    return text.is_csv


def is_csv(text: str) -> bool:
    """Say whether a text is a table whose columns are parted by commas."""
    head = text[:_MAX_LINE].split("\n", 3)
    counts = [line.count(",") for line in head[:3] if line.strip()]
    return len(counts) >= 2 and counts[0] >= 1 and abs(counts[0] - counts[1]) <= 1


def is_european(text: str) -> bool:
    """Say whether a text writes `1.234,5`."""
    sample = text[:_SAMPLE]
    return "," in sample and bool(_EUROPEAN.search(sample)) and not _ANGLO.search(sample)


def context_unit(text: EvidenceText, start: int, end: int) -> str | None:
    """Return the unit that the surroundings give to a value, `None` when they give none."""
    folded = text.folded.text
    if text.is_json:
        return _json_unit(folded, start, end)
    line_start = folded.rfind("\n", max(start - _MAX_LINE, 0), start) + 1
    line_end = folded.find("\n", end, end + _MAX_LINE)
    line = folded[line_start : line_end if line_end >= 0 else end + _MAX_LINE]
    cut = _delimiter(line)
    if cut is None:
        return _label_before(folded, line_start, start)
    index = len(cut.findall(folded[line_start:start]))
    is_whole = text.is_csv and cut.pattern == ","
    header = _header(folded, line_start, cut, len(cut.findall(line)), is_whole=is_whole)
    if header is not None and index < len(header):
        unit = unit_of_label(header[index])
        if unit is not None:
            return unit
    cells = [cell.strip() for cell in cut.split(line)]
    for cell in [*cells[index + 1 :], *reversed(cells[:index])]:
        if cell and len(cell) <= 12 and not cell[0].isdigit() and units_of(cell):
            return str(cell)
    return unit_of_label(cells[0]) if cells and index else None


def _json_unit(text: str, start: int, end: int) -> str | None:
    before = text[max(start - _AROUND, 0) : start]
    key = _KEY_BEFORE.search(before)
    if key is not None:
        unit = unit_of_label(str(key[1]))
        if unit is not None:
            return unit
    opened = before.rfind("{")
    after = text[end : end + _AROUND]
    closed = after.find("}")
    inside = before[opened + 1 :] + "\x00" + (after[:closed] if closed >= 0 else after)
    if "}" in before[opened + 1 :]:
        inside = before[before.rfind("}") + 1 :] + inside.partition("\x00")[2]
    found = _UNIT_FIELD.search(inside)
    return str(found[1]) if found is not None else None


def letter_unit(text: EvidenceText, start: int) -> str | None:
    """Return the unit that the last letter of a JSON key may mean, as in `{"temp_f": 68}`."""
    folded = text.folded.text
    key = _KEY_BEFORE.search(folded, max(start - _AROUND, 0), start) if text.is_json else None
    if key is None:
        return None
    stem, _, letter = key[1].rpartition("_")
    return LETTERS.get(letter) if stem else None


_DELIMITERS: Final = (
    re.compile(r"\|"), re.compile(r"\t"), re.compile(r";"), re.compile(r","), re.compile(r" {2,}"),
)  # fmt: skip


def _delimiter(line: str) -> re.Pattern[str] | None:
    for pattern in _DELIMITERS:
        n = len(pattern.findall(line[:_MAX_LINE]))
        if n >= 2 or (n == 1 and pattern.pattern in (r"\t", r"\|")):
            if pattern.pattern == "," and ", " in line:
                continue  # a sentence
            return pattern
    return None


def _header(
    text: str, line_start: int, cut: re.Pattern[str], n_cuts: int, *, is_whole: bool
) -> list[str] | None:
    """Return the cells of the first line of the table in which a line stands.

    Where the table is the whole text, that is the first line of the text.
    """
    first = None
    at = line_start
    if is_whole and line_start:
        return [cell.strip() for cell in cut.split(text[: text.find("\n")])]
    for _ in range(_MAX_UP):
        if at <= 0:
            break
        previous = text.rfind("\n", max(at - 1 - _MAX_LINE, 0), at - 1) + 1
        line = text[previous : at - 1]
        if len(cut.findall(line)) != n_cuts:
            break
        first, at = line, previous
    else:
        top = text[: text.find("\n")] if "\n" in text[:_MAX_LINE] else ""
        if len(cut.findall(top)) == n_cuts:
            first = top
    return None if first is None else [cell.strip() for cell in cut.split(first)]


def _label_before(text: str, line_start: int, start: int) -> str | None:
    """`VDD (mV): 3300`."""
    before = text[max(line_start, start - 80) : start].rstrip(" :=\t")
    found = re.search(r"[(\[]\s*([^()\[\]]{1,24}?)\s*[)\]]\Z", before)
    return str(found[1]) if found is not None and _is_unit(found[1]) else None


def unit_of_label(label: str) -> str | None:
    """Return the unit that a label ends with, as in `VDD (mV)`, `width_mm`, `in thousands`."""
    found = _LABEL_UNIT.search(label.strip(" *`"))
    if found is None:
        return None
    word = found[1] or found[2]
    if found[1] is None and len(word) < 2 and word != "%":
        return None
    return word if _is_unit(word) else None


def _is_unit(word: str) -> bool:
    if units_of(word) or scales_of(word) is not None:
        return True
    parts = [p for p in re.split(r"[\s,]+", word) if p.casefold() not in ("in", "of", "us")]
    return 1 <= len(parts) <= 2 and all(units_of(p) or scales_of(p) is not None for p in parts)


def excerpt(text: str, start: int, end: int) -> str:
    """Return the text around a place, cut at words."""
    low, high = max(start - _EXCERPT, 0), min(max(end, start) + _EXCERPT, len(text), start + 600)
    piece = text[low:high]
    if low and " " in piece[:20]:
        piece = piece[piece.index(" ") + 1 :]
    if high < len(text) and " " in piece[-20:]:
        piece = piece[: piece.rindex(" ")]
    return piece.strip()


_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]')
_MAX_SCAN: Final = 250_000
_EVERY: Final = 256


class JsonPaths:
    """The keys that lead to places of a JSON text, read once and only as far as is asked.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._known: list[tuple[int, tuple[int | str | None, ...], str]] = [(0, (), "")]
        """Places with their open lists (the index) and objects (the key), and the last string."""

    def path(self, at: int) -> str | None:
        """Return the keys, such as `items[2].price`; `None` = the place stands too far behind."""
        if at > _MAX_SCAN:
            return None
        index = bisect_right(self._known, at, key=lambda known: known[0]) - 1
        start, before, last = self._known[index]
        levels = list(before)
        is_new = index == len(self._known) - 1
        for token in _TOKEN.finditer(self._text, start, min(at + 1_000, len(self._text))):
            if token.start() > at:
                break
            if is_new and token.start() - self._known[-1][0] >= _EVERY:
                self._known.append((token.start(), tuple(levels), last))
            word = token[0]
            if word[0] == '"':
                last = word[1:-1]
            elif word in "{[" and len(levels) >= _MAX_LEVELS:
                return None
            else:
                _step(levels, word, last)
        path = ""
        for level in levels:
            if isinstance(level, int):
                path += f"[{level}]"
            elif level is not None:
                path += f".{level}" if path else level
        return path or None


_MAX_LEVELS: Final = 64


def _step(levels: list[int | str | None], mark: str, last: str) -> None:
    if mark in "{[":
        levels.append(None if mark == "{" else 0)
    elif not levels:
        return
    elif mark in "}]":
        levels.pop()
    elif mark == ":":
        levels[-1] = last
    else:
        level = levels[-1]
        levels[-1] = level + 1 if isinstance(level, int) else None
