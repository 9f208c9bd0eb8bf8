"""The rules: what each claims, how often it fires, and what people made of its flags."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

import msgspec
from starlette.concurrency import run_in_threadpool

from spanwitness.errors import UnknownItemError
from spanwitness.review.store.values import ItemFilter, RuleStats
from spanwitness.rules.builtin import CLAUSE_RULES, RULES
from spanwitness.rules.describe import describe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from spanwitness.review.store.values import RuleDay
    from spanwitness.review.web.site import Site
    from spanwitness.rules.rule import ClauseRule, Rule

__all__ = ["RateChart", "RulePages", "rate_chart"]

_KNOWN: Final[Mapping[str, Rule | ClauseRule]] = {
    **{rule.id: rule for rule in RULES},
    **CLAUSE_RULES,
}
_MAX_DAYS: Final = 60
_LEFT, _BASE, _HEIGHT, _WIDTH = 44, 118, 96, 720


class Bar(msgspec.Struct, frozen=True):
    """One day."""

    day: str
    n_runs: int
    n_with: int
    x: float
    y: float
    height: float


class RateChart(msgspec.Struct, frozen=True):
    """The share of runs with a finding of a rule, by day."""

    bars: tuple[Bar, ...]
    width: int
    step: float
    top: float
    """The share at the top of the picture."""
    top_day: str
    n_runs: int
    n_with: int


def rate_chart(days: Sequence[RuleDay]) -> RateChart:
    """Lay out the latest days; days without a judged run stay empty."""
    known = {each.day: each for each in days}
    shown = _run_of_days(days)
    step = (_WIDTH - _LEFT - 4) / max(len(shown), 14)
    rates = {d: known[d].n_runs_with / known[d].n_runs for d in shown if d in known}
    top = max(rates.values(), default=0.0) or 1.0
    bars = []
    for place, day in enumerate(shown):
        rate = rates.get(day, 0.0)
        # A day on which it fired is seen, however small the share.
        height = max(2.0, rate / top * _HEIGHT) if rate else 0.0
        found = known.get(day)
        bars.append(
            Bar(
                day=day,
                n_runs=found.n_runs if found else 0,
                n_with=found.n_runs_with if found else 0,
                x=round(_LEFT + place * step, 1),
                y=round(_BASE - height, 1),
                height=round(height, 1),
            )
        )
    return RateChart(
        bars=tuple(bars),
        width=_WIDTH,
        step=round(step, 1),
        top=top,
        top_day=max(rates, key=lambda d: rates[d], default=""),
        n_runs=sum(b.n_runs for b in bars),
        n_with=sum(b.n_with for b in bars),
    )


def _run_of_days(days: Sequence[RuleDay]) -> list[str]:
    """Return every day from the first to the last, at most the latest sixty."""
    if not days:
        return []
    last = date.fromisoformat(days[-1].day)
    first = max(date.fromisoformat(days[0].day), last - timedelta(days=_MAX_DAYS - 1))
    return [(first + timedelta(days=n)).isoformat() for n in range((last - first).days + 1)]


class RuleLine(msgspec.Struct, frozen=True):
    """A rule in the list."""

    id: str
    severity: str
    fault: str
    n_open: int
    stats: RuleStats | None


class RulePages:
    """The list of rules, and a page for each."""

    def __init__(self, site: Site) -> None:
        self._site = site

    async def list(self, request: Request) -> Response:
        """Answer `GET /rules`."""
        return await run_in_threadpool(self._list, request)

    def _list(self, request: Request) -> Response:
        queue = self._site.queue
        newest: dict[str, RuleStats] = {}
        for stats in queue.rule_stats():
            if stats.rule not in newest or stats.version > newest[stats.rule].version:
                newest[stats.rule] = stats
        n_open = {rule_id: self._n_open(rule_id) for rule_id in _KNOWN}
        lines = [
            RuleLine(rule.id, rule.severity, rule.fault, n_open[rule.id], newest.get(rule.id))
            for rule in _KNOWN.values()
        ]
        lines.sort(key=lambda r: (-r.n_open, r.stats is None, r.id))
        return self._site.page(request, "rules.html", nav="Rules", rules=lines)

    def _n_open(self, rule_id: str) -> int:
        counts = self._site.queue.counts(ItemFilter(rules=(rule_id,), states=("open", "claimed")))
        return counts.open + counts.claimed

    async def show(self, request: Request) -> Response:
        """Answer `GET /rules/{rule}`."""
        return await run_in_threadpool(self._show, request)

    def _show(self, request: Request) -> Response:
        queue, rule_id = self._site.queue, request.path_params["rule"]
        rule = _KNOWN.get(rule_id)
        examples = queue.items(ItemFilter(rules=(rule_id,)), order="newest", limit=8).rows
        if rule is None and not examples:
            raise UnknownItemError(f"no rule has the name {rule_id[:80]!r}")
        return self._site.page(
            request,
            "rule.html",
            nav="Rules",
            rule_id=rule_id,
            rule=rule,
            text=describe(rule) if rule is not None else None,
            chart=rate_chart(queue.rule_history(rule_id)),
            stats=[s for s in queue.rule_stats() if s.rule == rule_id],
            examples=examples,
        )
