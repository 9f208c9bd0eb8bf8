"""Values that lie inside a range which a text states: `2.5 V` in `1.7 V to 3.6 V`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spanwitness.grounding.numbers import number_at
from spanwitness.grounding.search import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.grounding.evidence import EvidenceText
    from spanwitness.grounding.statements import FoundClaim

__all__ = ["find_in_ranges"]

_MOST_CHARS: Final = 262_144
_MAX_RANGES: Final = 400
_RANGE = re.compile(
    r"\d[\d.,]{0,15}+(?:\s?[^\W\d_%\u00b0]{1,5}|\s?[%\u00b0]C?)?\s?(?:-|to|\.{2,3}|\u2026|~)\s?[-+]?"
    r"(?P<second>\d)"
)


def find_in_ranges(claim: FoundClaim, text: EvidenceText) -> list[Hit]:
    """Find the ranges of a text in which a claimed quantity lies; only quantities are looked for.

    Texts of more than 262,144 characters are not looked through: in those some range holds any
    value.
    """
    amounts = [a for n in claim.numbers for a in n.amounts if a.dimension is not None]
    if not amounts or len(text.folded.text) > _MOST_CHARS:
        return []
    hits: list[Hit] = []
    for start, end, low, high, dimension in _ranges(text):
        if any(a.dimension == dimension and low <= a.value <= high for a in amounts):
            hits.append(Hit(text, start, end, "range"))
    return hits[:2]


def _ranges(text: EvidenceText) -> Iterator[tuple[int, int, float, float, str]]:
    folded = text.folded.text
    for n, found in enumerate(_RANGE.finditer(folded)):
        if n >= _MAX_RANGES:
            return
        first = number_at(folded, found.start())
        second = number_at(folded, found.start("second"))
        if not first or not second:
            continue
        for high in second[0].amounts:
            for low in first[0].amounts:
                is_one = high.dimension is not None and low.dimension == high.dimension
                if is_one and low.value <= high.value and high.dimension:
                    yield (
                            first[0].start, second[0].end, low.value, high.value, high.dimension
                        )  # fmt: skip
