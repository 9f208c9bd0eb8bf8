"""Words that give a quotation for one from a source: `states`, `according to`, `page 3`."""

from __future__ import annotations

import re
from typing import Final

from spanwitness.normalize.values import QUOTATION

__all__ = ["ATTRIBUTES", "attributes"]

_NEAR: Final = 80
ATTRIBUTES: Final = re.compile(
    r"\b(?:states?|stated|reads?|writes?|wrote|quot\w+|cit(?:e[sd]?|ing|ation)|according to|"
    r"reports|specif(?:y|ies|ied)|mentions?|document|datasheet|article|passage|excerpt|abstract|"
    r"(?:it|text|page|manual|section|file|policy|log|source|report|paper) (?:says|said|notes)|"
    r"(?:p\.|pages?|section|sec\.|table|line|source:?) ?\(?\d)",
    re.IGNORECASE,
)


def attributes(text: str) -> bool:
    """Say whether words beside some quotation of a text give it for one from a source."""
    for quote in QUOTATION.finditer(text):
        start, end = quote.span()
        if ATTRIBUTES.search(text, max(start - _NEAR, 0), start):
            return True
        if ATTRIBUTES.search(text, end, end + _NEAR // 2):
            return True
    return False
