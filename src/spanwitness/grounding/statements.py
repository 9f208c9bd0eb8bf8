"""The claims that stand in a text: quotations, identifiers, dates, references, numbers, names."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

import msgspec

from spanwitness.grounding.amounts import Written  # noqa: TC001 - msgspec reads the annotations
from spanwitness.grounding.folding import fold_word
from spanwitness.grounding.languages import foreign_dates, may_hold_foreign_dates
from spanwitness.grounding.numbers import number_at
from spanwitness.model import Claim, ClaimKind
from spanwitness.normalize.references import find_dates, find_sources
from spanwitness.normalize.values import NO_NUMBER, QUOTATION, UUID

__all__ = ["FoundClaim", "Origin", "is_identifier", "statements_of"]

Origin: TypeAlias = Literal["declared", "field", "text"]

_MAX_CHARS: Final = 65_536
_MAX_STATEMENTS: Final = 400
_IDENTIFIER = re.compile(
    r"(?<![\w@./#-])#?(?:[A-Za-z0-9]+(?:[_\-.][A-Za-z0-9]+)*)(?![\w@])(?!\.\w)"
)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64})+")
_ISO_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?")
_CAPITAL: Final = r"(?:[A-Z][a-z\u00df-\u00ff]+(?:[-'][A-Z]?[a-z]+)?|[A-Z]\.)"
_NAME = re.compile(
    rf"(?<![\w'-]){_CAPITAL}(?:\s(?:(?:of|the|de|van|von|der|la|le|&)\s)?"
    rf"(?:{_CAPITAL}|[A-Z]{{2,5}}\b)(?![\w])){{1,5}}"
)
_STARTERS: Final = frozenset(
    re.findall(
        r"\S+",
        "only just both all each any changing original current new use updated no return "
        "the a an this that these those it its if in on at for to from with by as and but or so "
        "we you i your our my their his her he she they is are was were there here when what "
        "which who how why please thank thanks dear hello hi yes no not sure ok okay however also "
        "additionally finally first second next then based according since because after before "
        "would could can should may let great sorry unfortunately best regards total final answer "
        "note summary result results step january february march april june july august september "
        "october november december monday tuesday wednesday thursday friday saturday sunday",
    )
)
_QUOTE_MARKS = re.compile('[\u201c\u201d\u201e\u00ab\u00bb"]')
_ASKED = re.compile(
    r"\b(?:confirm(?:ation)?|reply|replies|replying|respond|say|saying|answer|type|write|enter"
    r"|phrase|either|or)\b[\s:,*(]{0,6}(?:\w+[\s:,]{1,3}){0,2}\Z",
    re.IGNORECASE,
)
"""Words before what somebody is asked to say: it is no quotation."""
_DAY = re.compile(
    r"(?<![\w-])(?:(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.?\s\d{1,2}(?:st|nd|rd|th)?"
    r"|\d{1,2}(?:st|nd|rd|th)?\s(?:of\s)?(?:january|february|march|april|may|june|july|august"
    r"|september|october|november|december))(?!\w|[.,:]\d)",
    re.IGNORECASE,
)
_PHONE = re.compile(
    r"(?<![\w.,-])(?:\+\d{1,3}(?![\d.,])|\(0?\d{2,5}\)|0\d{2,5}(?=[ /-]))[ ()/-]{1,2}"
    r"\d(?:[ \d/-]|\([\d]+\)){5,16}\d(?!\w)"
)
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?: [\dA-Z]{4}){3,7}(?: [\dA-Z]{1,4})?(?!\w)")
_CUT_OFF = re.compile(r"(?:\u2026|\.{2,3})\Z")
_CUT_SHORT = re.compile(r"\u2026|\.\.\.")
"""What stands for the rest of an identifier that is told in part: `...7447`, `a1b2c3d4...`."""
_CLOCK = re.compile(
    r"(?<![\d.,])\d{1,2}(?:[.:h]\d{2}\s?(?:Uhr|h)\b|h\d{2}(?!\w|\s?min)"
    r"|\s?[\u6642\u65f6\u70b9\u9ede\uc2dc]\s?\d{1,2}\s?[\u5206\ubd84])"
)
"""Times of the day as other languages write them."""
_NAMED_NUMBER = re.compile(
    r"\b(?:card|certificate|number|no|nr|id|ids|ending(?:\sin)?|ends\sin|account|order|reservation"
    r"|ticket|invoice|ref|reference|code|zip|phone|serial|item|case|flight|isbn|pin|sku)[\s:.#*(]{1,4}\Z",
    re.IGNORECASE,
)
"""Words before a row of digits that names something and counts nothing."""
_LEAST_DIGITS: Final = 4
_DIGITS = re.compile(r"\d+")
_DIGIT_OR_LINE = re.compile(r"[\d_]")
"""Something that every identifier has."""
_MONTHS: Final = (
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
)  # fmt: skip
_HEDGE = re.compile(
    r"\b(?:about|approximately|approx\.?|around|roughly|nearly|almost|over|more than|less than"
    r"|under|some|circa|ca\.)\s\W?\Z|[~\u2248]\s?\Z",
    re.IGNORECASE,
)
_FALL = re.compile(
    r"\b(?:fell|fall|falls|falling|decreas\w*|declin\w*|loss\w*|lost|drop\w*|down|lower\w*|less|below"
    r"|minus|negative|refund\w*|credit\w*|discount\w*|deficit|reduc\w*|shrank|shrunk|cut)\b",
    re.IGNORECASE,
)
_CURRENCIES: Final = "$\u20ac\u00a3\u00a5\u20b9"
_COVER: Final = "\x00"
SMALL: Final = 10
"""A bare number up to it says hardly anything."""
SHORT: Final = 80


class FoundClaim(msgspec.Struct, frozen=True, kw_only=True):
    """One claim of an answer, before anything was looked for."""

    claim: Claim
    kind: ClaimKind
    origin: Origin
    text: str
    """As it is written in the answer."""
    start: int = -1
    """Where it stands in the text of the answer; -1 = declared, or a whole field."""
    numbers: tuple[Written, ...] = ()
    """Of a number: what it may say, the likeliest first."""
    is_hedged: bool = False
    """Said as a round figure (`about 300`)."""
    is_fall: bool = False
    """Said of something that fell, so that its sign may stand in the words."""
    is_small: bool = False
    """A bare small number: it says hardly anything."""


def statements_of(
    text: str, *, origin: Origin, field: str | None = None, unit: str | None = None
) -> list[FoundClaim]:
    """Return the claims that a text makes, in the order in which they stand.

    Args:
        text: The text; what stands behind its first 65,536 characters is left out.
        origin: Where the text is from.
        field: The field of the answer that the text is.
        unit: The unit of the field, for numbers that have none of their own.
    """
    return _Reader(text[:_MAX_CHARS], origin, field, unit).read()


class _Reader:
    """Reads one text, and covers what was read, so that nothing is read twice."""

    def __init__(self, text: str, origin: Origin, field: str | None, unit: str | None) -> None:
        folded = fold_word(text)
        self._text = text if len(folded) == len(text) else folded
        self._rest = folded
        self._origin: Origin = origin
        self._field = field
        self._unit = fold_word(unit) if unit else None
        self._found: list[FoundClaim] = []
        self._spans: list[tuple[int, int]] = []

    def read(self) -> list[FoundClaim]:
        for step in (
            self._quotations, self._whole_words, self._dates, self._references, self._identifiers,
            self._numbers, self._names,
        ):  # fmt: skip
            step()
            self._cover()
            if len(self._found) >= _MAX_STATEMENTS:
                break
        self._found.sort(key=lambda one: one.start)
        return self._found

    def _add(self, start: int, end: int, kind: ClaimKind, *, quote: bool = False) -> None:
        text = self._text[start:end]
        claim = Claim(value=text, quote=text if quote else None, field=self._field)
        self._found.append(
            FoundClaim(claim=claim, kind=kind, origin=self._origin, text=text, start=start)
        )
        self._spans.append((start, end))

    def _cover(self) -> None:
        """Cover what was read; places stay where they are."""
        if not self._spans:
            return
        pieces: list[str] = []
        done = 0
        for start, end in sorted(self._spans):
            if end <= done:
                continue
            start = max(start, done)  # noqa: PLW2901
            pieces += [self._rest[done:start], _COVER * (end - start)]
            done = end
        pieces.append(self._rest[done:])
        self._rest = "".join(pieces)
        self._spans = []

    # --- one kind after the other

    def _quotations(self) -> None:
        if not _QUOTE_MARKS.search(self._text):
            return
        for quote in QUOTATION.finditer(self._text):
            group = next(g for g in range(1, len(quote.groups()) + 1) if quote[g])
            if quote[group].count(" ") >= 2 and not _ASKED.search(self._text, 0, quote.start()):
                self._add(*quote.span(group), "quotation", quote=True)

    def _whole_words(self) -> None:
        rest = self._rest
        patterns = [_EMAIL] if "@" in rest else []
        patterns += [_PHONE, _IBAN]
        if rest.count("-") >= 2:
            patterns += [UUID, _ISO_TIME]
        for pattern in patterns:
            for found in pattern.finditer(rest):
                self._add(*found.span(), "identifier")

    def _dates(self) -> None:
        for date in find_dates(self._rest):
            self._add(date.start, date.end, "date")
        self._cover()
        lower = self._rest.lower()
        if may_hold_foreign_dates(lower):
            for foreign in foreign_dates(self._rest):
                self._add(foreign.start, foreign.end, "date")
            self._cover()
        if not any([month in lower for month in _MONTHS]):  # noqa: C419
            return
        for day in _DAY.finditer(self._rest):
            self._add(*day.span(), "date")

    def _references(self) -> None:
        for source in find_sources(self._rest):
            self._add(source.start, source.end, "identifier")

    def _identifiers(self) -> None:
        self._spans += [marker.span() for marker in NO_NUMBER.finditer(self._rest)]
        self._spans += [clock.span() for clock in _CLOCK.finditer(self._rest)]
        self._cover()
        if _DIGIT_OR_LINE.search(self._rest) is None:
            return
        for code in _IDENTIFIER.finditer(self._rest):
            if is_identifier(code[0]):
                self._add_part(*code.span())

    def _add_part(self, start: int, end: int) -> None:
        """Add an identifier, with the marks that it is told in part."""
        before = _CUT_OFF.search(self._rest, max(start - 3, 0), start)
        after = _CUT_SHORT.match(self._rest, end)
        self._add(before.start() if before else start, after.end() if after else end, "identifier")

    def _numbers(self) -> None:
        rest, done = self._rest, 0
        for digits in _DIGITS.finditer(rest):
            if digits.start() < done or len(self._found) >= _MAX_STATEMENTS:
                continue
            numbers = number_at(rest, digits.start(), unit=self._unit)
            if numbers:
                done = numbers[0].end
                self._add_number(tuple(numbers))

    def _add_number(self, numbers: tuple[Written, ...]) -> None:
        best, rest = numbers[0], self._rest
        start = best.start
        if best.digits.startswith("-") and rest[start - 1] in "-(":
            start -= 1
        while start and rest[start - 1] in _CURRENCIES:
            start -= 1
        plain = best.digits.lstrip("-")
        if self._is_named(best, start):
            self._add_part(start, best.end)
            return
        value: int | float = float(best.digits) if "." in plain else int(best.digits)
        unit = best.unit or self._unit
        self._found.append(
            FoundClaim(
                claim=Claim(value=value, unit=unit or None, field=self._field),
                kind="number",
                origin=self._origin,
                text=self._text[start : best.end],
                start=start,
                numbers=numbers,
                is_hedged=_HEDGE.search(rest, max(start - 16, 0), start) is not None,
                is_fall=_FALL.search(rest, max(start - 48, 0), best.end + 24) is not None,
                is_small=not unit and plain.isdigit() and int(plain[:9]) <= SMALL,
            )
        )
        self._spans.append((start, best.end))

    def _is_named(self, number: Written, start: int) -> bool:
        """`Gift Card 7504069`: digits that name something."""
        digits = number.digits
        if number.unit or len(digits) < _LEAST_DIGITS or not digits.isdigit():
            return False
        if self._rest[start : number.end] != digits:
            return False
        if len(digits) >= 9 or self._rest[start - 1 : start] == "\u2026":
            return True
        return _NAMED_NUMBER.search(self._rest, max(start - 24, 0), start) is not None

    def _names(self) -> None:
        for name in _NAME.finditer(self._rest):
            self._add_name(*name.span())
        if self._field or self._found:
            return
        whole = self._text.strip(" .\n*")
        if _is_entity(whole):
            at = self._text.index(whole)
            self._add(at, at + len(whole), "name")

    def _add_name(self, start: int, end: int) -> None:
        text = self._text
        words = text[start:end].split()
        while words and words[0].casefold() in _STARTERS:
            start = text.index(words[0], start) + len(words[0])
            words = words[1:]
        start += len(text[start:end]) - len(text[start:end].lstrip())
        capitals = [w for w in words if w[0].isupper() and w.casefold() not in _STARTERS]
        if len(capitals) < 2 or text[end : end + 1] == ":" or text[end : end + 3] == "**:":
            return
        line = text[text.rfind("\n", 0, start) + 1 :].partition("\n")[0]
        if len(line) < len(text) and line.strip(" *#:|-").rstrip(":") == text[start:end]:
            return  # a heading or a label
        if line.startswith("#") or set(text[max(start - 2, 0) : start]) == {"*"}:
            return
        self._add(start, end, "name")


def is_identifier(text: str) -> bool:
    """Say whether a word names one thing and no other: `DPS310`, `W2378156`, `repo_1`."""
    text = text.lstrip("#")
    if text.isalpha() or not 3 <= len(text) <= SHORT or " " in text:
        return False
    letters = sum(map(str.isalpha, text))
    if not any(map(str.isdigit, text)):
        return "_" in text.strip("_") and letters >= 4
    if not letters:
        groups = [g for g in re.split(r"[-/.]", text) if g]
        return "-" in text and len(groups) >= 2 and len("".join(groups)) >= 6
    if re.fullmatch(r"\d+(?:\.\d+)?(?:[^\W\d_]{1,8}(?:/[^\W\d_]+)?|[eE][-+]?\d+)", text):
        return False  # a number with its unit, `3.3V`, or an ordinal
    # 30-day, step-2
    return not re.fullmatch(r"\d+-[a-z]+|[a-z]+-\d{1,2}|\d+(?:\.\d+)?-[A-Za-z]{1,4}", text)


def _is_entity(text: str) -> bool:
    """Say whether a short answer as a whole names something: `Paris`, `electric current`."""
    lower = text.casefold()
    if len(text) > 40 or "\n" in text or text.endswith(("?", "!")):
        return False
    words = re.findall(r"[^\W\d_]+", lower)
    if not 1 <= len(words) <= 5 or lower in _SAID:
        return False
    return not set(words) & _NO_ENTITY


_SAID: Final = frozenset({"yes", "no", "true", "false", "none", "n/a", "done", "ok", "success"})
_NO_ENTITY: Final = frozenset(
    re.findall(
        r"\S+",
        "is are was were be been am do does did done have has had will would can could should may "
        "might must i you we they he she it me my your our sorry cannot unable unknown hello hi "
        "thanks thank please ok okay sure not",
    )
)
