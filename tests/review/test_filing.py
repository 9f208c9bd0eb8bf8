"""What becomes of a judged run. The same tests run on PostgreSQL in tests/e2e."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.review.judged_runs import (
    START,
    Clock,
    clean_run,
    judged,
    spans_of,
    trace_id,
    violation,
)

from spanwitness.errors import ReviewError
from spanwitness.findings.judged import Judged
from spanwitness.review import ItemFilter, Queue
from spanwitness.review.store.values import Sampling


def only_item(queue: Queue):
    (item,) = queue.items().rows
    return item


def test_the_same_run_again_changes_nothing(queue: Queue):
    first = queue.add(judged(1))
    before = queue.item(first.opened[0])
    again = queue.add(judged(1))
    assert (first.n_findings, again.n_findings) == (1, 0)
    assert not again.is_new_run
    assert queue.item(first.opened[0]) == before


def test_runs_with_one_cause_make_one_item(queue: Queue):
    for number in range(5):
        queue.add(judged(number))
    item = only_item(queue)
    assert item.count == 5
    assert item.state == "open"
    assert len(queue.item(item.id).findings) == 5


def test_agents_and_rules_make_items_of_their_own(queue: Queue):
    queue.add(judged(1, violation(), violation("call_in_text")))
    queue.add(judged(2, agent="planner"))
    assert queue.counts().open == 3


def test_an_explained_violation_makes_no_item(queue: Queue):
    queue.add(judged(1, violation(explained_by="tools_withheld")))
    assert queue.counts().total == 0


def test_an_item_keeps_up_to_three_traces(queue: Queue, clock: Clock):
    for number in range(5):
        clock.forward(seconds=1)
        one = judged(number)
        queue.add(one, spans=spans_of(one))
    item = only_item(queue)
    assert [s.trace_id for s in item.samples] == [trace_id(n) for n in range(3)]
    assert all(s.has_snapshot for s in item.samples)
    assert queue.snapshot(trace_id(4), judged(4).run.run_id) is None


def test_a_snapshot_gives_back_the_spans_of_the_run(queue: Queue):
    one = judged(1)
    spans = spans_of(one)
    queue.add(one, spans=spans)
    kept = queue.snapshot(one.run.trace_id, one.run.run_id)
    assert kept is not None
    assert list(kept.spans) == spans[:2]
    assert kept.content == "on"


def test_with_content_off_no_text_of_the_trace_is_kept(queue: Queue):
    one = judged(1)
    queue.add(one, spans=spans_of(one), content="off")
    kept = queue.snapshot(one.run.trace_id, one.run.run_id)
    assert kept is not None
    assert "secret" not in repr(kept)
    assert "hunter2" not in repr(kept)
    assert kept.spans[1].attributes["gen_ai.usage.input_tokens"] == 12
    assert kept.spans[1].attributes["gen_ai.operation.name"] == "chat"
    assert kept.spans[0].attributes["spanwitness.content"] == "off"
    assert queue.item(only_item(queue).id).findings[0].evidence is None


def test_credentials_are_taken_out_of_foreign_spans(queue: Queue):
    one = judged(1)
    spans = spans_of(one)
    spans[1].attributes["gen_ai.input.messages"] = "use sk-abcdefghijklmnopqrstuvwx please"
    queue.add(one, spans=spans)
    kept = queue.snapshot(one.run.trace_id, one.run.run_id)
    assert kept is not None
    assert kept.spans[1].attributes["gen_ai.input.messages"] == "use [redacted] please"


def test_spans_that_come_later_complete_a_snapshot(queue: Queue):
    one = judged(1)
    queue.add(one, spans=spans_of(one)[:1])
    queue.add(one, spans=spans_of(one))
    kept = queue.snapshot(one.run.trace_id, one.run.run_id)
    assert kept is not None
    assert len(kept.spans) == 2


def test_what_came_late_of_a_run_is_added(queue: Queue):
    one = judged(1, violation("call_in_text"), violation())
    queue.add(judged(1, violation("call_in_text")))
    update = one.update([key for key in one.keyed_findings() if key[0] == "tool_bypass"])
    assert queue.add(update).n_findings == 1
    assert queue.add(update).n_findings == 0
    run = queue.run(one.run.trace_id, one.run.run_id)
    assert run is not None
    assert run.is_flagged


def test_a_later_clause_of_the_same_rule_is_no_repetition(queue: Queue):
    first = violation("forbidden_tool", contract="c", evidence={"clause": "web"})
    second = violation("forbidden_tool", contract="c", evidence={"clause": "mail"})
    queue.add(judged(1, first))
    both = judged(1, first, second)
    update = both.update([("forbidden_tool", "c", 1)])
    assert queue.add(update).n_findings == 1
    assert queue.counts().open == 2


def test_a_confirmed_item_that_occurs_again_is_a_regression(queue: Queue, clock: Clock):
    queue.add(judged(1))
    item = queue.verdict(only_item(queue).id, verdict="confirmed", by="ann")
    clock.forward(days=2)
    added = queue.add(judged(2))
    assert added.reopened == (item.id,)
    again = only_item(queue)
    assert (again.state, again.regressions, again.count) == ("open", 1, 2)
    assert again.is_regressed
    assert again.verdict == "confirmed"
    assert again.due_at == clock.now + timedelta(days=1)
    assert [e.action for e in queue.events(item.id)] == ["opened", "verdict", "regressed"]


def test_a_finding_in_flight_when_its_item_was_resolved_does_not_reopen_it(
    queue_url: str, queue: Queue, clock: Clock
):
    queue.add(judged(1))
    clock.forward(minutes=1)
    queue.verdict(only_item(queue).id, verdict="confirmed", by="ann")
    late = Clock()
    other = Queue.open(queue_url, now=late)
    late.forward(seconds=30)
    added = other.add(judged(2))
    other.close()
    assert added.reopened == ()
    assert (only_item(queue).state, only_item(queue).count) == ("resolved", 2)


@pytest.mark.parametrize("word", ["false_positive", "expected"])
def test_a_refuted_item_only_counts_until_the_rule_changes(queue: Queue, clock: Clock, word: str):
    queue.add(judged(1))
    queue.verdict(only_item(queue).id, verdict=word, by="ann")
    clock.forward(days=1)
    assert queue.add(judged(2)).raised == (1,)
    assert (only_item(queue).state, only_item(queue).count) == ("resolved", 2)
    added = queue.add(judged(3, violation(rule_version=2)))
    assert added.reopened == (1,)
    assert (only_item(queue).state, only_item(queue).regressions) == ("open", 0)


def test_a_trace_judged_by_a_newer_rule_counts_once(queue: Queue):
    queue.add(judged(1))
    added = queue.add(judged(1, violation(rule_version=2)))
    assert added.n_findings == 1
    assert (only_item(queue).count, only_item(queue).rule_version) == (1, 2)


@pytest.mark.parametrize("word", ["cannot_tell", "duplicate"])
def test_an_undecided_item_stays_resolved(queue: Queue, clock: Clock, word: str):
    queue.add(judged(1))
    queue.verdict(only_item(queue).id, verdict=word, by="ann")
    clock.forward(days=1)
    queue.add(judged(2))
    assert only_item(queue).state == "resolved"


def test_the_trace_of_a_regression_is_kept_and_the_judged_one_stays(queue: Queue, clock: Clock):
    for number in range(3):
        clock.forward(seconds=1)
        one = judged(number)
        queue.add(one, spans=spans_of(one))
    queue.verdict(1, verdict="confirmed", by="ann", trace_id=trace_id(2))
    clock.forward(days=1)
    one = judged(9)
    queue.add(one, spans=spans_of(one))
    kept = {sample.trace_id for sample in only_item(queue).samples}
    assert kept == {trace_id(0), trace_id(2), trace_id(9)}
    assert queue.snapshot(trace_id(1), judged(1).run.run_id) is None


def test_a_worse_finding_makes_an_item_worse_and_due_sooner(queue: Queue):
    queue.add(judged(1, violation(severity="warning")))
    queue.add(judged(2, violation(severity="critical")))
    queue.add(judged(3, violation(severity="info")))
    item = only_item(queue)
    assert (item.severity, item.due_at) == ("critical", START + timedelta(hours=4))


def test_a_pruned_item_does_not_come_back_with_its_old_traces(queue: Queue, clock: Clock):
    queue.add(judged(1))
    queue.add(judged(2))
    queue.verdict(1, verdict="confirmed", by="ann")
    clock.forward(days=100)
    assert queue.prune("ann", items_before=clock.now, runs_before=clock.now).items == 1
    added = queue.add(judged(1))
    assert (added.n_findings, added.n_blocked) == (0, 1)
    assert queue.counts().total == 0


def test_a_pruned_failure_that_happens_anew_comes_back(queue: Queue, clock: Clock):
    queue.add(judged(1))
    queue.verdict(1, verdict="confirmed", by="ann")
    clock.forward(days=100)
    queue.prune("ann", items_before=clock.now)
    clock.forward(days=1)
    added = queue.add(judged(2, end=clock.now))
    assert len(added.opened) == 1
    item = only_item(queue)
    assert item.id != 1
    assert item.is_regressed
    assert "confirmed and pruned" in (queue.events(item.id)[0].note or "")


def test_a_pruned_false_positive_stays_away_until_the_rule_changes(queue: Queue, clock: Clock):
    queue.add(judged(1))
    queue.verdict(1, verdict="false_positive", by="ann")
    clock.forward(days=100)
    queue.prune("ann", items_before=clock.now)
    clock.forward(days=1)
    assert queue.add(judged(2, end=clock.now)).n_blocked == 1
    assert queue.add(judged(3, violation(rule_version=2), end=clock.now)).opened


def test_hostile_text_is_kept_as_far_as_a_database_can(queue: Queue):
    nasty = "a\x00b\ud800c\u202e<script>\x1b[31m"
    verdict = violation(
        reason=nasty + "x" * 10_000_000, evidence={"tools": [nasty], "n": float("nan")}
    )
    one = judged(1, verdict, agent=nasty)
    spans = spans_of(one)
    spans[0].attributes["gen_ai.input.messages"] = nasty
    queue.add(one, spans=spans)
    item = only_item(queue)
    assert item.agent == "a\ufffdb\ufffdc\u202e<script>\x1b[31m"
    assert len(item.reason) == 2_000
    assert queue.item(item.id).findings[0].evidence is not None
    assert queue.snapshot(one.run.trace_id, one.run.run_id) is not None


def test_several_runs_come_in_one_transaction_or_not_at_all(queue: Queue):
    bad = Judged(run=judged(2).run, verdicts=(violation(severity="dreadful"),))
    with pytest.raises(ValueError, match="not in tuple"):
        queue.add_all([(judged(1), None), (bad, None)])
    assert queue.counts().total == 0
    assert queue.run(trace_id(1), judged(1).run.run_id) is None


def test_the_ledger_of_a_flagged_run_outlives_its_content(queue: Queue, clock: Clock):
    one = judged(1)
    queue.add(one, spans=spans_of(one))
    clock.forward(days=1)
    done = queue.prune("ann", content_before=clock.now)
    assert (done.snapshots, done.evidence) == (1, 1)
    run = queue.run(one.run.trace_id, one.run.run_id)
    assert run is not None
    assert run.ledger == ()
    assert not only_item(queue).samples[0].has_snapshot
    assert queue.item(1).findings[0].evidence is None
    assert queue.counts().open == 1


def test_items_are_found_by_what_a_filter_says(queue: Queue, clock: Clock):
    queue.add(judged(1, violation(), violation("call_in_text", severity="warning")))
    queue.add(judged(2, agent="planner_100%"))
    clock.forward(days=2)
    found = {
        "severity": ItemFilter(min_severity="error"),
        "rule": ItemFilter(rules=("call_in_text",)),
        "agent": ItemFilter(agent="planner_100%"),
        "text": ItemFilter(text="PLANNER_100%"),
        "trace": ItemFilter(text=trace_id(1)),
        "overdue": ItemFilter(is_overdue=True),
        "none": ItemFilter(text="planner%"),
        "state": ItemFilter(states=("resolved",)),
    }
    n = {name: len(queue.items(only).rows) for name, only in found.items()}
    assert n == {
        "severity": 2, "rule": 1, "agent": 1, "text": 1, "trace": 2, "overdue": 2, "none": 0,
        "state": 0,
    }  # fmt: skip
    assert queue.counts(found["rule"]).open == 1
    assert queue.counts().overdue == 2
    assert queue.counts().oldest_open == START


@pytest.mark.parametrize("order", ["priority", "newest"])
def test_parts_of_a_list_hold_each_item_once(queue: Queue, clock: Clock, order: str):
    for number in range(23):
        clock.forward(seconds=number % 3)
        severity = ("warning", "error", "critical")[number % 3]
        queue.add(judged(number, violation(severity=severity), agent=f"agent {chr(97 + number)}"))
    seen: list[int] = []
    after = None
    while True:
        page = queue.items(order=order, limit=5, after=after)
        seen += [item.id for item in page.rows]
        after = page.after
        if after is None:
            break
    assert len(seen) == len(set(seen)) == 23
    whole = queue.items(order=order, limit=100).rows
    assert [item.id for item in whole] == seen
    with pytest.raises(ReviewError, match="begin it anew"):
        queue.items(order=order, after="bm9uc2Vuc2U")


def test_audit_draws_the_stated_share_of_unflagged_and_flagged_runs(queue: Queue):
    queue.set_sampling(Sampling(flagged=0.5, unflagged=0.1, second=0.0))
    queue.add_all([(clean_run(n), None) for n in range(1000)])
    queue.add_all([(judged(n), None) for n in range(1000, 1200)])
    drawn = 0
    while queue.audit_next(f"reviewer {drawn}") is not None:
        drawn += 1
    assert 150 <= drawn <= 250
