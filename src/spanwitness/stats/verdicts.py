"""Steps that give a verdict and change nothing: a classification table, never corrections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwitness.stats.counts import CountError, Rate, rate

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["VerdictCounts"]


@dataclass(frozen=True, kw_only=True, slots=True)
class VerdictCounts:
    """What a verdict step accepted and rejected, by what was right. Positive means accepted.

    Raises:
        CountError: A count is negative or not whole.
    """

    n_right_accepted: int
    n_right_rejected: int
    n_wrong_accepted: int
    n_wrong_rejected: int

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise CountError(f"{name} is a count, so a whole number from 0, not {value!r}")

    @classmethod
    def from_bits(cls, pairs: Iterable[tuple[bool, bool]]) -> VerdictCounts:
        """Count pairs of (is right, is accepted).

        Args:
            pairs: One pair an item.
        """
        cells = [0, 0, 0, 0]
        for is_right, is_accepted in pairs:
            cells[2 * bool(is_right) + bool(is_accepted)] += 1
        return cls(
            n_wrong_rejected=cells[0],
            n_wrong_accepted=cells[1],
            n_right_rejected=cells[2],
            n_right_accepted=cells[3],
        )

    def __add__(self, other: VerdictCounts) -> VerdictCounts:
        """Return both together; the caller answers for pooling them."""
        return VerdictCounts(
            n_right_accepted=self.n_right_accepted + other.n_right_accepted,
            n_right_rejected=self.n_right_rejected + other.n_right_rejected,
            n_wrong_accepted=self.n_wrong_accepted + other.n_wrong_accepted,
            n_wrong_rejected=self.n_wrong_rejected + other.n_wrong_rejected,
        )

    @property
    def n_items(self) -> int:
        """All items."""
        return sum(int(getattr(self, name)) for name in self.__slots__)

    @property
    def acceptance_rate_raw(self) -> float | None:
        """Accepted among all items, without an interval; `None` without items."""
        return _share(self.n_right_accepted + self.n_wrong_accepted, self.n_items)

    @property
    def false_positive_rate_raw(self) -> float | None:
        """Accepted among the wrong ones, without an interval; `None`: not at risk."""
        return _share(self.n_wrong_accepted, self.n_wrong_accepted + self.n_wrong_rejected)

    @property
    def false_negative_rate_raw(self) -> float | None:
        """Rejected among the right ones, without an interval; `None`: not at risk."""
        return _share(self.n_right_rejected, self.n_right_rejected + self.n_right_accepted)

    def acceptance_rate(self, *, level: float = 0.95) -> Rate:
        """Return accepted among all items.

        Args:
            level: Probability inside the interval.
        """
        return rate(self.n_right_accepted + self.n_wrong_accepted, self.n_items, level=level)

    def false_positive_rate(self, *, level: float = 0.95) -> Rate:
        """Return accepted among the wrong ones; not at risk where nothing was wrong.

        Args:
            level: Probability inside the interval.
        """
        n = self.n_wrong_accepted + self.n_wrong_rejected
        return rate(self.n_wrong_accepted, n, level=level)

    def false_negative_rate(self, *, level: float = 0.95) -> Rate:
        """Return rejected among the right ones; not at risk where nothing was right.

        Args:
            level: Probability inside the interval.
        """
        n = self.n_right_accepted + self.n_right_rejected
        return rate(self.n_right_rejected, n, level=level)


def _share(k: int, n: int) -> float | None:
    return k / n if n else None
