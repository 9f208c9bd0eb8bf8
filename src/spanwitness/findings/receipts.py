"""Claims and their receipts as JSON values: for reports, and for the root span of a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.model import AssessedClaim, Place

__all__ = ["MAX_ATTRIBUTE_CHARS", "claim_values", "receipts_attribute"]

MAX_ATTRIBUTE_CHARS: Final = 16_384
"""Length of the receipts on a root span, at most."""
_MAX_CLAIMS: Final = 100
_MAX_PLACES: Final = 3
_MAX_TEXT: Final = 300
_MAX_ATTRIBUTE_TEXT: Final = 120


def claim_values(
    claim: AssessedClaim,
    *,
    with_content: bool = True,
    max_places: int = _MAX_PLACES,
    max_chars: int = _MAX_TEXT,
) -> dict[str, object]:
    """Return one claim with its receipt as JSON values.

    Args:
        claim: The claim.
        with_content: Without it, values, texts, excerpts, derivations and the names of documents
            are left out; states, kinds, fields and ids stay.
        max_places: Places that are told, the best first.
        max_chars: Length of each text, at most.
    """
    receipt = claim.receipt
    told: dict[str, object] = {
        "state": receipt.state,
        "match": receipt.match,
        "weak": receipt.is_weak,
        "kind": claim.kind,
        "origin": claim.origin,
        "field": claim.claim.field,
        "fault": claim.fault,
        "fault_kind": claim.fault_kind,
        "attribution": claim.attribution,
        "reason": receipt.reason,
        "places": [
            _place(place, with_content=with_content, max_chars=max_chars)
            for place in receipt.places[:max_places]
        ],
    }
    if with_content:
        value = claim.claim.value
        told.update(
            value=value[:max_chars] if isinstance(value, str) else value,
            unit=claim.claim.unit,
            text=claim.text[:max_chars],
            derivation=_cut(receipt.derivation, max_chars),
            difference=_cut(receipt.difference, max_chars),
        )
    return told


def _place(place: Place, *, with_content: bool, max_chars: int) -> dict[str, object]:
    told: dict[str, object] = {
        "source": place.source,
        "span_id": place.span_id,
        "call_id": place.call_id,
        "tool": place.tool,
        "delivered": place.is_delivered,
    }
    if with_content:
        document = place.document
        told.update(
            path=_cut(place.path, max_chars),
            start=place.start,
            end=place.end,
            document=None
            if document is None
            else {"identity": document.identity[:max_chars], "told_by": document.told_by},
            excerpt=place.excerpt[:max_chars],
        )
    return told


def _cut(text: str | None, max_chars: int) -> str | None:
    return None if text is None else text[:max_chars]


def receipts_attribute(claims: Sequence[AssessedClaim], *, with_content: bool) -> str | None:
    """Return the receipts as the JSON text that stands on a root span; `None` without claims.

    It is bounded: one place a claim, short texts, and as many claims as fit; `n_claims` counts all.
    """
    if not claims:
        return None
    told: list[str] = []
    room = MAX_ATTRIBUTE_CHARS - len(f'{{"n_claims":{len(claims)},"claims":[]}}')
    for claim in claims[:_MAX_CLAIMS]:
        values = claim_values(
            claim, with_content=with_content, max_places=1, max_chars=_MAX_ATTRIBUTE_TEXT
        )
        known = {key: value for key, value in values.items() if value not in (None, "", [])}
        text = json.dumps(known, separators=(",", ":"), ensure_ascii=True, default=str)
        room -= len(text) + 1
        if room < 0:
            break
        told.append(text)
    return f'{{"n_claims":{len(claims)},"claims":[{",".join(told)}]}}'
