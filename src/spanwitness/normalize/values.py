"""The values that an answer states, and which of them no input holds.

Values are numbers, dates, quotations, and references to pages, sections, tables, files and
addresses. Enum labels, booleans, names and the model's own judgements (a confidence) are no values.
The check is plain: equal after normalisation, or the same number scaled by a unit prefix or
rounded; `unsupported` also lets pass what a plain calculation over numbers that stand together
gives (`derived`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from spanwitness.normalize.derived import derived
from spanwitness.normalize.given import Given, folded
from spanwitness.normalize.references import Reference, find_dates, find_sources
from spanwitness.normalize.tokens import normal_number

__all__ = [
    "JUDGEMENT_KEY",
    "NO_NUMBER",
    "PAGE_KEY",
    "QUOTATION",
    "QUOTE_KEY",
    "UUID",
    "UnseenValues",
    "find_values",
    "missing",
    "unseen",
    "unsupported",
]

_MAX_SAMPLES = 5
_NUMBER = re.compile(
    r"(?<![\w.,])(?P<sign>(?<![\w.)\]%-])[-+\u2212])?(?P<currency>[$\u20ac\u00a3\u00a5]\s?)?"
    r"(?P<digits>\d+(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3}(?!\w))?)"
    r"(?![\d])(?!\.\d)(?!\w*\d)(?P<unit>\s?(?:%|\u00b0|[^\W\d_]+))?"
)
UUID = re.compile(
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE
)
NO_NUMBER = re.compile(
    r"\d(?<![\w.]\d)\d*(?:\.\d+){2,}"  # versions and addresses
    r"|^[^\S\n]*+(?:[-*][^\S\n]*+)?(?:step[^\S\n]++)?\d{1,2}[.):]\s",  # list markers
    re.IGNORECASE | re.MULTILINE,
)
QUOTATION = re.compile(
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
JUDGEMENT_KEY = re.compile(
    r"confidence|score|probability|likelihood|rating|certainty|rank|index$", re.IGNORECASE
)
QUOTE_KEY = re.compile(r"quot|excerpt|verbatim|snippet|passage", re.IGNORECASE)
PAGE_KEY = re.compile(r"^(?:page|pages|page_?(?:number|no|num))$", re.IGNORECASE)
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
    """Count the values of an answer that none of the inputs holds or gives by plain calculation.

    Args:
        answer: The answer, a text or JSON.
        inputs: Every text that the model was given: system text, history, results, the schema.
    """
    values = find_values(answer)
    absent = sorted(unsupported(values, inputs))
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
    return Given(inputs).missing(wanted)


def unsupported(values: Iterable[str], inputs: Iterable[str]) -> frozenset[str]:
    """Return those values that none of the inputs holds, and that do not follow from one of them.

    Args:
        values: Values as `find_values` returns them.
        inputs: Texts to look in.
    """
    wanted = frozenset(values)
    if not wanted:
        return wanted
    given = Given(inputs)
    absent = given.missing(wanted)
    numbers = {v.removeprefix("number:") for v in absent if v.startswith("number:")}
    if not numbers:
        return absent
    return absent - {f"number:{n}" for n in derived(numbers, given.rows_of_numbers())}


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
        if key and PAGE_KEY.search(key):
            yield f"page:{number}"
        elif not (key and JUDGEMENT_KEY.search(key)):
            yield f"number:{number}"
        return
    text = str(leaf)
    if key and QUOTE_KEY.search(key) and len(text) >= 8:
        yield f"quote:{folded(text)}"
        return
    if key and PAGE_KEY.search(key) and text.isdigit():
        yield f"page:{normal_number(text)}"
        return
    if not _MARK.isdisjoint(text):
        for quote in QUOTATION.finditer(text):
            inner = next(group for group in quote.groups() if group)
            if inner.count(" ") >= 2:
                yield f"quote:{folded(inner)}"
    yield from _plain_values(text, is_leaf=key is not None)


def _plain_values(text: str, *, is_leaf: bool) -> Iterator[str]:
    has_digits = _DIGITS.search(text) is not None
    if not has_digits and "." not in text and "://" not in text:
        return
    if has_digits:
        dates = find_dates(text)
        for date in dates:
            yield from date.values
        text = _without(text, dates)
    sources = find_sources(text)
    for source in sources:
        yield from source.values
    if not has_digits:
        return
    rest = _without(text, sources)
    if rest.count("-") >= 4:
        rest = UUID.sub(_COVER, rest)
    for number in _numbers(NO_NUMBER.sub(_COVER, rest)):
        value = _number_value(number)
        if is_leaf or not _is_bare_small(number, value):
            yield f"number:{value}"


_DIGITS = re.compile(r"\d")
_FREE_DIGITS = re.compile(r"\d(?<![\w.,]\d)\d*")
"""Digits that are no part of a word or of another number."""
_MAX_LEAD: Final = 3
"""A sign, a currency and a space."""
_MARK: Final = frozenset('\u201c\u201e\u00ab"')
_COVER = "\x00"
"""Stands in for what was read already; it is no part of any value."""


def _without(text: str, read: list[Reference]) -> str:
    """Cover what was read already."""
    if not read:
        return text
    pieces: list[str] = []
    done = 0
    for one in read:
        pieces.append(text[done : one.start])
        done = one.end
    pieces.append(text[done:])
    return _COVER.join(pieces)


def _numbers(text: str) -> Iterator[re.Match[str]]:
    """Look where digits stand: the pattern of a number is slow, and it begins just before them."""
    done = 0
    for digits in _FREE_DIGITS.finditer(text):
        at = digits.start()
        if at < done:
            continue
        for start in range(max(at - _MAX_LEAD, done), at + 1):
            found = _NUMBER.match(text, start)
            if found is not None:
                yield found
                done = found.end()
                break


def _number_value(found: re.Match[str]) -> str:
    number = normal_number(found["digits"], negative=(found["sign"] or "") in ("-", "\u2212"))
    return f"{number}%" if (found["unit"] or "").strip() == "%" else number


def _is_bare_small(found: re.Match[str], value: str) -> bool:
    """A small integer in prose ("here are 3 ideas") is no value unless it carries a unit."""
    unit = (found["unit"] or "").strip().casefold()
    if unit in _ORDINALS:
        return True
    digits = value.lstrip("-")
    if found["currency"] or not digits.isdigit() or len(digits) > 2 or int(digits) > _SMALL:
        return False
    return unit not in _UNITS


_ORDINALS = frozenset({"st", "nd", "rd", "th"})
