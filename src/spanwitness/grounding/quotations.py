"""Where a quotation stands: word for word, or with small edits, and then where it differs."""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.grounding.folding import fold_word
from spanwitness.grounding.search import Hit
from spanwitness.normalize.given import folded

if TYPE_CHECKING:
    from spanwitness.grounding.evidence import EvidenceText

__all__ = ["Quoted", "find_quotation"]

_FEW_PLACES: Final = 24
_FEW_WORDS: Final = 3
_APART: Final = 40
_AROUND: Final = 1.2
_LEAST_SCORE: Final = 84.0
_MAX_CHARS: Final = 4000
_WORD = re.compile(r"[^\W_]+")
_KEPT = re.compile(r"[\w.%+\-]+")
_SHOWN: Final = 3


class Quoted(NamedTuple):
    """A place that a quotation is taken from."""

    hit: Hit
    difference: str | None = None
    """Where it differs, in words of both; `None` = it does not."""
    score: float = 100.0
    """How much of it is the same, in percent."""


def find_quotation(quote: str, text: EvidenceText) -> Quoted | None:
    """Find the best place for a quotation in a text; `None` = nothing similar stands there."""
    wanted = fold_word(quote)[:_MAX_CHARS].strip()
    if not wanted:
        return None
    at = text.folded.text.find(wanted)
    if at >= 0:
        return Quoted(Hit(text, at, at + len(wanted), "exact"))
    if not _WORD.search(wanted):
        return None
    folded_quote = folded(wanted)
    pieces = [p for p in re.split(r"\s*(?:\.\.\.|\u2026|\[\.\.\.\])\s*", wanted) if len(p) > 8]
    if len(pieces) > 1:
        return _elided(pieces, text)
    best: Quoted | None = None
    reach = int(len(wanted) * _AROUND) + 40
    for place in _anchors(wanted.lower(), text.lower):
        low, high = max(place - reach, 0), place + reach
        found = _near(folded_quote, text, low, high)
        if found is not None and (best is None or found.score > best.score):
            best = found
            if best.score >= 100:
                break
    return best


def _elided(pieces: list[str], text: EvidenceText) -> Quoted | None:
    """A quotation with a gap stands where each of its pieces stands, in order."""
    first: Quoted | None = None
    end = 0
    for piece in pieces:
        found = find_quotation(piece, text)
        if found is None or found.hit.start < end:
            return None
        end = found.hit.start
        first = first or found
    return first


def _anchors(wanted: str, body: str) -> list[int]:
    """Return places to look around: where rare words of the quotation stand.

    Two words that stand together are rarer than one; of the others those count that are rarest.
    """
    words = _WORD.findall(wanted)
    pairs = sorted(set(pairwise(words)), key=lambda two: len(two[0]) + len(two[1]), reverse=True)
    found: list[int] = []
    for one, two in pairs[:_FEW_WORDS]:
        if one not in body or two not in body:
            continue
        pattern = re.compile(rf"{re.escape(one)}[\W_]{{1,8}}{re.escape(two)}")
        found += [m.start() for m in islice(pattern.finditer(body), _FEW_PLACES)]
    if len(found) < _FEW_WORDS:
        longest = sorted(set(words), key=len, reverse=True)[:_FEW_WORDS]
        for word in longest:
            at = body.find(word)
            for _ in range(_FEW_PLACES):
                if at < 0:
                    break
                found.append(at)
                at = body.find(word, at + len(word))
    places = sorted(set(found))
    apart = [
        at for at, before in zip(places, [-_APART, *places], strict=False) if at - before >= _APART
    ]
    return apart[: 3 * _FEW_PLACES]


def _near(quote: str, text: EvidenceText, low: int, high: int) -> Quoted | None:
    window = text.folded.text[low:high]
    tokens = [(m.start(), m.group().casefold().strip(".-")) for m in _KEPT.finditer(window)]
    tokens = [(at, word) for at, word in tokens if word]
    joined = " ".join(word for _, word in tokens)
    at = f" {joined} ".find(f" {quote} ")
    if at >= 0:
        n_before = joined[:at].count(" ") if at else 0
        n_words = quote.count(" ") + 1
        start, end = _span(tokens, n_before, n_words)
        return Quoted(Hit(text, low + start, low + end, "folded"))
    from rapidfuzz import fuzz

    found = fuzz.partial_ratio_alignment(quote, joined, score_cutoff=_LEAST_SCORE)
    if found is None or not quote or found.dest_end - found.dest_start < len(quote) * 0.6:
        return None
    n_before = joined[: found.dest_start].count(" ")
    n_words = joined[found.dest_start : found.dest_end].strip().count(" ") + 1
    start, end = _span(tokens, n_before, n_words)
    seen = [word for _, word in tokens[n_before : n_before + n_words]]
    return Quoted(
        Hit(text, low + start, low + end, "similar"), _difference(quote.split(), seen), found.score
    )


def _span(tokens: list[tuple[int, str]], n_before: int, n_words: int) -> tuple[int, int]:
    n_before = min(n_before, len(tokens) - 1)
    last = min(n_before + n_words - 1, len(tokens) - 1)
    return tokens[n_before][0], tokens[last][0] + len(tokens[last][1])


def _difference(quoted: list[str], seen: list[str]) -> str:
    """Say where two runs of words differ: `3.3 v` instead of `3.6 v`."""
    from rapidfuzz.distance import Levenshtein

    told: list[str] = []
    for step in Levenshtein.opcodes(quoted, seen):
        if step.tag == "equal":
            continue
        mine = " ".join(quoted[step.src_start : step.src_end])
        theirs = " ".join(seen[step.dest_start : step.dest_end])
        if step.tag == "insert":
            if 0 < step.src_start < len(quoted):
                told.append(f"without {theirs!r}")
        elif step.tag == "delete":
            told.append(f"with {mine!r} added")
        else:
            told.append(f"{mine!r} for {theirs!r}")
    more = f", and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return ", ".join(told[:_SHOWN]) + more
