"""The candidates of a choice as they were presented, and the way back from what was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from spanwitness.capture.judging import judged
from spanwitness.guard import guard
from spanwitness.semconv import spanwitness as own
from spanwitness.stats.counts import CountError
from spanwitness.stats.selection import Shuffle, shuffle_candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwitness.capture.judging import Judge
    from spanwitness.capture.spans import Attributes

__all__ = ["Presented", "Recorder", "present", "score"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_MAX_CANDIDATES: Final = 1000
"""With more of them nothing is recorded."""
_guard = guard("capture.selection")


class Recorder(Protocol):
    """The step that a choice is made in."""

    presented: Presented[object] | None

    def record(self, attributes: Attributes) -> None:
        """Set attributes of the step's span."""
        ...

    def digest(self, value: object) -> str | None:
        """Return the keyed digest of a value; `None` when it is too large."""
        ...


class Presented(Generic[T_co]):
    """Candidates in the order to present, made by `sw.shuffled` or `step.candidates`.

    Attributes:
        candidates: In the order to present.
        order: At each presented position, the position that the candidate had before.
        seed: Of the shuffle; `None` = the standard order.
    """

    __slots__ = ("_anchor", "_recorder", "candidates", "is_scored", "order", "seed")

    def __init__(
        self,
        candidates: Sequence[T_co],
        shuffle: Shuffle,
        *,
        anchor: int,
        seed: int | None,
        recorder: Recorder | None,
    ) -> None:
        self.order = shuffle.order
        self.candidates: tuple[T_co, ...] = tuple(candidates[at] for at in shuffle.order)
        self.seed = seed
        self.is_scored = False
        self._anchor = shuffle.order.index(anchor)
        self._recorder = recorder if len(candidates) <= _MAX_CANDIDATES else None

    def choose(self, position: int) -> T_co:
        """Record a choice and return the candidate; the last one recorded counts.

        Args:
            position: Position among `candidates`, from 0.

        Raises:
            IndexError: There is no such position.
        """
        if not 0 <= position < len(self.candidates):
            raise IndexError(f"position {position!r} is none of {len(self.candidates)} candidates")
        if self._recorder is not None:
            with _guard:
                self._recorder.record({own.CANDIDATE_CHOSEN: int(position)})
        return self.candidates[position]

    def original(self, position: int) -> int:
        """Return the position that a presented candidate had before the shuffle.

        Args:
            position: Position among `candidates`, from 0.

        Raises:
            IndexError: There is no such position.
        """
        if not 0 <= position < len(self.order):
            raise IndexError(f"position {position!r} is none of {len(self.order)} candidates")
        return self.order[position]

    def state(self) -> None:
        """Record what is presented: digests, order, anchor and seed."""
        recorder = self._recorder
        if recorder is None:
            return
        with _guard:
            digests = [recorder.digest(candidate) for candidate in self.candidates]
            attributes: Attributes = {
                own.CANDIDATES: [
                    digest or f"undigested:{at}"
                    for at, digest in zip(self.order, digests, strict=True)
                ],
                own.CANDIDATE_ORDER: list(self.order),
                own.CANDIDATE_ANCHOR: self._anchor,
            }
            if self.seed is not None:
                attributes[own.CANDIDATE_SEED] = self.seed
            recorder.record(attributes)

    def score(self, success: Judge) -> None:
        """Record the success of each candidate, and that of the anchor as success before.

        Args:
            success: Says whether a candidate is right. Where it cannot say so of one, only the
                anchor's success is recorded.
        """
        recorder = self._recorder
        if recorder is None or self.is_scored:
            return
        self.is_scored = True
        with _guard:
            bits = [judged(success, candidate) for candidate in self.candidates]
            known = [bit for bit in bits if bit is not None]
            attributes: Attributes = {}
            if len(known) == len(bits):
                attributes[own.CANDIDATE_SUCCESS] = known
            before = bits[self._anchor]
            if before is not None:
                attributes[own.SUCCESS_BEFORE] = before
            recorder.record(attributes)


def present(
    recorder: Recorder | None,
    candidates: Sequence[T],
    *,
    anchor: int,
    success: Callable[[T], bool | None] | None,
    item_id: str = "",
    seed: int | None = None,
) -> Presented[T]:
    """Present candidates in the standard order, or shuffled where a seed is given.

    Args:
        recorder: The step that records it; `None` = nobody does.
        candidates: At least one, in the standard order.
        anchor: Position of the anchor in that order.
        success: Says whether a candidate is right; `None` = the step's own rule.
        item_id: The item, of which the shuffle depends.
        seed: Of the shuffle.

    Raises:
        CountError: There is no candidate, or the anchor is none of them.
    """
    if not candidates:
        raise CountError("a selection has at least one candidate")
    if not 0 <= anchor < len(candidates):
        raise CountError(f"anchor {anchor!r} is none of {len(candidates)} candidates")
    shuffle = (
        Shuffle(order=tuple(range(len(candidates))))
        if seed is None
        else shuffle_candidates(len(candidates), item_id=item_id, seed=seed)
    )
    shown = Presented(candidates, shuffle, anchor=anchor, seed=seed, recorder=recorder)
    if recorder is not None:
        recorder.presented = shown
        shown.state()
        if success is not None:
            shown.score(success)
    return shown


def score(presented: Presented[object] | None, success: Judge | None) -> None:
    """Score the candidates of a step by its own rule, where nobody did so before.

    Args:
        presented: What the step presented.
        success: Its rule.
    """
    if presented is not None and success is not None:
        presented.score(success)
