"""Dates, and references to pages, sections, files and addresses, as they stand in a text.

Every pattern is linear: runs of white space and of digits are matched once and never given back.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["Reference", "dates_in", "find_dates", "find_sources", "sources_in"]

_MONTHS: Final = (
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
)  # fmt: skip
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
_YEAR = re.compile(r"\d{4,}")
_BEFORE_YEAR: Final = 64
_AFTER_YEAR: Final = 16
"""No date reaches further from its year (but for longer runs of white space)."""
_AFTER_KIND = (
    r"[\"']?\s*+(?:[:=#]\s*+)?[\"']?(?P<at>\d+(?:\.\d+)*)"
    r"(?:\s*+[-\u2013]\s*+(?P<to>\d++)(?![\w.]*\d))?"
)
_URL = re.compile(r"[hH][tT][tT][pP][sS]?://[^\s\"'<>)\]}\\]+")
_EXTENSIONS = r"\.(?:pdf|docx?|xlsx?|pptx?|csv|tsv|html?|md|txt|json|ya?ml)"
_EXTENSION = re.compile(_EXTENSIONS + r"\b")
_FILE = re.compile(
    r"(?<![\w/.])(?<![\w/.]-)[\w-]++(?:\.[\w-]+)*" + _EXTENSIONS + r"\b", re.IGNORECASE
)
_KIND = re.compile(
    r"\b(?P<kind>pages?|pp?\.|page_number|section|sect?\.|table|figure|fig\.|chapter|appendix|§)"
    + _AFTER_KIND,
    re.IGNORECASE,
)
_HINTS: Final = ("page", "p.", "sec", "table", "fig", "chapter", "appendix", "§")
_KINDS: Final = {
    "p": "page", "pp": "page", "pages": "page", "page_number": "page", "sec": "section",
    "sect": "section", "§": "section", "fig": "figure",
}  # fmt: skip
# In lower case, each beginning with its letters: those are searched at full speed.
_IN_LOWER: Final = {
    kind: tuple(re.compile(word + _AFTER_KIND) for word in words)
    for kind, words in {
        "page": (r"page(?<!\wpage)(?:s|_number)?", r"p\.(?:(?<!\wp\.)|(?<=pp\.)(?<!\wpp\.))"),
        "section": (r"sect(?<!\wsect)(?:ion|\.)", r"sec\.(?<!\wsec\.)", r"§(?<=\w§)"),
        "table": (r"table(?<!\wtable)",),
        "figure": (r"fig(?<!\wfig)(?:ure|\.)",),
        "chapter": (r"chapter(?<!\wchapter)",),
        "appendix": (r"appendix(?<!\wappendix)",),
    }.items()
}
_MAX_PAGES: Final = 500
"""Most pages that a range is taken to cite."""
_MAX_DIGITS: Final = 9
_MAX_TOKEN: Final = 300
_TOKEN_END = re.compile(r"[\s\"'<>)\]}\\]")
_NAME_TAIL = re.compile(r"[\w.-]*\Z")


class Reference(NamedTuple):
    """A place of a text that names a source."""

    start: int
    end: int
    values: tuple[str, ...]
    """`page:3`, `section:4.2`, `file:report.pdf`, `url:...`."""


def find_dates(text: str) -> list[Reference]:
    """Find the dates of a text, in order; `values` holds one, `date:2026-11-29`."""
    return [Reference(*found.span(), (f"date:{_iso(found)}",)) for found in _dates(text)]


def _dates(text: str) -> Iterator[re.Match[str]]:
    """Look around the years only: the pattern of a date is slow, and years are rare."""
    start = stop = 0
    for year in _YEAR.finditer(text):
        first = year.start() - _BEFORE_YEAR
        if first > stop:
            if stop:
                yield from _DATE.finditer(text, start, stop)
            start = max(first, 0)
        stop = year.end() + _AFTER_YEAR
    if stop:
        yield from _DATE.finditer(text, start, stop)


def dates_in(text: str, year: str, wanted: Collection[str]) -> set[str]:
    """Return those of the wanted dates (of one year, as `2026-11-29`) that a text states.

    A date that can be read in two ways, `3/4/2026`, states both.
    """
    words = {_words_of(date) for date in wanted}
    found: set[str] = set()
    at = text.find(year)
    while at >= 0 and len(found) < len(wanted):
        end = at + len(year)
        around = text[max(at - _BEFORE_YEAR, 0) : end + _AFTER_YEAR].casefold()
        if any(each.may_stand_in(around) for each in words):
            for date in _DATE.finditer(text, max(at - _BEFORE_YEAR, 0), end + _AFTER_YEAR):
                if date.start() <= at < date.end():
                    stated = {_iso(date)}
                    if date["sep"] == "/":
                        stated.add(_date(date["y2"], date["b"], date["a"]))
                    found |= stated.intersection(wanted)
        at = text.find(year, end)
    return found


class _Words(NamedTuple):
    """What must stand near a year for a date to be there."""

    day: str
    month: str
    name: str

    def may_stand_in(self, around: str) -> bool:
        return self.day in around and (self.month in around or self.name in around)


def _words_of(date: str) -> _Words:
    _, month, day = date.split("-")
    n_month = int(month)
    name = _MONTHS[n_month - 1] if 1 <= n_month <= len(_MONTHS) else month
    return _Words(day.lstrip("0"), str(n_month), name)


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


def find_sources(text: str) -> list[Reference]:
    """Find what a text cites, in order, without overlaps."""
    lower = text.casefold()
    found: list[Reference] = []
    if "://" in text:
        found += [
            Reference(*url.span(), ("url:" + url[0].rstrip(".,;:").casefold(),))
            for url in _URL.finditer(text)
        ]
    if _EXTENSION.search(lower):
        found += [
            Reference(*file.span(), ("file:" + file[0].casefold(),))
            for file in _FILE.finditer(text)
        ]
    if text.isascii():
        for kind, patterns in _IN_LOWER.items():
            for pattern in patterns:
                found += [
                    Reference(place.start(), place.end(), _cited(place, kind))
                    for place in pattern.finditer(lower)
                ]
    elif any(hint in lower for hint in _HINTS):
        found += [
            Reference(*place.span(), _cited(place, _kind_of(place)))
            for place in _KIND.finditer(text)
        ]
    if len(found) < 2:
        return found
    found.sort(key=_start)  # stable: of two at one place, the address comes first
    kept = [found[0]]
    for one in found:
        if one.start >= kept[-1].end:
            kept.append(one)
    return kept


def _start(one: Reference) -> int:
    return one.start


def _kind_of(found: re.Match[str]) -> str:
    word = found["kind"].casefold().rstrip(".")
    return _KINDS.get(word, word)


def _cited(found: re.Match[str], kind: str) -> tuple[str, ...]:
    if found["to"] and kind == "page":
        return (f"{kind}:{found['at']}", f"{kind}:{found['to']}")
    return (f"{kind}:{found['at']}",)


def sources_in(lower: str, kind: str, wanted: Collection[str]) -> set[str]:
    """Return those of the wanted sources of one kind that a casefolded text cites.

    Of pages each one in a range counts. A path or query of an address cites nothing.
    """
    found: set[str] = set()
    for place in chain.from_iterable(each.finditer(lower) for each in _IN_LOWER[kind]):
        at, to = place["at"], place["to"]
        cited = {f"{kind}:{at}"}
        if to and kind == "page":
            cited.add(f"{kind}:{to}")
            if at.isdigit():
                cited.update(_pages(at, to))
        cited.intersection_update(wanted)
        if cited and not cited <= found and not _is_inside(lower, place):
            found |= cited
            if len(found) == len(wanted):
                break
    return found


def _pages(at: str, to: str) -> Iterator[str]:
    low = int(at[:_MAX_DIGITS])
    return (f"page:{n}" for n in range(low, min(int(to[:_MAX_DIGITS]), low + _MAX_PAGES)))


def _is_inside(lower: str, place: re.Match[str]) -> bool:
    """Say whether a place is part of an address or of the name of a file."""
    start = place.start()
    head = _TOKEN_END.split(lower[max(start - _MAX_TOKEN, 0) : start])[-1]
    if "://" in head:
        return True
    tail = _NAME_TAIL.search(head)
    name = _FILE.match(lower, start - (len(tail[0]) if tail else 0))
    return name is not None and name.end() > start
