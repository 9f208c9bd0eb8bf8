"""Messages on their way out. The same tests run on PostgreSQL in tests/e2e."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from tests.review.judged_runs import START, Clock, judged

from spanwitness.errors import ReviewError, UnknownItemError

if TYPE_CHECKING:
    from spanwitness.review import Queue


HOOK = "https://example.com/hook"


def test_what_happens_to_an_item_is_told_in_order_without_content(queue: Queue, clock: Clock):
    queue.add(judged(1))
    queue.add(judged(2))
    queue.verdict(1, verdict="confirmed", by="ann", reason="the secret recipe")
    clock.forward(days=1)
    queue.add(judged(3))
    sent = queue.outbox.take(HOOK)
    assert [d.topic for d in sent] == ["item.opened", "item.resolved", "item.regressed"]
    assert [d.payload["count"] for d in sent] == [1, 2, 3]
    assert sent[0].payload["rule"] == "tool_bypass"
    assert "secret" not in repr(sent)


def test_each_destination_gets_each_message_and_takes_it_once(queue: Queue, clock: Clock):
    queue.add(judged(1))
    (one,) = queue.outbox.take(HOOK, lease_s=30)
    assert queue.outbox.take(HOOK) == ()
    (other,) = queue.outbox.take("slack")
    assert one.message_id == other.message_id
    clock.forward(seconds=30)
    (again,) = queue.outbox.take(HOOK)
    assert (again.id, again.message_id, again.attempts) == (one.id, one.message_id, 2)


def test_a_failed_message_is_tried_when_it_is_due_again(queue: Queue, clock: Clock):
    queue.add(judged(1))
    (one,) = queue.outbox.take(HOOK)
    later = START + timedelta(minutes=5)
    told = queue.outbox.settle(one.id, "retry", next_at=later, status=503, error="busy")
    assert (told.state, told.last_status, told.last_error) == ("pending", 503, "busy")
    assert queue.outbox.next_due(HOOK) == later
    assert queue.outbox.take(HOOK) == ()
    clock.forward(minutes=5)
    (again,) = queue.outbox.take(HOOK)
    queue.outbox.settle(again.id, "delivered", status=200)
    clock.forward(days=1)
    assert queue.outbox.take(HOOK) == ()
    assert queue.outbox.next_due(HOOK) is None


def test_what_is_given_up_is_listed_and_can_be_sent_again(queue: Queue):
    queue.add(judged(1))
    (one,) = queue.outbox.take(HOOK)
    queue.outbox.settle(one.id, "dead", status=410, error="gone")
    assert [d.id for d in queue.outbox.undeliverable()] == [one.id]
    queue.outbox.redeliver(one.id)
    assert queue.outbox.undeliverable() == ()
    (again,) = queue.outbox.take(HOOK)
    assert (again.message_id, again.attempts) == (one.message_id, 1)


def test_a_destination_may_want_only_some_messages(queue: Queue, clock: Clock):
    queue.add(judged(1))
    since = clock.forward(minutes=1)
    queue.verdict(1, verdict="confirmed", by="ann")
    queue.note(1, "text", "ann")
    assert [d.topic for d in queue.outbox.take("new", since=since)] == ["item.resolved"]
    assert [d.topic for d in queue.outbox.take("some", topics=("item.opened",))] == ["item.opened"]


def test_a_settlement_that_cannot_be_meant_is_refused(queue: Queue):
    queue.add(judged(1))
    (one,) = queue.outbox.take(HOOK)
    for outcome, next_at in (("retry", None), ("delivered", START), ("lost", None)):
        with pytest.raises(ReviewError):
            queue.outbox.settle(one.id, outcome, next_at=next_at)
    with pytest.raises(UnknownItemError):
        queue.outbox.settle(99, "delivered")


def test_old_messages_are_pruned_when_nothing_waits_for_them(queue: Queue, clock: Clock):
    queue.add(judged(1))
    queue.add(judged(2, agent="b"))
    first, _ = queue.outbox.take(HOOK)
    queue.outbox.settle(first.id, "delivered")
    clock.forward(days=1)
    assert queue.prune("ann", runs_before=clock.now).messages == 1
    assert len(queue.outbox.take(HOOK)) == 1
