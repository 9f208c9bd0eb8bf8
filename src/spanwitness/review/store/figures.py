"""What verdicts teach: the precision of each rule, the runs of each agent, agreement, misses."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import sqlalchemy as sa

from spanwitness.errors import ReviewError
from spanwitness.review.store.tables import audit_verdicts, audits, findings, runs, verdicts
from spanwitness.review.store.values import AgentStats, MissRate, RuleDay, RuleStats
from spanwitness.stats.agreement import Agreement, agreement
from spanwitness.stats.bootstrap import ratio_interval
from spanwitness.stats.intervals import clopper_pearson, wilson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy.engine import Connection

__all__ = [
    "Method",
    "agent_stats",
    "agreement_of_reviewers",
    "miss_rate",
    "rule_history",
    "rule_stats",
]

Method: TypeAlias = Literal["wilson", "exact"]

_METHODS: Final = {"wilson": wilson, "exact": clopper_pearson}


def rule_stats(connection: Connection, *, method: Method, level: float) -> tuple[RuleStats, ...]:
    """Return the precision of each rule and version, from the verdicts that stand.

    precision = confirmed / (confirmed + false_positive), with a Wilson or an exact
    (Clopper-Pearson) interval. The unit is one judged trace of an item; a bulk verdict is one unit
    a rule version. Units are taken to be independent, and they are no random sample of what the
    rule flags: reviewers take the worst first.

    Raises:
        ReviewError: The method is not known.
        MissingExtraError: SciPy is not installed.
    """
    if method not in _METHODS:
        raise ReviewError(f"interval {method!r}: it is one of {', '.join(_METHODS)}")
    counts: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    units = sa.func.count(sa.distinct(verdicts.c.unit))
    group = verdicts.c.rule, verdicts.c.rule_version, verdicts.c.verdict
    for row in connection.execute(
        sa.select(*group, units.label("n")).where(verdicts.c.is_current).group_by(*group)
    ):
        counts[row.rule, row.rule_version][row.verdict] = row.n
    return tuple(
        _rule_stats(rule, version, counts[rule, version], method=method, level=level)
        for rule, version in sorted(counts)
    )


def _rule_stats(
    rule: str, version: int, counts: Mapping[str, int], *, method: Method, level: float
) -> RuleStats:
    confirmed, refuted = counts["confirmed"], counts["false_positive"]
    n = confirmed + refuted
    interval = _METHODS[method](confirmed, n, level=level) if n else None
    return RuleStats(
        rule=rule,
        version=version,
        confirmed=confirmed,
        false_positive=refuted,
        expected=counts["expected"],
        cannot_tell=counts["cannot_tell"],
        duplicate=counts["duplicate"],
        n=n,
        precision=confirmed / n if n else None,
        ci_low=None if interval is None else interval.low,
        ci_high=None if interval is None else interval.high,
        method="clopper_pearson" if method == "exact" else method,
    )


def rule_history(connection: Connection, rule: str) -> tuple[RuleDay, ...]:
    """Return the share of runs with a finding of a rule, a day at a time, the oldest first."""
    with_rule = sa.select(runs.c.day, sa.func.count(sa.distinct(runs.c.id)).label("n")).select_from(
        runs.join(
            findings,
            (findings.c.trace_id == runs.c.trace_id)
            & (findings.c.run_id == runs.c.run_id)
            & (findings.c.rule == rule),
        )
    )
    found = {row.day: row.n for row in connection.execute(with_rule.group_by(runs.c.day))}
    judged = connection.execute(
        sa.select(runs.c.day, sa.func.count().label("n")).group_by(runs.c.day).order_by(runs.c.day)
    )
    return tuple(
        RuleDay(day=row.day, n_runs=row.n, n_runs_with=found.get(row.day, 0)) for row in judged
    )


def agent_stats(connection: Connection) -> tuple[AgentStats, ...]:
    """Return runs and flagged runs by service and agent, the most flagged first."""
    group = runs.c.service, runs.c.agent
    flagged = sa.func.sum(sa.case((runs.c.is_flagged, 1), else_=0))
    incomplete = sa.func.sum(sa.case((runs.c.is_complete, 0), else_=1))
    by_rule: defaultdict[tuple[str | None, str | None], dict[str, int]] = defaultdict(dict)
    both = (findings.c.trace_id == runs.c.trace_id) & (findings.c.run_id == runs.c.run_id)
    for row in connection.execute(
        sa.select(*group, findings.c.rule, sa.func.count(sa.distinct(runs.c.id)).label("n"))
        .select_from(runs.join(findings, both))
        .group_by(*group, findings.c.rule)
        .order_by(findings.c.rule)
    ):
        by_rule[row.service, row.agent][row.rule] = row.n
    found = connection.execute(
        sa.select(
            *group,
            sa.func.count().label("n_runs"),
            flagged.label("n_flagged"),
            incomplete.label("n_incomplete"),
            sa.func.max(runs.c.judged_at).label("last_run"),
        ).group_by(*group)
    ).all()
    stats = [
        AgentStats(
            service=row.service,
            agent=row.agent,
            n_runs=row.n_runs,
            n_flagged=int(row.n_flagged),
            n_incomplete=int(row.n_incomplete),
            last_run=row.last_run,
            by_rule=by_rule[row.service, row.agent],
        )
        for row in found
    ]
    return tuple(sorted(stats, key=lambda s: (-s.n_flagged, s.service or "", s.agent or "")))


def agreement_of_reviewers(connection: Connection, *, level: float) -> Agreement | None:
    """Return how far first and second reviewers of audited runs agree (Cohen's kappa).

    `None` while no run has two verdicts. People differ from pair to pair: the kappa is that of the
    two roles, not of two persons.
    """
    first: dict[int, str] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for row in connection.execute(
        sa.select(audit_verdicts.c.audit_id, audit_verdicts.c.word).order_by(audit_verdicts.c.id)
    ):
        if row.audit_id in first:
            counts[first[row.audit_id], row.word] += 1
        else:
            first[row.audit_id] = row.word
    return agreement(counts, level=level) if counts else None


def miss_rate(connection: Connection, *, level: float) -> MissRate:
    """Return the share of unsound runs that no rule flagged, from audited runs.

    Each run weighs 1 / (fraction at which it was drawn), the Horvitz-Thompson weights; the interval
    is a percentile bootstrap over runs. The first reviewer's word counts; runs that nobody can tell
    are left out. Runs are taken to be independent.
    """
    earliest = sa.select(sa.func.min(audit_verdicts.c.id)).group_by(audit_verdicts.c.audit_id)
    judged = connection.execute(
        sa.select(audits.c.is_flagged, audits.c.fraction, audit_verdicts.c.word)
        .select_from(audit_verdicts.join(audits))
        .where(audit_verdicts.c.id.in_(earliest))
        .order_by(audit_verdicts.c.id)
    ).all()
    counts = Counter((bool(row.is_flagged), row.word) for row in judged)
    told = [(bool(row.is_flagged), row.word, 1 / row.fraction) for row in judged]
    unsound = [(is_flagged, w) for is_flagged, word, w in told if word == "unsound"]
    sound = [(is_flagged, w) for is_flagged, word, w in told if word == "sound"]
    missed = [0.0 if is_flagged else w for is_flagged, w in unsound]
    weights = [w for _, w in unsound]
    interval = ratio_interval(missed, weights, level=level)
    all_sound = sum(w for _, w in sound)
    return MissRate(
        n_judged=len(judged),
        n_flagged_unsound=counts[True, "unsound"],
        n_flagged_sound=counts[True, "sound"],
        n_unflagged_unsound=counts[False, "unsound"],
        n_unflagged_sound=counts[False, "sound"],
        n_cannot_tell=sum(n for (_, word), n in counts.items() if word == "cannot_tell"),
        miss_rate=sum(missed) / sum(weights) if weights else None,
        ci_low=None if interval is None else interval.low,
        ci_high=None if interval is None else interval.high,
        false_alarm_rate=sum(w for is_flagged, w in sound if is_flagged) / all_sound
        if all_sound
        else None,
    )
