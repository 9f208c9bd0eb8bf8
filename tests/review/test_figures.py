"""What verdicts teach. The same tests run on PostgreSQL in tests/e2e."""

from __future__ import annotations

import random

import pytest
from scipy.stats import binomtest
from tests.review.judged_runs import Clock, clean_run, judged, violation

from spanwitness.errors import ConflictError, ReviewError
from spanwitness.review import ItemFilter, Queue
from spanwitness.review.store.values import Sampling


def judge_many(queue: Queue, words: list[str], *, version: int = 1, start: int = 0) -> None:
    for number, word in enumerate(words, start):
        name = f"agent {chr(97 + number)}"
        added = queue.add(judged(number, violation(rule_version=version), agent=name))
        queue.verdict(added.opened[0], verdict=word, by="ann")


def test_precision_leaves_out_what_is_expected_or_cannot_be_told(queue: Queue):
    words = ["confirmed"] * 6 + ["false_positive"] * 2 + ["expected"] * 3 + ["cannot_tell"]
    judge_many(queue, [*words, "duplicate"])
    (stats,) = queue.rule_stats()
    counts = (stats.confirmed, stats.false_positive, stats.expected, stats.cannot_tell)
    assert counts == (6, 2, 3, 1)
    assert (stats.duplicate, stats.n, stats.precision) == (1, 8, 0.75)
    wilson = binomtest(6, 8).proportion_ci(0.95, "wilson")
    assert (stats.ci_low, stats.ci_high) == pytest.approx((wilson.low, wilson.high))
    (stats,) = queue.rule_stats(method="exact")
    exact = binomtest(6, 8).proportion_ci(0.95, "exact")
    assert (stats.ci_low, stats.ci_high) == pytest.approx((exact.low, exact.high))
    with pytest.raises(ReviewError, match="one of wilson, exact"):
        queue.rule_stats(method="wald")


def test_without_a_decided_verdict_there_is_no_precision_and_not_zero(queue: Queue):
    judge_many(queue, ["expected", "cannot_tell"])
    (stats,) = queue.rule_stats()
    assert (stats.n, stats.precision, stats.ci_low, stats.ci_high) == (0, None, None, None)


def test_versions_of_a_rule_are_not_pooled(queue: Queue):
    judge_many(queue, ["false_positive"] * 3)
    judge_many(queue, ["confirmed"] * 2, version=2, start=3)
    assert [(s.version, s.precision, s.n) for s in queue.rule_stats()] == [(1, 0, 3), (2, 1, 2)]


def test_a_bulk_verdict_counts_once(queue: Queue):
    for number in range(20):
        queue.add(judged(number, agent=f"agent {chr(97 + number)}"))
    queue.bulk_verdict(ItemFilter(rules=("tool_bypass",)), verdict="confirmed", by="ann")
    (stats,) = queue.rule_stats()
    assert (stats.confirmed, stats.n) == (1, 1)


def test_each_judged_trace_of_an_item_counts_once(queue: Queue, clock: Clock):
    queue.add(judged(1))
    queue.verdict(1, verdict="confirmed", by="ann")
    queue.verdict(1, verdict="confirmed", by="bob")
    assert queue.rule_stats()[0].n == 1
    clock.forward(days=1)
    queue.add(judged(2))
    queue.verdict(1, verdict="false_positive", by="ann")
    (stats,) = queue.rule_stats()
    assert (stats.confirmed, stats.false_positive) == (1, 1)


def test_verdicts_count_when_their_items_are_pruned(queue: Queue, clock: Clock):
    judge_many(queue, ["confirmed", "false_positive"])
    before = queue.rule_stats()
    clock.forward(days=400)
    pruned = queue.prune(
        "ann", content_before=clock.now, items_before=clock.now, runs_before=clock.now
    )
    assert (pruned.items, pruned.runs) == (2, 2)
    assert queue.rule_stats() == before
    assert len(list(queue.export("verdicts"))) == 2


def test_the_history_of_a_rule_is_a_share_of_all_runs_of_a_day(queue: Queue, clock: Clock):
    queue.add_all([(clean_run(n), None) for n in range(7)])
    queue.add_all([(judged(n), None) for n in range(7, 10)])
    clock.forward(days=1)
    queue.add(clean_run("tomorrow"))
    days = queue.rule_history("tool_bypass")
    assert [(d.day, d.n_runs, d.n_runs_with) for d in days] == [
        ("2026-11-30", 10, 3),
        ("2026-12-01", 1, 0),
    ]


def test_agents_are_listed_with_their_flagged_share(queue: Queue):
    queue.add_all([(clean_run(n, agent="calm"), None) for n in range(4)])
    queue.add(judged(4, violation(severity="info"), agent="calm"))
    queue.add(judged(5, violation(), violation("call_in_text"), agent="wild"))
    wild, calm = queue.agent_stats()
    assert (wild.agent, wild.n_runs, wild.n_flagged) == ("wild", 1, 1)
    assert wild.by_rule == {"call_in_text": 1, "tool_bypass": 1}
    assert (calm.agent, calm.n_runs, calm.n_flagged) == ("calm", 5, 0)


def test_audit_shows_each_drawn_run_to_one_person_and_some_to_a_second(queue: Queue):
    queue.set_sampling(Sampling(flagged=1, unflagged=1, second=1))
    queue.add_all([(clean_run(1), None), (judged(2), None)])
    first = queue.audit_next("ann")
    other = queue.audit_next("bob")
    assert first is not None
    assert other is not None
    assert {first.id, other.id} == {1, 2}
    assert queue.audit_next("cid") is None
    with pytest.raises(ConflictError, match="ann holds"):
        queue.audit_verdict(first.id, word="sound", by="cid")
    queue.audit_verdict(first.id, word="sound", by="ann")
    second = queue.audit_next("cid")
    assert second is not None
    assert (second.id, second.is_second) == (first.id, True)
    queue.audit_verdict(second.id, word="unsound", by="cid")
    with pytest.raises(ConflictError, match="judged run"):
        queue.audit_verdict(first.id, word="sound", by="ann")
    queue.audit_verdict(other.id, word="sound", by="bob")
    assert queue.audit_next("bob") is None
    with pytest.raises(ReviewError, match="one of sound, unsound"):
        queue.audit_verdict(other.id, word="fine", by="dan")


def test_the_agreement_of_two_reviewers_is_cohens_kappa(queue: Queue):
    queue.set_sampling(Sampling(flagged=1, unflagged=1, second=1))
    assert queue.agreement() is None
    pairs = [("sound", "sound")] * 6 + [("unsound", "unsound")] * 2 + [("sound", "unsound")] * 2
    for number, (one, two) in enumerate(pairs):
        queue.add(clean_run(number))
        for by, word in (("ann", one), ("bob", two)):
            audit = queue.audit_next(by)
            assert audit is not None
            queue.audit_verdict(audit.id, word=word, by=by)
    found = queue.agreement()
    assert found is not None
    # Observed 0.8; by chance 0.8 * 0.6 + 0.2 * 0.4 = 0.56.
    assert found.n_cases == 10
    assert found.kappa == pytest.approx((0.8 - 0.56) / (1 - 0.56))


def test_the_miss_rate_weighs_each_run_by_what_it_stands_for(queue: Queue):
    """2,000 unflagged runs with 2 % unsound, 200 flagged ones with 80 % unsound."""
    truth = random.Random(7)
    queue.set_sampling(Sampling(flagged=0.5, unflagged=0.2, second=0))
    unsound: set[str] = set()
    made = [clean_run(n) for n in range(2000)] + [judged(n) for n in range(2000, 2200)]
    for one in made:
        if truth.random() < (0.8 if one.is_flagged else 0.02):
            unsound.add(one.run.trace_id)
    queue.add_all([(one, None) for one in made])
    while (audit := queue.audit_next("ann")) is not None:
        word = "unsound" if audit.trace_id in unsound else "sound"
        queue.audit_verdict(audit.id, word=word, by="ann")
    missed = sum(not one.is_flagged and one.run.trace_id in unsound for one in made)
    found = queue.miss_rate()
    assert found.miss_rate is not None
    assert found.ci_low is not None
    assert found.ci_high is not None
    assert found.ci_low < missed / len(unsound) < found.ci_high
    naive = found.n_unflagged_unsound / (found.n_unflagged_unsound + found.n_flagged_unsound)
    assert abs(found.miss_rate - missed / len(unsound)) < abs(naive - missed / len(unsound))


def test_without_an_unsound_run_there_is_no_miss_rate_and_not_zero(queue: Queue):
    queue.set_sampling(Sampling(flagged=1, unflagged=1))
    queue.add(clean_run(1))
    audit = queue.audit_next("ann")
    assert audit is not None
    queue.audit_verdict(audit.id, word="sound", by="ann")
    found = queue.miss_rate()
    assert (found.n_judged, found.miss_rate, found.ci_low) == (1, None, None)
    assert found.false_alarm_rate == 0


def test_a_run_that_is_flagged_late_keeps_a_chance_that_is_known(queue: Queue):
    queue.set_sampling(Sampling(flagged=1, unflagged=0))
    one = clean_run(1)
    assert not queue.add(one).is_audited
    late = judged(1)
    assert queue.add(late).is_audited


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_is_between_nothing_and_all(queue: Queue, share: float):
    with pytest.raises(ReviewError, match="between 0 and 1"):
        queue.set_sampling(Sampling(unflagged=share))


def test_who_sets_the_shares_stands_in_the_history(queue: Queue):
    queue.set_sampling(Sampling(flagged=0.5), "ann")
    last = queue.events()[-1]
    assert (last.actor, last.action) == ("ann", "sampling_set")
    assert last.data is not None
    assert last.data["flagged"] == 0.5


def test_exports_hold_every_row(queue: Queue):
    judge_many(queue, ["confirmed", "false_positive"])
    queue.add(judged("x", agent="open one"))
    items = list(queue.export())
    assert list(items[0])[:10] == [
        "id", "rule", "fault", "state", "severity", "count", "first_seen", "last_seen",
        "sample_trace_ids", "verdict",
    ]  # fmt: skip
    assert [row["verdict"] for row in items] == ["confirmed", "false_positive", None]
    verdicts = list(queue.export("verdicts"))
    assert [row["verdict"] for row in verdicts] == ["confirmed", "false_positive"]
    assert len(list(queue.export("findings"))) == 3
    with pytest.raises(ReviewError, match="one of items"):
        list(queue.export("secrets"))
