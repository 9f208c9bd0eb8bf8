"""Where names and identifiers stand in a text: as they are, in other case, else word by word."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from spanwitness.grounding.folding import fold_word
from spanwitness.grounding.search import MAX_HITS, Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.grounding.evidence import EvidenceText
    from spanwitness.grounding.statements import FoundClaim

__all__ = ["WordSearch", "places"]

_MAX_READ: Final = 20_000
"""Places of a word in one text that are looked at."""
_NEAR: Final = 80
_REFERENCE = re.compile(
    r"(pages?|pp?\.|sections?|sect?\.|tables?|fig(?:ures?|\.)|chapters?|appendix|\u00a7)"
    r"\s*(\d+(?:\.\d+)*)(?:\s*-\s*\d+)?",
    re.IGNORECASE,
)
_KINDS: Final = {
    "p": ("page", r"p\."), "s": ("section", r"sec\.", "\u00a7"), "\u00a7": ("section", "\u00a7"),
    "t": ("table",), "f": ("figure", r"fig\."), "c": ("chapter",), "a": ("appendix",),
}  # fmt: skip
_WORDS = re.compile(r"[^\W_]+")
_RUNS = re.compile("[a-z0-9]+")


class WordSearch:
    """A name or an identifier, ready to be looked for in any text.

    Args:
        claim: The claim.
    """

    def __init__(self, claim: FoundClaim) -> None:
        self._needle = fold_word(claim.text).strip().lstrip("#").rstrip(".,;:")
        self._in_part = _part_pattern(claim) if claim.kind == "identifier" else None
        if self._in_part is not None:
            self._needle = self._needle.strip(".\u2026")
        self._lower = self._needle.lower()
        self._runs: frozenset[str] = frozenset()
        if self._lower.isascii() and self._in_part is None:
            self._runs = frozenset(_RUNS.findall(self._lower))
        self._reference: list[tuple[str, re.Pattern[str]]] = []
        self._digits: re.Pattern[str] | None = None
        self._words: list[str] = []
        if claim.kind == "identifier":
            reference = _REFERENCE.fullmatch(self._needle)
            if reference is not None:
                self._reference = _reference_patterns(reference[1], reference[2])
        if self._needle.isdigit():
            digits = self._needle
            self._digits = re.compile(rf"{digits}(?<![^\W_]{digits})(?![^\W_])")
        if claim.kind == "name":
            words = [w for w in _WORDS.findall(self._lower) if len(w) > 1]
            if 2 <= len(words) <= 6 and sum(map(len, words)) >= 5:
                self._words = words

    def may_stand_in(self, text: EvidenceText) -> bool:
        """Say whether a text has all its words: worth asking where many names are looked for."""
        return bool(self._reference) or self._runs <= text.runs

    def find(self, text: EvidenceText) -> list[Hit]:
        """Find the places of a text that hold it, at most `MAX_HITS`."""
        needle, lower = self._needle, self._lower
        if not needle:
            return []
        if self._reference:
            return self._find_reference(text)
        folded = text.folded.text
        if needle in folded:
            found = [Hit(text, at, at + len(needle), "exact") for at in places(folded, needle)]
            if found:
                return found
            if self._digits is not None:
                # The digits of `credit_card_4421486` name the card.
                found = [
                    Hit(text, *m.span(), "folded")
                    for m in islice(self._digits.finditer(folded), MAX_HITS)
                ]
                if found:
                    return found
        if self._in_part is not None:
            found = [Hit(text, at, at + len(lower), "folded") for at in places(text.lower, lower)]
            inside = islice(self._in_part.finditer(text.lower), MAX_HITS)
            return found or [Hit(text, *m.span(), "folded") for m in inside]
        if lower.isascii() and not lower.islower():
            return []  # it has no letters, and so no other case
        found = [Hit(text, at, at + len(lower), "folded") for at in places(text.lower, lower)]
        return found or self._scattered(text)

    def _find_reference(self, text: EvidenceText) -> list[Hit]:
        hits: list[Hit] = []
        body = text.lower
        for word, pattern in self._reference:
            for found in islice(pattern.finditer(body), MAX_HITS):
                before = body[found.start() - 1 : found.start()] if found.start() else ""
                if not before.isalpha() or word == r"p\.":
                    hits.append(Hit(text, *found.span(), "folded"))
        return hits[:MAX_HITS]

    def _scattered(self, text: EvidenceText) -> list[Hit]:
        """`Sophia Silva` in `{"first_name": "Sophia", "last_name": "Silva"}`."""
        words, body = self._words, text.lower
        if not words or not all([word in body for word in words]):  # noqa: C419
            return []
        rarest = max(words, key=len)
        for at in places(body, rarest):
            low, high = max(at - _NEAR, 0), at + len(rarest) + _NEAR
            window = body[low:high]
            if all(re.search(rf"(?<![^\W_]){re.escape(w)}(?![^\W_])", window) for w in words):
                return [Hit(text, at, at + len(rarest), "folded")]
        return []


def _part_pattern(claim: FoundClaim) -> re.Pattern[str] | None:
    """Return what else an identifier may stand as: cut short, or with other separators."""
    text = fold_word(claim.text).strip().lower()
    core = text.strip(".\u2026#")
    if len(core) < _LEAST_PART:
        return None
    if text.startswith(("\u2026", "..")):
        return re.compile(rf"{re.escape(core)}(?![^\W_])")
    if text.endswith(("\u2026", "...")):
        return re.compile(rf"{re.escape(core)}(?<![^\W_]{re.escape(core)})")
    if _HASH.fullmatch(core) and not core.isdigit() and not core.isalpha():
        return re.compile(rf"{core}(?<!\w{core})[0-9a-f]+")
    signs = "".join(c for c in core if c.isalnum())
    if len(signs) >= _LEAST_SIGNS and (signs.isdigit() or _GROUPS.fullmatch(core)):
        return _spaced_pattern(core, signs)
    return None


_LEAST_PART: Final = 4
_LEAST_SIGNS: Final = 7
_HASH = re.compile(r"[0-9a-f]{7,39}")
_GROUPS = re.compile(r"[a-z]{2}\d{2}(?: [\da-z]{1,4}){3,8}")


def _spaced_pattern(core: str, signs: str) -> re.Pattern[str] | None:
    """A number of a telephone, a book, an account, however it is grouped.

    With `+49` or without it, the zero of the area before it or not.
    """
    wanted = [signs[n:].lstrip("0") for n in ((0, 1, 2, 3) if core.startswith("+") else (0,))]
    wanted = [each for each in wanted if len(each) >= _LEAST_SIGNS]
    if not wanted:
        return None
    gap = r"[ ()/.-]{0,2}"
    return re.compile("|".join(gap.join(each) + r"(?!\d)" for each in wanted))


def _reference_patterns(kind: str, number: str) -> list[tuple[str, re.Pattern[str]]]:
    return [
        (
            word,
            re.compile(
                rf"{word}(?:s|_?(?:number|no|num|index))?[\W_]{{0,6}}{re.escape(number)}(?!\d|\.\d)"
            ),
        )
        for word in _KINDS[kind[0].lower()]
    ]


def places(text: str, needle: str) -> Iterator[int]:
    """Yield where a needle stands that is no part of a longer word."""
    at, n, tried = text.find(needle), 0, 0
    first, last = needle[0], needle[-1]
    while at >= 0 and n < MAX_HITS and tried < _MAX_READ:
        tried += 1
        before, after = (
            text[at - 1 : at] if at else "",
            text[at + len(needle) : at + len(needle) + 1],
        )
        if not (_joins(before) and _joins(first)) and not (_joins(last) and _joins(after)):
            n += 1
            yield at
        at = text.find(needle, at + 1)


def _joins(char: str) -> bool:
    return bool(char) and (char.isalnum() or char == "_") and ord(char) < 0x2E80
