"""What a written number may say, and whether two of them say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from spanwitness.model import MatchWord

__all__ = ["Amount", "Written", "compare"]


class Amount(NamedTuple):
    """One way to read a number: what it says, and what it is in the base of its dimension."""

    said: float
    """The number with its scale word or exponent, without its unit."""
    value: float
    """In the base of the dimension; equal to `said` without one."""
    step: float
    """Half of its last digit, in the base of the dimension."""
    said_step: float
    dimension: str | None = None


class Written(NamedTuple):
    """A number as it stands in a text."""

    start: int
    end: int
    digits: str
    """Without grouping; the sign stands before it."""
    amounts: tuple[Amount, ...]
    unit: str = ""
    """The word that stands as its unit or scale, as written."""

    @property
    def n_digits(self) -> int:
        """Digits that count: without leading zeros and the zeros of a round number."""
        digits = self.digits.lstrip("-").replace(".", "").lstrip("0")
        return len(digits if "." in self.digits else digits.rstrip("0")) or 1


_CLOSE: Final = 2e-9


def compare(
    claimed: Written, seen: Written, *, is_hedged: bool = False, is_unsigned: bool = False
) -> MatchWord | None:
    """Say how a number of a text meets a claimed one; `None` = it does not.

    A claim may be rounded, to the last digit that it shows; it may not be more exact than the text.

    Args:
        claimed: The number of the claim.
        seen: The number of the text.
        is_hedged: The claim is a round figure (`about 300`): its final zeros say nothing.
        is_unsigned: The sign of the claim stands in its words (`fell by 3 %`).
    """
    if is_unsigned:
        claimed, seen = _unsigned(claimed), _unsigned(seen)
    if is_hedged:
        claimed = _rounder(claimed)
    best: MatchWord | None = None
    for claim in claimed.amounts:
        for amount in seen.amounts:
            word = _compare(claim, amount, claimed, seen)
            if word is not None and (best is None or _ORDER[word] < _ORDER[best]):
                best = word
    return best


def _unsigned(written: Written) -> Written:
    amounts = tuple(a._replace(said=abs(a.said), value=abs(a.value)) for a in written.amounts)
    return written._replace(digits=written.digits.lstrip("-"), amounts=amounts)


def _rounder(written: Written) -> Written:
    zeros = len(written.digits) - len(written.digits.rstrip("0"))
    if "." in written.digits or not zeros:
        return written
    factor = 10.0**zeros
    amounts = tuple(
        a._replace(step=a.step * factor, said_step=a.said_step * factor) for a in written.amounts
    )
    return written._replace(amounts=amounts)


_ORDER: Final[dict[str, int]] = {"exact": 0, "folded": 1, "scaled": 2, "unit": 3, "rounded": 4}


def _compare(claim: Amount, amount: Amount, claimed: Written, seen: Written) -> MatchWord | None:
    both = claim.dimension is not None and amount.dimension is not None
    if both and claim.dimension != amount.dimension:
        return None
    if both or (claim.dimension is None and amount.dimension is None):
        one, other, step = claim.value, amount.value, claim.step
    else:
        one, other, step = claim.said, amount.said, claim.said_step
        if "share" in (claim.dimension, amount.dimension) and not _is_near(one, other):
            one, other, step = claim.value, amount.value, claim.step
    if _is_near(one, other):
        if claimed.digits == seen.digits and claimed.unit == seen.unit:
            return "exact"
        if _same_digits(claimed.digits, seen.digits):
            return "folded" if claim.said == amount.said else "scaled"
        return "scaled" if _is_power_of_ten(claim.said, amount.said) else "unit"
    if _may_round(claimed) and abs(one - other) <= step * (1 + 1e-9) and step:
        return "rounded"
    return None


def _may_round(claimed: Written) -> bool:
    digits = claimed.digits.lstrip("-")
    return ("." in digits and len(digits.replace(".", "").lstrip("0")) >= 2) or len(digits) >= 2


def _is_near(one: float, other: float) -> bool:
    return abs(one - other) <= _CLOSE * max(abs(one), abs(other))


def _same_digits(one: str, other: str) -> bool:
    return _bare(one) == _bare(other)


def _bare(digits: str) -> str:
    digits = digits.lstrip("-")
    return (digits.rstrip("0").rstrip(".") if "." in digits else digits).lstrip("0")


def _is_power_of_ten(one: float, other: float) -> bool:
    if not one or not other:
        return one == other
    ratio = abs(one / other)
    while ratio >= 9.999999:
        ratio /= 10
    while ratio < 0.9999999:
        ratio *= 10
    return abs(ratio - 1) < 1e-6
