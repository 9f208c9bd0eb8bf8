"""The ledger's last column: whether the answer rests on what a call returned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from spanwitness.model import AssessedClaim, LedgerRow

__all__ = ["with_citations"]

_PLACED: Final = frozenset(
    {"in_window", "not_delivered", "left_window", "absent", "self_sourced", "untraceable"}
)
"""States whose support is fully known: where it stands, or that it stands nowhere."""


def with_citations(
    rows: tuple[LedgerRow, ...], claims: tuple[AssessedClaim, ...]
) -> tuple[LedgerRow, ...]:
    """Fill `cited` from the receipts of the answer.

    `yes`: a claim has a place in the result of this call. `no`: every claim is decided, and none
    has one. `unknown`: nothing is claimed, or some claim cannot be decided or was calculated.
    """
    cited = {
        place.call_id
        for claim in claims
        if claim.receipt.state in ("in_window", "derivable", "left_window")
        for place in claim.receipt.places
        if place.source == "result" and place.call_id is not None
    }
    telling = [claim for claim in claims if claim.receipt.state != "untraceable"]
    is_decided = bool(telling) and all(claim.receipt.state in _PLACED for claim in claims)
    if not cited and not is_decided:
        return rows
    return tuple(_filled(row, cited, is_decided=is_decided) for row in rows)


def _filled(row: LedgerRow, cited: set[str], *, is_decided: bool) -> LedgerRow:
    if row.call_id is None:
        return row
    if row.call_id in cited:
        return msgspec.structs.replace(row, cited="yes")
    return msgspec.structs.replace(row, cited="no") if is_decided else row
