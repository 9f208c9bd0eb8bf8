"""Matching of names against globs, and the nearest known word for a mistyped one."""

from __future__ import annotations

import difflib
import re
from fnmatch import translate
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


def is_glob(pattern: str) -> bool:
    """Say whether a pattern holds a wildcard (`*`, `?`, `[...]`)."""
    return any(mark in pattern for mark in "*?[")


@lru_cache(maxsize=4096)
def matches(patterns: tuple[str, ...], name: str) -> bool:
    """Say whether a name is one of the patterns, or matches one that is a glob. Case counts."""
    if name in patterns:
        return True
    return any(is_glob(p) and _compiled(p).match(name) is not None for p in patterns)


def overlap(left: tuple[str, ...], right: tuple[str, ...]) -> str | None:
    """Return a pattern of one side that the other side also covers, or `None`.

    Two globs are compared as texts only: whether some name would match both is not searched for.
    """
    for pattern in left:
        if pattern in right or (not is_glob(pattern) and matches(right, pattern)):
            return pattern
    for pattern in right:
        if not is_glob(pattern) and matches(left, pattern):
            return pattern
    return None


def suggestion(word: str, known: Iterable[str]) -> str:
    """Say which known word was probably meant, or list them all (a few)."""
    words = sorted(known)
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    if not words:
        return "none is declared"
    return "known: " + ", ".join(words[:16])
