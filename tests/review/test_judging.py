"""Leases, verdicts and what can be taken back. The same tests run on PostgreSQL in tests/e2e."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.review.judged_runs import START, Clock, judged, trace_id, violation

from spanwitness.errors import ConflictError, ReviewError, UnknownItemError
from spanwitness.review import ItemFilter, Queue


def fill(queue: Queue, n: int = 3) -> None:
    for number in range(n):
        queue.add(judged(number, agent=f"agent {chr(97 + number)}"))


def test_the_worst_then_the_most_urgent_then_the_oldest_comes_first(queue: Queue, clock: Clock):
    for agent, severity in (("a", "warning"), ("b", "error"), ("c", "critical"), ("d", "error")):
        clock.forward(seconds=1)
        queue.add(judged(agent, violation(severity=severity), agent=agent))
    taken = [queue.claim_next("ann") for _ in range(5)]
    assert [item and item.agent for item in taken] == ["c", "b", "d", "a", None]


def test_an_item_is_with_one_person(queue: Queue, clock: Clock):
    fill(queue, 1)
    item = queue.claim_next("ann", lease_s=60)
    assert item is not None
    assert (item.state, item.owner, item.until) == ("claimed", "ann", START + timedelta(seconds=60))
    assert queue.claim_next("bob") is None
    for act in (
        lambda: queue.claim(item.id, "bob"),
        lambda: queue.renew(item.id, "bob"),
        lambda: queue.release(item.id, "bob"),
        lambda: queue.verdict(item.id, verdict="confirmed", by="bob"),
        lambda: queue.snooze(item.id, clock.now + timedelta(days=1), "bob"),
        lambda: queue.reopen(item.id, "bob"),
    ):
        with pytest.raises(ConflictError) as caught:
            act()
        assert caught.value.current == item


def test_a_lease_that_is_over_gives_the_item_to_the_next(queue: Queue, clock: Clock):
    fill(queue, 1)
    queue.claim_next("ann", lease_s=60)
    clock.forward(seconds=60)
    item = queue.claim_next("bob")
    assert item is not None
    assert item.owner == "bob"
    with pytest.raises(ConflictError):
        queue.renew(item.id, "ann")
    actions = [(e.actor, e.action, e.note) for e in queue.events(item.id)]
    assert actions[2] == ("clock", "expired", "ann")


def test_a_lease_that_ends_this_very_moment_is_over(queue: Queue, clock: Clock):
    (item,) = queue.add(judged(1)).opened
    queue.claim(item, "ann", lease_s=60)
    clock.forward(seconds=59.999999)
    with pytest.raises(ConflictError):
        queue.claim(item, "bob")
    clock.forward(seconds=0.000001)
    with pytest.raises(ConflictError):
        queue.renew(item, "ann")
    assert queue.claim(item, "bob").owner == "bob"
    with pytest.raises(ConflictError, match="bob holds"):
        queue.verdict(item, verdict="confirmed", by="ann")


def test_a_clock_that_goes_back_takes_no_item_from_its_holder(queue: Queue, clock: Clock):
    (item,) = queue.add(judged(1)).opened
    queue.claim(item, "ann", lease_s=60)
    clock.forward(hours=-2)
    assert queue.claim_next("bob") is None
    assert queue.verdict(item, verdict="confirmed", by="ann").state == "resolved"
    assert queue.undo(item, "ann").state == "claimed"


def test_a_name_of_any_length_holds_its_own_item(queue: Queue):
    (item,) = queue.add(judged(1)).opened
    name = "ann\x00" + "n" * 500
    queue.claim(item, name)
    queue.renew(item, name)
    queue.verdict(item, verdict="confirmed", by=name)
    assert queue.undo(item, name).state == "claimed"
    assert len(queue.bulk_verdict(ItemFilter(ids=(item,)), verdict="expected", by=name)) == 1


def test_a_renewed_lease_lasts_from_now(queue: Queue, clock: Clock):
    fill(queue, 1)
    item = queue.claim_next("ann", lease_s=60)
    assert item is not None
    clock.forward(seconds=50)
    assert queue.renew(item.id, "ann", lease_s=60).until == clock.now + timedelta(seconds=60)
    assert queue.renew(item.id, "ann").version == item.version
    clock.forward(seconds=30)
    assert queue.claim_next("bob") is None


def test_a_released_item_is_open_again(queue: Queue):
    fill(queue, 1)
    item = queue.claim_next("ann")
    assert item is not None
    assert queue.release(item.id, "ann").state == "open"
    assert queue.claim_next("bob") is not None


def test_a_filter_limits_what_is_taken(queue: Queue):
    fill(queue, 3)
    item = queue.claim_next("ann", only=ItemFilter(agent="agent c"))
    assert item is not None
    assert item.agent == "agent c"
    assert queue.claim_next("ann", only=ItemFilter(agent="agent c")) is None


def test_a_verdict_resolves_an_item_and_names_the_trace(queue: Queue, clock: Clock):
    queue.add(judged(1))
    clock.forward(seconds=5)
    queue.add(judged(2, violation(rule_version=3)))
    item = queue.verdict(1, verdict="confirmed", by="ann", reason="no page was read", fault="tool")
    assert (item.state, item.verdict, item.verdict_by) == ("resolved", "confirmed", "ann")
    assert (item.verdict_trace_id, item.verdict_rule_version) == (trace_id(2), 3)
    assert (item.verdict_reason, item.verdict_fault) == ("no page was read", "tool")
    older = queue.verdict(1, verdict="expected", by="ann", trace_id=trace_id(1))
    assert (older.verdict_trace_id, older.verdict_rule_version) == (trace_id(1), 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"verdict": "fine"}, "it is one of confirmed, false_positive"),
        ({"verdict": "confirmed", "fault": "gremlin"}, "it is one of tool, reasoning"),
        ({"verdict": "confirmed", "kind": "odd"}, "it is one of selection"),
        ({"verdict": "confirmed", "trace_id": "f" * 32}, "none of those of item 1"),
        ({"verdict": "confirmed", "by": " "}, "needs the name"),
    ],
)
def test_a_verdict_that_cannot_be_meant_is_refused(queue: Queue, changes: dict, message: str):
    fill(queue, 1)
    with pytest.raises(ReviewError, match=message):
        queue.verdict(1, **({"by": "ann"} | changes))
    assert queue.item(1).item.state == "open"


def test_a_verdict_on_what_changed_meanwhile_is_a_conflict(queue: Queue):
    fill(queue, 1)
    seen = queue.item(1).item
    queue.verdict(1, verdict="confirmed", by="ann", version=seen.version)
    with pytest.raises(ConflictError, match="changed since you saw it") as caught:
        queue.verdict(1, verdict="false_positive", by="bob", version=seen.version)
    assert caught.value.current == queue.item(1).item
    with pytest.raises(ConflictError):
        queue.snooze(1, START + timedelta(days=1), "bob", version=seen.version)


def test_more_occurrences_are_no_conflict(queue: Queue):
    queue.add(judged(1))
    seen = queue.item(1).item
    queue.add(judged(2))
    assert queue.verdict(1, verdict="confirmed", by="ann", version=seen.version).count == 2


def test_the_same_idempotency_key_judges_once(queue: Queue):
    fill(queue, 2)
    for _ in range(2):
        item = queue.verdict(1, verdict="confirmed", by="ann", version=1, idempotency_key="k")
    assert item.state == "resolved"
    assert [e.action for e in queue.events(1)] == ["opened", "verdict"]
    with pytest.raises(ReviewError, match="used for another act"):
        queue.verdict(2, verdict="confirmed", by="ann", idempotency_key="k")


def test_a_refused_act_does_not_use_up_its_key(queue: Queue):
    fill(queue, 1)
    with pytest.raises(ConflictError):
        queue.verdict(1, verdict="confirmed", by="ann", version=7, idempotency_key="k")
    assert queue.verdict(1, verdict="confirmed", by="ann", idempotency_key="k").state == "resolved"


def test_undo_brings_back_what_was_before(queue: Queue):
    fill(queue, 1)
    held = queue.claim_next("ann")
    assert held is not None
    queue.verdict(1, verdict="false_positive", by="ann")
    item = queue.undo(1, "ann")
    same = ("state", "owner", "until", "verdict", "verdict_by", "verdict_at", "verdict_trace_id")
    assert [getattr(item, name) for name in same] == [getattr(held, name) for name in same]
    assert queue.rule_stats() == ()
    with pytest.raises(ReviewError, match="cannot be undone"):
        queue.undo(1, "ann")


def test_undo_of_a_second_verdict_brings_back_the_first(queue: Queue):
    fill(queue, 1)
    queue.verdict(1, verdict="confirmed", by="ann")
    queue.verdict(1, verdict="false_positive", by="ann")
    (stats,) = queue.rule_stats()
    assert (stats.confirmed, stats.false_positive) == (0, 1)
    assert queue.undo(1, "ann").verdict == "confirmed"
    (stats,) = queue.rule_stats()
    assert (stats.confirmed, stats.false_positive) == (1, 0)


def test_only_ones_own_latest_act_can_be_undone_and_only_for_a_while(queue: Queue, clock: Clock):
    fill(queue, 1)
    queue.verdict(1, verdict="confirmed", by="ann")
    with pytest.raises(ConflictError):
        queue.undo(1, "bob")
    clock.forward(seconds=11)
    with pytest.raises(ReviewError, match="too long ago"):
        queue.undo(1, "ann", within_s=10)
    queue.add(judged(9, agent="agent a"))
    with pytest.raises(ReviewError, match="cannot be undone"):
        queue.undo(1, "ann")


def test_a_resting_item_wakes_when_its_time_comes(queue: Queue, clock: Clock):
    fill(queue, 1)
    until = START + timedelta(hours=3)
    item = queue.snooze(1, until, "ann")
    assert (item.state, item.until) == ("snoozed", until)
    assert queue.claim_next("bob") is None
    queue.add(judged(7, agent="agent a"))
    assert queue.item(1).item.state == "snoozed"
    clock.forward(hours=3)
    woken = queue.claim_next("bob")
    assert woken is not None
    assert [e.action for e in queue.events(1)][-2:] == ["woke", "claimed"]


def test_rest_that_is_over_or_of_a_resolved_item_is_refused(queue: Queue):
    fill(queue, 1)
    with pytest.raises(ReviewError, match="that is over"):
        queue.snooze(1, START, "ann")
    queue.verdict(1, verdict="confirmed", by="ann")
    with pytest.raises(ConflictError, match="reopen it first"):
        queue.snooze(1, START + timedelta(days=1), "ann")
    with pytest.raises(ConflictError, match="reopen it first"):
        queue.claim(1, "ann")


def test_a_person_may_reopen_an_item_and_undo_that(queue: Queue):
    fill(queue, 1)
    queue.verdict(1, verdict="expected", by="ann")
    item = queue.reopen(1, "bob", reason="not expected at all")
    assert (item.state, item.verdict, item.is_regressed) == ("open", "expected", False)
    assert queue.undo(1, "bob").state == "resolved"


def test_notes_stand_in_the_history_and_change_nothing(queue: Queue):
    fill(queue, 1)
    queue.note(1, "asked the vendor", "ann")
    detail = queue.item(1)
    assert [(e.actor, e.action, e.note) for e in detail.events][-1] == (
        "ann",
        "note",
        "asked the vendor",
    )
    assert detail.item.version == 1
    with pytest.raises(ReviewError, match="needs text"):
        queue.note(1, "  ", "ann")


def test_a_bulk_verdict_passes_over_what_others_hold(queue: Queue):
    fill(queue, 4)
    queue.claim(2, "bob")
    done = queue.bulk_verdict(
        ItemFilter(rules=("tool_bypass",)), verdict="expected", by="ann", reason="planned outage"
    )
    assert sorted(item.id for item in done) == [1, 3, 4]
    assert queue.item(2).item.state == "claimed"
    with pytest.raises(ReviewError, match="give a filter"):
        queue.bulk_verdict(ItemFilter(), verdict="expected", by="ann")


def test_acts_on_an_unknown_item_say_so(queue: Queue):
    for act in (
        lambda: queue.item(99),
        lambda: queue.claim(99, "ann"),
        lambda: queue.verdict(99, verdict="confirmed", by="ann"),
        lambda: queue.note(99, "text", "ann"),
        lambda: queue.undo(99, "ann"),
    ):
        with pytest.raises(UnknownItemError, match="no item 99"):
            act()


def test_the_history_can_only_be_added_to(queue: Queue):
    fill(queue, 1)
    for statement in ("UPDATE events SET actor = 'x'", "DELETE FROM events"):
        with (
            pytest.raises(ReviewError, match="insert-only"),
            queue._database.write() as connection,
        ):
            connection.exec_driver_sql(statement)
    assert queue.events(1)[0].actor == "detector"


def test_acts_outside_of_items_can_be_recorded(queue: Queue):
    queue.record("10.0.0.7", "refused", note="no token", data={"path": "/items"})
    assert queue.events()[-1].data == {"path": "/items"}
