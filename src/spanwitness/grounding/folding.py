"""One typography for texts, at the price of a look: dashes, spaces, quotes, mu and ohm.

Where nothing is to be folded (nearly every text), the text itself is given back. A character is
replaced by one other character, so that places stay where they are; how far ligatures move them is
kept in a list of shifts.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from itertools import islice
from typing import Final, NamedTuple

__all__ = ["GROUPING", "Folded", "fold", "fold_word", "lower_in_place", "runs_of", "unescaped"]

GROUPING: Final = "\u00a0"
"""The space that groups digits, whichever one the text has."""
_ASCII: Final = bytes(range(128))
_ONE: Final = {
    **dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\ufe63\uff0d", "-"),
    **dict.fromkeys("\u2007\u2009\u200a\u202f", GROUPING),
    **dict.fromkeys("\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u205f\u3000", " "),
    **dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\u2033\uff02", '"'),
    **dict.fromkeys("\u2018\u2019\u201a\u2032\u02bc\uff07", "'"),
    **{chr(0x660 + n): str(n) for n in range(10)},
    **{chr(0x6F0 + n): str(n) for n in range(10)},
    "\u066b": ".",
    "\u066c": ",",
    "\u00b5": "\u03bc",
    "\u2126": "\u03a9",
}
_KEPT: Final = frozenset("\u00b2\u00b3\u00b9\u00bc\u00bd\u00be\u2122\u00a0\u2026")
_LONGER: Final = {"\u2103": "\u00b0C", "\u2109": "\u00b0F"}
_MAX_ESCAPES: Final = 200
_FREQUENT: Final = (
    *_ONE,
    *_LONGER,
    *map(chr, range(0xFB00, 0xFB05)),
    *map(chr, range(0xFF10, 0xFF1A)),
)
_MANY_BYTES: Final = 200_000
"""Of texts in other scripts, only the frequent characters are folded: to list all takes long."""
_FEW_KINDS: Final = 64
_MUCH_WORK: Final = 10_000_000
"""Characters that may be read to fold many kinds of them; beyond it, the frequent ones count."""
_MOST_LONGER: Final = 50_000
"""Characters of a text that are replaced by several; those behind stay as they are."""
_CODE: Final = re.compile(r"[0-9a-fA-F]{4}")


_LONGER_IN_LOWER: Final = "\u0130"
"""The only character whose lower case is longer: it stays as it is."""
_LATIN_LOWER: Final = "".join(map(chr, range(256))).lower().encode("latin-1")


_RUN: Final = re.compile("[a-z0-9]+")
_RUNS_AT_ONCE: Final = 1_000_000


class Folded(NamedTuple):
    """A text in one typography, and where its places stand in the text as it is."""

    text: str
    shifts: tuple[tuple[int, int], ...] = ()
    """Places of the folded text from which on so many characters are to be added."""

    def place(self, at: int) -> int:
        """Return where a place of the folded text stands in the text as it is."""
        if not self.shifts:
            return at
        index = bisect_right(self.shifts, (at, 1 << 60)) - 1
        return at + self.shifts[index][1] if index >= 0 else at


def unescaped(text: str) -> str:
    r"""Return a JSON text with the letters that it writes as `\u00f6`, as many tools do."""
    if "\\u" not in text or text.lstrip()[:1] not in ("{", "[", '"'):
        return text
    first, *rest = text.split("\\u")
    codes = {piece[:4] for piece in rest}
    chars = {code: _escaped_char(code) for code in codes}
    if len(chars) > _MAX_ESCAPES:
        return first + "".join([chars[piece[:4]] + piece[4:] for piece in rest])
    for code, char in chars.items():
        text = text.replace(f"\\u{code}", char)
    return text


def _escaped_char(code: str) -> str:
    """Return the character that a code stands for; what is no code stays as it is."""
    if _CODE.fullmatch(code) is None:
        return f"\\u{code}"
    char = chr(int(code, 16))
    return "?" if "\ud800" <= char <= "\udfff" or char < " " else char


def fold(text: str) -> Folded:
    """Bring a text to one typography."""
    if "\\" in text and text.lstrip()[:1] in ("{", "[", '"'):
        text = text.replace("\\n", "  ").replace("\\t", "  ").replace('\\"', ' "')
    if text.isascii():
        return Folded(text)
    longer: list[str] = []
    for char in _others(text):
        to = _folded_char(char)
        if len(to) == 1:
            text = text.replace(char, to)
        elif to:
            longer.append(char)
    if not longer:
        return Folded(text)
    pattern = re.compile("[" + "".join(map(re.escape, longer)) + "]")
    return _replaced(text, pattern)


def fold_word(text: str) -> str:
    """Bring a short text to one typography, places not kept."""
    return fold(text).text


def lower_in_place(text: str) -> str:
    """Return a text in lower case, as long as it is."""
    if text.isascii():
        return text.lower()
    if _LONGER_IN_LOWER in text:
        return _LONGER_IN_LOWER.join([piece.lower() for piece in text.split(_LONGER_IN_LOWER)])
    try:  # ten times as fast, where it can be
        return text.encode("latin-1").translate(_LATIN_LOWER).decode("latin-1")
    except UnicodeEncodeError:
        return text.lower()


def runs_of(lower: str) -> frozenset[str]:
    """Return the runs of ASCII letters and digits of a text in lower case, piece by piece."""
    found: set[str] = set()
    at = 0
    while at < len(lower):
        end = lower.find(" ", at + _RUNS_AT_ONCE)
        end = len(lower) if end < 0 else end
        found.update(_RUN.findall(lower, at, end))
        at = end
    return frozenset(found)


def _others(text: str) -> list[str]:
    """Return the characters beyond ASCII that a text has."""
    rest = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    if len(rest) > max(_MANY_BYTES, len(text) // 2):
        return [char for char in _FREQUENT if char in text]
    found = sorted(filter(_folded_char, set(rest.decode("utf-8", "surrogatepass"))))
    if len(found) > _FEW_KINDS and len(found) * len(text) > _MUCH_WORK:
        return [char for char in found if char in _FREQUENT]
    return found


@lru_cache(maxsize=4096)
def _folded_char(char: str) -> str:
    """Return what a character becomes; empty = itself."""
    if char in _LONGER:
        return _LONGER[char]
    if char in _ONE:
        return _ONE[char]
    if char in _KEPT or unicodedata.category(char) in ("No", "Lm"):
        return ""
    to = unicodedata.normalize("NFKC", char)
    return "" if to == char or len(to) > 3 or not to.strip() else to


def _replaced(text: str, pattern: re.Pattern[str]) -> Folded:
    """Replace characters by several, and note how far the places behind them move."""
    pieces: list[str] = []
    shifts: list[tuple[int, int]] = []
    done = total = length = 0
    for found in islice(pattern.finditer(text), _MOST_LONGER):
        new = _folded_char(found[0])
        pieces += [text[done : found.start()], new]
        length += found.start() - done + len(new)
        done = found.end()
        total += len(found[0]) - len(new)
        shifts.append((length, total))
    pieces.append(text[done:])
    return Folded("".join(pieces), tuple(shifts))
