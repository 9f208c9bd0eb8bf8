"""Rates whose units are items, which may have been tried more than once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spanwitness.stats.bootstrap import ratio_interval
from spanwitness.stats.counts import Rate, rate
from spanwitness.stats.intervals import beta_interval

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["rate_json", "rate_over_items"]


def rate_over_items(
    events: Iterable[tuple[str, bool]], *, level: float, n_resamples: int, seed: int
) -> Rate:
    """Return a rate with an interval over items, each drawn with all its tries.

    Where no item is tried twice the interval is Jeffreys'. Where every item tells the same there is
    no spread to resample: then it is Jeffreys' on counts divided by the tries an item.

    Args:
        events: (item, whether the event came) of each try at risk.
        level: Probability inside the interval.
        n_resamples: Resamples of items.
        seed: Seed of the resampling.
    """
    hits: dict[str, int] = {}
    tries: dict[str, int] = {}
    for item, is_event in events:
        tries[item] = tries.get(item, 0) + 1
        hits[item] = hits.get(item, 0) + is_event
    found = rate(sum(hits.values()), sum(tries.values()), level=level)
    if found.n == len(tries):
        return found
    interval = ratio_interval(
        list(hits.values()), list(tries.values()), level=level, n_resamples=n_resamples, seed=seed
    )
    if interval is None:
        repeats = found.n / len(tries)
        interval = beta_interval(found.k / repeats, found.n / repeats, level=level)
    return replace(found, interval=interval)


def rate_json(found: Rate) -> dict[str, object]:
    """Return a rate as it stands in the fixed JSON forms.

    Args:
        found: The rate.
    """
    interval = found.interval
    made: dict[str, object] = {
        "raw": found.raw,
        "jeffreys": found.jeffreys,
        "ci_low": None if interval is None else interval.low,
        "ci_high": None if interval is None else interval.high,
        "n": found.n,
        "interval": None if interval is None else interval.method,
    }
    if found.reason is not None:
        made["reason"] = found.reason
    return made
