"""Text as a sequence of normalised tokens: signed numbers and words."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Token", "is_number", "normal_number", "tokens_of"]

Token: TypeAlias = str
"""A casefolded word, or a number without superfluous zeros, such as `-2.5`."""

_TOKEN = re.compile(
    r"(?P<sign>(?<![\w.)\]%])[-+])?(?P<number>\d+(?:,\d{3})*(?:\.\d+)?(?:[eE][-+]?\d{1,3}(?!\w))?)"
    r"|[^\W\d]\w*"
)
_SYNONYMS = {"none": "null", "nan": "null", "nil": "null"}
_MINUS = str.maketrans({"−": "-", "–": "-", "\u2011": "-"})  # noqa: RUF001


def tokens_of(text: str) -> Iterator[Token]:
    """Yield the tokens of a text in order; punctuation and white space are dropped."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_MINUS)
    for found in _TOKEN.finditer(text):
        number = found["number"]
        if number is None:
            word = found[0].casefold()
            yield _SYNONYMS.get(word, word)
        else:
            yield normal_number(number, negative=found["sign"] == "-")


def normal_number(digits: str, *, negative: bool = False) -> Token:
    """Write a number in its one normal form: `1,234.50` is `1234.5`, `2.0` is `2`."""
    digits = digits.replace(",", "")
    if "e" in digits or "E" in digits:
        value = float(digits)
        if value == float("inf"):
            return digits.casefold()
        digits = format(value, "f") if 1e-15 < value < 1e21 or not value else repr(value)
    whole, dot, fraction = digits.partition(".")
    whole = whole.lstrip("0") or "0"
    fraction = fraction.rstrip("0") if dot else ""
    text = f"{whole}.{fraction}" if fraction else whole
    return f"-{text}" if negative and text != "0" else text


def is_number(token: Token) -> bool:
    """Say whether a token is a number."""
    return token[-1:].isdigit() and (token[0].isdigit() or token[0] == "-")
