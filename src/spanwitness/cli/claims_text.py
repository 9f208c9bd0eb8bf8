"""How the claims of an answer and their receipts look in a terminal: a line or two each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from spanwitness.cli.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from spanwitness.model import AssessedClaim, Place

__all__ = ["print_claims"]

_SHOWN: Final = 8
_ORDER: Final = {
    "absent": 0, "self_sourced": 1, "not_delivered": 2, "left_window": 3, "not_decidable": 4,
    "in_window": 5, "derivable": 6, "untraceable": 7,
}  # fmt: skip
_STYLE: Final = {
    "absent": "bold red", "self_sourced": "bold red", "not_delivered": "red",
    "left_window": "red", "in_window": "green", "derivable": "green",
}  # fmt: skip


def print_claims(console: Console, claims: Sequence[AssessedClaim]) -> None:
    """Print what an answer claims and what each claim rests on, the doubtful ones first.

    Everything comes from the trace: it is escaped and cut.
    """
    ranked = sorted(claims, key=lambda claim: _ORDER[claim.receipt.state])
    for claim in ranked[:_SHOWN]:
        console.print(_line(claim), soft_wrap=True)
    if len(claims) > _SHOWN:
        console.print(Text(f"    … {len(claims) - _SHOWN} more claims", style="dim"))


def _line(claim: AssessedClaim) -> Text:
    receipt = claim.receipt
    line = Text("    claim ", style="dim")
    told = claim.text or " ".join(str(v) for v in (claim.claim.value, claim.claim.unit) if v)
    if claim.claim.field is not None:
        line.append(f"{visible(claim.claim.field, limit=40)}: ")
    line.append(visible(told, limit=60), style="bold")
    line.append(f"  {receipt.state.replace('_', ' ')}", style=_STYLE.get(receipt.state, "dim"))
    if receipt.match is not None:
        line.append(f" ({receipt.match}{', weak' if receipt.is_weak else ''})", style="dim")
    if receipt.places:
        line.append(f"  {_place(receipt.places[0])}", style="dim")
    if receipt.derivation is not None:
        line.append(f"  {visible(receipt.derivation, limit=80)}", style="dim")
    if receipt.reason:
        line.append(f"  {visible(receipt.reason, limit=80)}", style="dim")
    if claim.fault is not None:
        kind = f"/{claim.fault_kind}" if claim.fault_kind is not None else ""
        line.append(f"  {claim.fault}{kind}", style="magenta")
    return line


def _place(place: Place) -> str:
    where = visible(place.tool, limit=40) if place.tool is not None else place.source
    shown = [f"in {where}"]
    if place.document is not None:
        shown.append(f"of {visible(place.document.identity, limit=40)}")
    if place.path is not None:
        shown.append(f"at {visible(place.path, limit=40)}")
    if place.excerpt:
        shown.append(f'"{visible(place.excerpt.strip(), limit=80)}"')
    return " ".join(shown)
