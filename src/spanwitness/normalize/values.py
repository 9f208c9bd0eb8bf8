"""The values that an answer states, and which of them no input holds.

Values are numbers, dates, quotations, and references to pages, sections, tables, files and
addresses. Enum labels, booleans, names and the model's own judgements (a confidence) are no values.
The check is plain: equal after normalisation, or the same number scaled by a unit prefix or
rounded; nothing is derived by calculation.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from spanwitness.normalize.tokens import normal_number

__all__ = ["UnseenValues", "find_values", "missing", "unseen"]

_MAX_SAMPLES = 5
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATE = re.compile(
    r"(?<![\w-])(?:(?P<y1>\d{4})[-/](?P<m1>\d{1,2})[-/](?P<d1>\d{1,2})(?!\d)"
    r"|(?P<a>\d{1,2})(?P<sep>[./])(?P<b>\d{1,2})(?P=sep)(?P<y2>\d{4})(?!\d)"
    r"|" + _MONTH.format("m3") + r"\s+(?P<d3>\d{1,2})(?:st|nd|rd|th)?,?\s+(?P<y3>\d{4})(?!\d)"
    r"|(?P<d4>\d{1,2})(?:st|nd|rd|th)?\.?\s+(?:of\s+)?"
    + _MONTH.format("m4")
    + r",?\s+(?P<y4>\d{4})(?!\d))",
    re.IGNORECASE,
)
_SOURCE = re.compile(
    r"(?P<url>https?://[^\s\"'<>)\]}\\]+)"
    r"|(?<![\w/.])(?P<file>[\w-]+(?:\.[\w-]+)*\.(?:pdf|docx?|xlsx?|pptx?|csv|tsv|html?|md|txt|json|ya?ml))\b"
    r"|\b(?P<kind>pages?|pp?\.|page_number|section|sect?\.|table|figure|fig\.|chapter|appendix"
    r"|§)[\"']?\s*[:=#]?\s*[\"']?(?P<at>\d+(?:\.\d+)*)(?:\s*[-\u2013]\s*(?P<to>\d+)(?![\w.]*\d))?",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<sign>(?<![\w.)\]%-])[-+\u2212])?(?P<currency>[$\u20ac\u00a3\u00a5]\s?)?"
    r"(?P<digits>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3}(?!\w))?)"
    r"(?![\d])(?!\.\d)(?!\w*\d)(?P<unit>\s?(?:%|\u00b0|[^\W\d_]+))?"
)
_SKIPPED = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"
    r"|(?<![\w.])\d+(?:\.\d+){2,}"  # versions and addresses
    r"|^\s*(?:[-*]\s*)?(?:step\s+)?\d{1,2}[.):]\s",  # list markers
    re.IGNORECASE | re.MULTILINE,
)
_QUOTE = re.compile(
    "\u201c([^\u201c\u201d]{8,600})\u201d|\u201e([^\u201c\u201d]{8,600})[\u201c\u201d]"
    '|\u00ab([^\u00ab\u00bb]{8,600})\u00bb|(?<![\\w"])"([^"\n]{8,600})"(?!\\w)'
)
_UNITS = frozenset(
    re.findall(
        r"\S+",
        "% v mv kv uv a ma ua na w mw kw hz khz mhz ghz s ms us ns min h hr hrs d m mm cm km nm um"
        " in ft mi g kg mg ug t lb lbs oz l ml c f k pa kpa mpa bar psi j kj kwh wh ohm ohms db"
        " dbm b kb mb gb tb bit bits byte bytes usd eur gbp chf jpy"
        " \u00b0 \u03c9 \u00b5a \u00b5v \u00b5s \u00b5m",
    )
)
_JUDGEMENT_KEY = re.compile(
    r"confidence|score|probability|likelihood|rating|certainty|rank|index$", re.IGNORECASE
)
_QUOTE_KEY = re.compile(r"quot|excerpt|verbatim|snippet|passage", re.IGNORECASE)
_PAGE_KEY = re.compile(r"^(?:page|pages|page_?(?:number|no|num))$", re.IGNORECASE)
_NUMBER_WORDS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_SMALL = 10


class UnseenValues(NamedTuple):
    """How many values an answer states, and how many of them no input holds."""

    n_values: int
    n_values_unseen: int
    samples: tuple[str, ...]
    """Some of the unseen ones, normalised (content: `number:300`, `page:2`, `quote:...`)."""


def find_values(text: str) -> frozenset[str]:
    """Return the values that a text, or a JSON text, states.

    Returns:
        Normalised values with their kind: `number:3.6`, `number:12%`, `date:2026-11-29`, `page:3`,
        `section:4.2`, `file:report.pdf`, `url:...`, `quote:...`. Numbers never match inside other
        numbers or words. A bare small integer in prose, a list marker and a version are no values.
    """
    found: set[str] = set()
    for key, leaf in _leaves_of(text):
        found.update(_values_of(key, leaf))
    return frozenset(found)


def unseen(answer: str, inputs: Iterable[str]) -> UnseenValues:
    """Count the values of an answer that none of the inputs holds.

    Args:
        answer: The answer, a text or JSON.
        inputs: Every text that the model was given: system text, history, results, the schema.
    """
    values = find_values(answer)
    absent = sorted(missing(values, inputs))
    return UnseenValues(len(values), len(absent), tuple(absent[:_MAX_SAMPLES]))


def missing(values: Iterable[str], inputs: Iterable[str]) -> frozenset[str]:
    """Return those values that none of the inputs holds.

    Args:
        values: Values as `find_values` returns them.
        inputs: Texts to look in.
    """
    wanted = frozenset(values)
    if not wanted:
        return wanted
    given = _Given(inputs)
    return frozenset(value for value in wanted if not given.holds(value))


def _leaves_of(text: str) -> Iterator[tuple[str | None, object]]:
    stripped = text.strip()
    if stripped.startswith("```"):
        stripped = stripped.strip("`").removeprefix("json").strip()
    if stripped[:1] in ("{", "["):
        try:
            value = json.loads(stripped)
        except (ValueError, RecursionError):
            pass
        else:
            yield from _walk(None, value)
            return
    yield None, text


def _walk(key: str | None, value: object) -> Iterator[tuple[str | None, object]]:
    pending: list[tuple[str | None, object]] = [(key, value)]
    while pending:
        name, item = pending.pop()
        if isinstance(item, Mapping):
            pending.extend((str(k), v) for k, v in item.items())
        elif isinstance(item, list):
            pending.extend((name, v) for v in item)
        elif item is not None and not isinstance(item, bool):
            yield name or "", item


def _values_of(key: str | None, leaf: object) -> Iterator[str]:
    if isinstance(leaf, (int, float)):
        number = normal_number(repr(abs(leaf)), negative=leaf < 0)
        if key and _PAGE_KEY.search(key):
            yield f"page:{number}"
        elif not (key and _JUDGEMENT_KEY.search(key)):
            yield f"number:{number}"
        return
    text = str(leaf)
    if key and _QUOTE_KEY.search(key) and len(text) >= 8:
        yield f"quote:{_folded(text)}"
        return
    if key and _PAGE_KEY.search(key) and text.isdigit():
        yield f"page:{normal_number(text)}"
        return
    for quote in _QUOTE.finditer(text):
        inner = next(group for group in quote.groups() if group)
        if inner.count(" ") >= 2:
            yield f"quote:{_folded(inner)}"
    yield from _plain_values(text, is_leaf=key is not None)


def _plain_values(text: str, *, is_leaf: bool) -> Iterator[str]:
    for date in _DATE.finditer(text):
        yield f"date:{_iso(date)}"
    rest = _DATE.sub(_COVER, text)
    for source in _SOURCE.finditer(rest):
        yield from _source_values(source)
    rest = _SKIPPED.sub(_COVER, _SOURCE.sub(_COVER, rest))
    for number in _NUMBER.finditer(rest):
        value = _number_value(number)
        if is_leaf or not _is_bare_small(number, value):
            yield f"number:{value}"


_COVER = "\x00"
"""Stands in for what was read already; it is no part of any value."""


def _number_value(found: re.Match[str]) -> str:
    number = normal_number(found["digits"], negative=(found["sign"] or "") in ("-", "\u2212"))
    return f"{number}%" if (found["unit"] or "").strip() == "%" else number


def _is_bare_small(found: re.Match[str], value: str) -> bool:
    """A small integer in prose ("here are 3 ideas") is no value unless it carries a unit."""
    unit = (found["unit"] or "").strip().casefold()
    if unit in _ORDINALS:
        return True
    if found["currency"] or not value.lstrip("-").isdigit() or int(value) > _SMALL:
        return False
    return unit not in _UNITS


_ORDINALS = frozenset({"st", "nd", "rd", "th"})


def _source_values(found: re.Match[str]) -> Iterator[str]:
    if found["url"]:
        yield "url:" + found["url"].rstrip(".,;:").casefold()
    elif found["file"]:
        yield "file:" + found["file"].casefold()
    else:
        kind = _KINDS.get(found["kind"].casefold().rstrip("."), found["kind"].casefold())
        yield f"{kind}:{found['at']}"
        if found["to"] and kind == "page":
            yield f"{kind}:{found['to']}"


_KINDS = {
    "p": "page", "pp": "page", "pages": "page", "page_number": "page", "sec": "section",
    "sect": "section", "§": "section", "fig": "figure",
}  # fmt: skip


def _iso(found: re.Match[str]) -> str:
    if found["y1"]:
        return _date(found["y1"], found["m1"], found["d1"])
    if found["y3"]:
        return _date(found["y3"], str(_month(found["m3"])), found["d3"])
    if found["y4"]:
        return _date(found["y4"], str(_month(found["m4"])), found["d4"])
    first, second = found["a"], found["b"]
    if found["sep"] == "." or int(first) > 12:
        first, second = second, first
    return _date(found["y2"], first, second)


def _date(year: str, month: str, day: str) -> str:
    return f"{year}-{int(month):02}-{int(day):02}"


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].casefold()) + 1


_PUNCTUATION = re.compile(r"[^\w.%+\-]+")


def _folded(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold().replace("\\n", " ").replace("\\t", " ")
    return _PUNCTUATION.sub(" ", text).strip(" .-")


class _Given:
    """The inputs, indexed only as far as values ask."""

    def __init__(self, inputs: Iterable[str]) -> None:
        self._texts = [text for text in inputs if text]

    def holds(self, value: str) -> bool:
        kind, _, content = value.partition(":")
        if kind == "number":
            return self._holds_number(content)
        if kind == "quote":
            return content in self._folded_text
        if kind in ("url", "file"):
            return content in self._lower_text
        if kind == "date":
            return value in self._references or content in self._lower_text
        return value in self._references

    def _holds_number(self, content: str) -> bool:
        numbers = self._numbers
        number = content.removesuffix("%")
        if number in numbers or number.lstrip("-") in numbers:
            return True
        value = abs(float(number))
        scales = [0.01, 100.0] if content.endswith("%") else []
        n_digits = len(number.replace(".", "").replace("-", "").strip("0"))
        if n_digits >= 2:
            scales += [1e3, 1e-3, 1e6, 1e-6]
        if any(self._has_near(value * scale, abs(value * scale) * 1e-9) for scale in scales):
            return True
        fraction = number.partition(".")[2]
        return bool(fraction) and self._has_near(value, 0.5001 * 10.0 ** -len(fraction))

    def _has_near(self, value: float, tolerance: float) -> bool:
        at = bisect_left(self._sorted_numbers, value - tolerance)
        return at < len(self._sorted_numbers) and self._sorted_numbers[at] <= value + tolerance

    @cached_property
    def _numbers(self) -> frozenset[str]:
        found: set[str] = set()
        for text in self._texts:
            found.update(map(normal_number, _GIVEN_NUMBER.findall(text)))
            if _HAS_SEPARATED.search(text):  # CSV or JSON: a comma parts numbers
                found.update(map(normal_number, _SEPARATED_NUMBER.findall(text)))
        lower = self._lower_text
        found.update(str(n) for word, n in _NUMBER_WORDS.items() if word in lower)
        return frozenset(found)

    @cached_property
    def _sorted_numbers(self) -> list[float]:
        return sorted(float(number) for number in self._numbers)

    @cached_property
    def _references(self) -> frozenset[str]:
        found: set[str] = set()
        for text in self._texts:
            for date in _DATE.finditer(text):
                found.add(f"date:{_iso(date)}")
                if date["sep"] == "/":
                    found.add(f"date:{_date(date['y2'], date['b'], date['a'])}")
            for source in _SOURCE.finditer(text):
                found.update(_source_values(source))
                if source["to"] and source["at"].isdigit():
                    low, high = int(source["at"]), int(source["to"])
                    found.update(f"page:{n}" for n in range(low, min(high, low + 500)))
        return frozenset(found)

    @cached_property
    def _lower_text(self) -> str:
        return "\n".join(self._texts).casefold()

    @cached_property
    def _folded_text(self) -> str:
        return " ".join(_folded(text) for text in self._texts)


_EXPONENT = r"(?:[eE][-+]?\d{1,3}(?!\w))?"
_GIVEN_NUMBER = re.compile(
    r"(?<!\d)(?<!\d[.,])(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?"
    + _EXPONENT
    + r"(?!\d))"
)
_SEPARATED_NUMBER = re.compile(r"(?<!\d)(?<!\d\.)\d+(?:\.\d+)?" + _EXPONENT)
_HAS_SEPARATED = re.compile(r"\A\s*[\[{]|[^\d\s],\d|\d,[^\d\s]")
