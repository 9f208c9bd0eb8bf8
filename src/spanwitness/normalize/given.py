"""Which of some values stand in the texts that a model was given.

The texts may be megabytes and the values are few, so it is the values that are searched for: a
number by its leading digits, a date by its year, a quotation by its longest word. Each pass over a
text is linear, also where the text is made to be slow.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from functools import cached_property
from itertools import islice, pairwise
from math import ceil, floor
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.normalize.digits import leading_digits, leading_pattern
from spanwitness.normalize.references import dates_in, sources_in
from spanwitness.normalize.tokens import normal_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Given", "folded"]

_FEW_CHARS: Final = 16_384
"""In texts up to this size, together, every number is read: that is cheaper than a search."""
_MAX_PREFIXES: Final = 96
_FEW_PLACES: Final = 16
_MAX_SHORT: Final = 64
_SHORT_CHARS: Final = 2000
_AROUND: Final = 4096
"""Characters on each side of a word in which its whole quotation is looked for."""
_BACK: Final = 64
"""Zeros and groups of thousands before a number's leading digit that are looked at."""
_WORDS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve",
)  # fmt: skip
_EXPONENT = r"(?:[eE][-+]?\d{1,3}(?!\w))?"
# Patterns begin with a class of characters: what is none of them is passed at full speed.
_NUMBER = re.compile(
    r"\d(?<!\d\d)(?<!\d[.,]\d)(?:\d{0,2}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d*(?:\.\d+)?"
    + _EXPONENT
    + r"(?!\d))"
)
_SEPARATED_NUMBER = re.compile(r"\d(?<!\d\d)(?<!\d\.\d)\d*(?:\.\d+)?" + _EXPONENT)
_SEPARATOR = re.compile(r",(?:(?<=[^\d\s],)\d|(?<=\d,)[^\d\s])")
_BETWEEN: Final = "\x00"
"""Parts the texts where they are looked through as one."""
_KEPT = re.compile(r"[\w.%+\-]+")
_GAP: Final = r"[^\w.%+\-]+"
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_KEPT_PUNCTUATION: Final = frozenset("_.%+-")
_TO_SPACE: Final = {
    code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) in _KEPT_PUNCTUATION)
}


def folded(text: str) -> str:
    """Return a text in the form in which quotations are compared."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("\\n", " ").replace("\\t", " ")
    if text.isascii():
        return " ".join(text.translate(_TO_SPACE).split()).strip(" .-")
    return " ".join(_KEPT.findall(text)).strip(" .-")


def _unescaped(text: str) -> str:
    r"""Return a text with the characters that JSON writes as `\u00f6`, as many tools do."""
    if "\\u" not in text:
        return text
    text = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    # Characters beyond the first 65,536 are written as two.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class _Number(NamedTuple):
    """A number that is looked for: equal as text, or within one of some bounds."""

    content: str
    texts: frozenset[str]
    bounds: tuple[tuple[float, float], ...]

    def is_met_by(self, normal: str) -> bool:
        if normal in self.texts:
            return True
        value = float(normal)
        return any(low <= value <= high for low, high in self.bounds)

    def whole_up_to(self, end: int) -> Iterator[int]:
        """Yield the whole numbers below `end` that meet it."""
        for text in self.texts:
            if len(text) <= 2 and text.isdigit() and int(text) < end:
                yield int(text)
        for low, high in self.bounds:
            if low < end:
                yield from range(ceil(max(low, 0)), min(floor(high), end - 1) + 1)


def _number(content: str) -> _Number:
    """Say what counts as a number: itself, scaled by a unit prefix, or less rounded."""
    number = content.removesuffix("%")
    value = abs(float(number))
    scales = [0.01, 100.0] if content.endswith("%") else []
    if len(number.replace(".", "").replace("-", "").strip("0")) >= 2:
        scales += [1e3, 1e-3, 1e6, 1e-6]
    bounds = [(value * s - value * s * 1e-9, value * s + value * s * 1e-9) for s in scales]
    fraction = number.partition(".")[2]
    if fraction:
        tolerance = 0.5001 * 10.0 ** -len(fraction)
        bounds.append((value - tolerance, value + tolerance))
    return _Number(content, frozenset((number, number.lstrip("-"))), tuple(bounds))


class Given:
    """The texts that a model was given, looked into only as far as values ask.

    Args:
        texts: System text, history, results, the schema.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = [_unescaped(text) for text in texts if text]

    def missing(self, values: Iterable[str]) -> frozenset[str]:
        """Return those values (as `find_values` gives them) that none of the texts holds."""
        by_kind: dict[str, set[str]] = {}
        for value in values:
            kind, _, content = value.partition(":")
            by_kind.setdefault(kind, set()).add(content)
        absent: set[str] = set()
        for kind, contents in by_kind.items():
            held = self._held(kind, contents)
            absent.update(f"{kind}:{content}" for content in contents - held)
        return frozenset(absent)

    def rows_of_numbers(self) -> Iterator[list[float]]:
        """Yield the numbers of each short text, in their order."""
        for text in self._texts[:_MAX_SHORT]:
            if len(text) <= _SHORT_CHARS:
                yield [float(normal_number(found)) for found in _NUMBER.findall(text)]

    def _held(self, kind: str, contents: set[str]) -> set[str]:
        if kind == "number":
            return self._held_numbers(contents)
        if kind == "quote":
            return {content for content in contents if self._holds_quote(content)}
        if kind in {"url", "file"}:
            return {content for content in contents if content in self._lower}
        if kind == "date":
            return self._held_dates(contents)
        found = sources_in(self._lower, kind, {f"{kind}:{content}" for content in contents})
        return {value.partition(":")[2] for value in found}

    @cached_property
    def _lower(self) -> str:
        return _BETWEEN.join(self._texts).casefold()

    @cached_property
    def _composed(self) -> str:
        joined = _BETWEEN.join(self._texts)
        if unicodedata.is_normalized("NFKC", joined):
            lower = self._lower
        else:
            lower = unicodedata.normalize("NFKC", joined).casefold()
        return lower.replace("\\n", " ").replace("\\t", " ") if "\\" in lower else lower

    @cached_property
    def _folded(self) -> str:
        return folded(self._composed)

    def _holds_quote(self, content: str) -> bool:
        """Look around the longest two words of a quotation, which folding does not change."""
        words = content.split(" ")
        pairs = list(pairwise(words)) or [(words[0], "")]
        pair = max(pairs, key=lambda two: len(two[0]) + len(two[1]))
        found = re.compile(_GAP.join(map(re.escape, pair))).finditer(self._composed)
        places = [place.start() for place in islice(found, _FEW_PLACES + 1)]
        if len(places) > _FEW_PLACES:
            return content in self._folded
        return any(
            content in folded(self._composed[max(at - _AROUND, 0) : at + _AROUND]) for at in places
        )

    def _held_dates(self, contents: set[str]) -> set[str]:
        held = {content for content in contents if content in self._lower}
        for year in {content[: content.index("-")] for content in contents - held}:
            wanted = {content for content in contents - held if content.startswith(f"{year}-")}
            for text in self._texts:
                held |= dates_in(text, year, wanted)
        return held

    # --- numbers

    def _held_numbers(self, contents: set[str]) -> set[str]:
        open_ones = [_number(content) for content in contents]
        held = self._held_as_words(open_ones)
        open_ones = [one for one in open_ones if one.content not in held]
        pattern = None
        if sum(map(len, self._texts)) > _FEW_CHARS:
            pattern = _search_pattern(open_ones)
        if pattern is None:
            return held | self._held_of_all(open_ones)
        judged: set[str] = set()
        for text in self._texts:
            for written in _numbers_at(text, pattern):
                if written in judged:
                    continue
                judged.add(written)
                number = normal_number(written)
                met = {one.content for one in open_ones if one.is_met_by(number)}
                if met:
                    held |= met
                    open_ones = [one for one in open_ones if one.content not in met]
            if not open_ones:
                break
        return held

    def _held_as_words(self, wanted: list[_Number]) -> set[str]:
        return {
            one.content
            for one in wanted
            if any(_WORDS[n] in self._lower for n in one.whole_up_to(len(_WORDS)))
        }

    def _held_of_all(self, wanted: list[_Number]) -> set[str]:
        if not wanted:
            return set()
        texts: set[str] = set()
        for text in self._texts:
            texts.update(_NUMBER.findall(text))
            if _has_separators(text):
                texts.update(_SEPARATED_NUMBER.findall(text))
        normal = set(map(normal_number, texts))
        ordered = sorted(map(float, normal))
        held: set[str] = set()
        for one in wanted:
            if not one.texts.isdisjoint(normal) or any(
                _has_between(ordered, low, high) for low, high in one.bounds
            ):
                held.add(one.content)
        return held


def _has_between(ordered: list[float], low: float, high: float) -> bool:
    at = bisect_left(ordered, low)
    return at < len(ordered) and ordered[at] <= high


def _has_separators(text: str) -> bool:
    """Say whether a comma parts numbers here, as in CSV or JSON."""
    return text.lstrip()[:1] in {"[", "{"} or _SEPARATOR.search(text) is not None


def _search_pattern(wanted: list[_Number]) -> re.Pattern[str] | None:
    """Make the pattern of the digits that wanted numbers may begin with; `None` = too many."""
    prefixes: set[str] = set()
    for one in wanted:
        value = abs(float(next(iter(one.texts))))
        if not value:
            prefixes.add("")
            continue
        for low, high in (*one.bounds, (value * (1 - 1e-9), value * (1 + 1e-9))):
            prefixes.update(leading_digits(low, high))
        if len(prefixes) > _MAX_PREFIXES:
            return None
    return leading_pattern(prefixes) if prefixes else None


def _numbers_at(text: str, pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield the numbers of a text that stand where a pattern says, as they are written."""
    patterns = [_NUMBER]
    if _has_separators(text):
        patterns.append(_SEPARATED_NUMBER)
    for place in pattern.finditer(text):
        at = place.start()
        start, asked = _start_of(text, at), patterns
        if text[start - 1 : start] in _NOT_LEADING:
            # Not the leading digit, unless the last comma parts two numbers.
            start, asked = text.rfind(",", start, at) + 1, patterns[1:]
            if not start:
                continue
        for numbers in asked:
            for found in numbers.finditer(text, start):
                if found.end() > at:
                    if found.start() <= at:
                        yield found[0]
                    break


def _start_of(text: str, at: int) -> int:
    """Go back over the zeros and points before a digit; before an exponent, over the number."""
    start, least = at, max(at - _BACK, 0)
    while start > least and (
        text[start - 1] == "0"
        or (text[start - 1] in ".," and text[start - 2 : start - 1].isdigit())
    ):
        start -= 1
    if start and text[start - 1] in "eE+-":
        while start > least and text[start - 1] in _PARTS:
            start -= 1
    return start


_NOT_LEADING: Final = frozenset("123456789")
_PARTS: Final = frozenset("0123456789.,eE+-")
