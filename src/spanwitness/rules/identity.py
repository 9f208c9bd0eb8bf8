"""Whether a text names the subject of a run, or another thing of its kind."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from spanwitness.rules.wording import as_text

__all__ = ["guess_subject", "names_another", "names_subject"]

_WORDS = re.compile(r"[^\W_]+")
_CODE = re.compile(r"(?<![^\W_])(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{4,40}(?![^\W_])")
"""A word of letters and digits, such as a part number."""
_GENERIC: Final = frozenset(
    {
        "and", "chapter", "com", "csv", "data", "datasheet", "doc", "docs", "document", "draft",
        "file", "files", "final", "for", "from", "home", "html", "http", "https", "index", "json",
        "manual", "md", "net", "of", "org", "page", "pages", "pdf", "report", "result", "results",
        "rev", "section", "sheet", "spec", "specification", "table", "text", "the", "tmp", "txt",
        "version", "with", "www",
    }
)  # fmt: skip
_NO_CODE = re.compile(
    r"(?:p|pp|page|sec|section|ch|chapter|fig|figure|table|tab|rev|ver|v|row|line|step|part|item|q|"
    r"doc|file|call|id|no|vol|appendix)[_-]?\d+(?:[_-]\d+)*|\d+(?:st|nd|rd|th|[a-z]{1,3})|"
    r"(?:19|20)\d\d[_-]?\w*|[0-9a-f]{8,}|h[1-6]|utf-?8|sha\d+|md5|base64|mp3|mp4|x86|x64",
    re.IGNORECASE,
)
"""What looks like a code and names no thing: places, ordinals, units, dates, digests."""


def names_subject(value: object, subject: str) -> bool:
    """Say whether a text, or a value as JSON, names the subject.

    All telling words of the subject have to stand in it, whole: `DPS310` is not named by `DPS3101`,
    and is by `Infineon_DPS310-v01.pdf`.
    """
    words = _telling(subject)
    if not words:
        return True  # a subject without a telling word is named by everything
    text = as_text(value).casefold()
    return all(_stands_in(word, text) for word in words)


def names_another(value: object, subject: str) -> bool:
    """Say whether a text names a thing of the subject's kind, and not the subject.

    For a subject that is a code (letters and digits), another code; else other telling words, with
    none of the subject's.
    """
    text = as_text(value)
    if names_subject(text, subject):
        return False
    if _codes(subject):
        return bool(_codes(text))
    folded = text.casefold()
    if any(_stands_in(word, folded) for word in _telling(subject)):
        return False
    return bool(_telling(text))


def guess_subject(question: str) -> str | None:
    """Return the one code that a question names; `None` where it names none, or several."""
    codes = {code.casefold(): code for code in _codes(question)}
    return next(iter(codes.values())) if len(codes) == 1 else None


def _codes(text: str) -> list[str]:
    return [code for code in _CODE.findall(text) if not _NO_CODE.fullmatch(code)]


@lru_cache(maxsize=256)
def _telling(text: str) -> tuple[str, ...]:
    words = [word.casefold() for word in _WORDS.findall(text)]
    return tuple(dict.fromkeys(w for w in words if w not in _GENERIC and len(w) > 1))


def _stands_in(word: str, text: str) -> bool:
    """Say whether a word stands in a text as a whole word; quick on long texts."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not text[at - 1 : at].isalnum() and not text[end : end + 1].isalnum():
            return True
        at = text.find(word, at + 1)
    return False
