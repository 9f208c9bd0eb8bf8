"""Dates as other languages than English write them: `3 mai 2026`, `2026年7月14日`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["MONTH_NAMES", "ForeignDate", "foreign_dates", "may_hold_foreign_dates"]

_NAMES: Final = (
    "januar jänner janvier enero gennaio janeiro januari",
    "februar février fevrier febrero febbraio fevereiro februari",
    "märz maerz mars marzo março maart",
    "avril abril aprile",
    "mai mayo maggio maio mei",
    "juni juin junio giugno junho",
    "juli juillet julio luglio julho",
    "août aout agosto augustus",
    "septembre septiembre setiembre settembre setembro",
    "oktober octobre octubre ottobre outubro",
    "novembre noviembre novembro",
    "dezember décembre decembre diciembre dicembre dezembro",
)
"""German, French, Spanish, Italian, Portuguese, Dutch names that English does not share."""
MONTH_NAMES: Final = tuple("|".join(names.split()) for names in _NAMES)
"""By month: the alternatives of a pattern, in lower case."""
_MONTH_OF: Final = {name: n for n, names in enumerate(_NAMES, 1) for name in names.split()}
_ENGLISH_OF: Final = {
    "january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7,
    "august": 8, "september": 9, "october": 10, "november": 11, "december": 12,
}  # fmt: skip
_EAST = re.compile(
    r"(?:(?P<year>\d{4})\s?[\u5e74\ub144]\s?)?(?<!\d)(?P<month>1[0-2]|0?[1-9])\s?[\u6708\uc6d4]\s?"
    r"(?P<day>3[01]|[12]\d|0?[1-9])\s?[\u65e5\u53f7\uc77c]"
)
_WEST = re.compile(
    rf"(?<![\w.,-])(?P<day>3[01]|[12]\d|0?[1-9])(?:\.|er|[\u00ba\u00b0])?\s(?:de\s|d')?"
    rf"(?P<month>{'|'.join([*_MONTH_OF, *_ENGLISH_OF])})\b"
    r"(?:,?\s(?:de\s|del\s)?(?P<year>\d{4})(?!\d))?",
    re.IGNORECASE,
)
_MARKS: Final = "\u6708\uc6d4"


class ForeignDate(NamedTuple):
    """A date, and where it stands."""

    start: int
    end: int
    iso: str
    """`2026-07-14`; without a year `-07-14`."""


def may_hold_foreign_dates(lower: str) -> bool:
    """Say whether a text in lower case names a month so that it is worth to look for dates."""
    return any(mark in lower for mark in _MARKS) or any(name in lower for name in _MONTH_OF)


def foreign_dates(text: str) -> Iterator[ForeignDate]:
    """Yield the dates of a text that are written in another language than English."""
    for pattern in (_EAST, _WEST):
        for found in pattern.finditer(text):
            word = found["month"].lower()
            month = int(word) if word.isdigit() else _MONTH_OF.get(word) or _ENGLISH_OF[word]
            iso = f"{found['year'] or ''}-{month:02}-{int(found['day']):02}"
            yield ForeignDate(*found.span(), iso)
