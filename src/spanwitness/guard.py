"""The one broad `except`: faults of ours are contained, counted and told once per site.

A traced program must behave as if we were not there, and a trace that we failed to watch must never
read as clean. So every block that runs on the caller's path stands inside `guard(site)`; what it
raises is counted, the count travels with the run (`spanwitness.internal_errors`), and the first
fault of each site is logged: its type and its place, never its text.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["faults", "guard", "set_strict"]

_log = logging.getLogger("spanwitness")
_counts: Counter[str] = Counter()
_lock = threading.Lock()
_strict = False


def set_strict(strict: bool, /) -> None:  # noqa: FBT001
    """Make guards re-raise (for tests of spanwitness itself); `False` is the normal state."""
    global _strict  # noqa: PLW0603
    _strict = strict


def faults() -> dict[str, int]:
    """Return how many faults of ours were contained so far in this process, by site."""
    with _lock:
        return dict(_counts)


class guard:  # noqa: N801
    """Contain faults of ours in a block: `with guard("capture.transport.send"): ...`.

    Catches `Exception` only, so cancellation and `KeyboardInterrupt` pass. Set the honest fallback
    before the block and return after it. A small class instead of a generator: it costs a fifth.

    Args:
        site: A constant dotted name of the place.
    """

    __slots__ = ("_site",)

    def __init__(self, site: str) -> None:
        self._site = site

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        """Swallow and count an `Exception`; let all else pass."""
        if error is None or not isinstance(error, Exception):
            return False
        record(self._site, error)
        return not _strict


def record(site: str, error: Exception) -> None:
    """Count a fault of ours that was caught elsewhere, and log the first of its site.

    The message and traceback of the fault may quote the caller's data, so only the exception's type
    and the place in our own code are logged.
    """
    with _lock:
        _counts[site] += 1
        first = _counts[site] == 1
    if first:
        place = "unknown"
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            place = f"{code.co_filename.rpartition('spanwitness')[2]}:{trace.tb_lineno}"
            trace = trace.tb_next
        _log.warning(
            "spanwitness.internal_error site=%s error=%s place=%s (further ones are only counted)",
            site,
            type(error).__name__,
            place,
        )
