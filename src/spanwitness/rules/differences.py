"""Amounts that are the sum or the difference of two values of one kind that tools returned.

An agent that tells what an exchange costs subtracts two prices it was shown, often turns before.
With many prices some pair fits many amounts, so this is no support: it only tells that an amount
may have been calculated, which is enough not to call it invented.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.rules.decoded import decoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.rules.facts import Facts

__all__ = ["Amounts"]

_CENTS: Final = 100
_MAX_VALUES: Final = 20_000


class Amounts:
    """The numbers under each key of the JSON results of a run, and of its history."""

    def __init__(self, facts: Facts) -> None:
        self._by_key: dict[str, set[int]] = {}
        n = 0
        for value in _results(facts):
            for key, number in _numbers(value):
                self._by_key.setdefault(key, set()).add(round(number * _CENTS))
                n += 1
                if n >= _MAX_VALUES:
                    return

    def may_give(self, amount: float) -> bool:
        """Say whether two values of one key add up to an amount, or differ by it."""
        wanted = round(abs(amount) * _CENTS)
        return any(
            value + wanted in values or wanted - value in values
            for values in self._by_key.values()
            for value in values
        )


def _results(facts: Facts) -> Iterator[object]:
    for execution in facts.executions:
        if execution.has_result:
            yield decoded(execution.result)


def _numbers(value: object) -> Iterator[tuple[str, float]]:
    pending: list[tuple[str, object]] = [("", value)]
    while pending:
        key, item = pending.pop()
        if isinstance(item, dict):
            pending.extend((str(k), v) for k, v in item.items())
        elif isinstance(item, list):
            pending.extend((key, v) for v in item)
        elif isinstance(item, (int, float)) and not isinstance(item, bool) and abs(item) < 1e12:
            yield key, float(item)
