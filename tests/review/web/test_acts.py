"""What a reviewer does: claim, judge, undo, snooze, note, several at once; and conflicts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.review import sample_runs
from tests.review.judged_runs import judged
from tests.review.sample_queue import put

from spanwitness.review.store.values import ItemFilter


@pytest.fixture
def item(queue):
    at = datetime.now(UTC) - timedelta(hours=1)
    (opened,) = put(queue, sample_runs.unexecuted_call("run", at))
    return opened


@pytest.fixture
def items(queue):
    return [queue.add(judged(name, agent=name)).opened[0] for name in ("ant", "bee", "cat", "dog")]


def state(queue, item):
    return queue.item(item).item.state


def test_the_next_item_is_claimed_and_shown(maria, queue, item):
    answer = maria.send("/", "/next")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/items/{item}")
    held = queue.item(item).item
    assert (held.state, held.owner) == ("claimed", "maria")
    assert "You hold this item" in maria.get(f"/items/{item}").text


def test_with_nothing_open_the_list_says_so(maria, queue, item):
    fields = maria.fields("/", "/next")
    queue.verdict(item, verdict="expected", by="jonas")
    answer = maria.post("/next", fields)
    assert answer.headers["location"] == "/?done=none"
    page = maria.get("/?done=none").text
    assert "No item is open for you" in page
    assert "Nothing left to do" in page


def test_a_verdict_is_kept_with_reason_correction_and_trace(maria, queue, item):
    answer = maria.send(
        f"/items/{item}", f"/items/{item}/verdict",
        verdict="confirmed", reason="It said done.", fault="reasoning", kind="skipped_verification",
    )  # fmt: skip
    assert answer.status_code == 303
    kept = queue.item(item).item
    assert (kept.state, kept.verdict, kept.verdict_by) == ("resolved", "confirmed", "maria")
    assert (kept.verdict_fault, kept.verdict_kind) == ("reasoning", "skipped_verification")
    assert kept.verdict_trace_id == kept.samples[0].trace_id
    page = maria.get(answer.headers["location"]).text
    assert "Saved as confirmed" in page
    assert "It said done." in page


def test_after_a_verdict_comes_the_next_item_and_the_way_back(maria, queue, items):
    first, second = items[:2]
    maria.send("/", "/next")
    answer = maria.send(
        f"/items/{first}", f"/items/{first}/verdict", verdict="expected", then="next"
    )
    assert answer.headers["location"].startswith(f"/items/{second}?")
    here = answer.headers["location"]
    back = maria.send(here, f"/items/{first}/undo")
    assert back.headers["location"].startswith(f"/items/{first}?")
    assert state(queue, first) == "claimed"


def test_an_item_rests_and_can_be_woken(maria, queue, item):
    maria.send(f"/items/{item}", f"/items/{item}/snooze", hours="24")
    assert state(queue, item) == "snoozed"
    assert queue.item(item).item.until > datetime.now(UTC) + timedelta(hours=23)
    maria.send(f"/items/{item}", f"/items/{item}/claim")
    assert state(queue, item) == "claimed"
    maria.send(f"/items/{item}", f"/items/{item}/release")
    assert state(queue, item) == "open"


def test_a_resolved_item_can_be_opened_again(maria, queue, item):
    queue.verdict(item, verdict="expected", by="jonas")
    page = maria.get(f"/items/{item}").text
    assert f'action="/items/{item}/undo"' not in page
    maria.send(f"/items/{item}", f"/items/{item}/reopen")
    assert state(queue, item) == "open"


def test_a_note_stands_in_the_history(maria, item):
    maria.send(f"/items/{item}", f"/items/{item}/note", note="<b>see</b> release 4")
    page = maria.get(f"/items/{item}").text
    assert "&lt;b&gt;see&lt;/b&gt; release 4" in page
    empty = maria.send(f"/items/{item}", f"/items/{item}/note", note="   ")
    assert empty.status_code == 400


def test_a_conflict_says_what_changed_and_keeps_what_was_sent(maria, queue, item):
    fields = maria.fields(f"/items/{item}", f"/items/{item}/verdict")
    queue.claim(item, "jonas")
    queue.verdict(item, verdict="expected", by="jonas", reason="known")
    answer = maria.post(
        f"/items/{item}/verdict", {**fields, "verdict": "confirmed", "reason": "my long reason"}
    )
    assert answer.status_code == 409
    assert "Somebody was faster" in answer.text
    assert "judged it: expected" in answer.text
    assert "known" in answer.text
    assert "my long reason" in answer.text
    assert "detector" not in answer.text
    assert queue.item(item).item.verdict == "expected"


def test_an_item_of_another_cannot_be_judged(maria, queue, item):
    queue.claim(item, "jonas")
    page = maria.get(f"/items/{item}").text
    assert "holds this item" in page
    assert f'action="/items/{item}/verdict"' not in page
    held = {**maria.fields(f"/items/{item}", f"/items/{item}/note"), "verdict": "confirmed"}
    answer = maria.post(f"/items/{item}/verdict", held)
    assert answer.status_code == 409
    assert "jonas" in answer.text


def test_one_verdict_for_the_ticked_items_counts_once(maria, queue, items):
    answer = maria.send("/", "/bulk", item=[str(i) for i in items[:3]], verdict="confirmed")
    assert answer.status_code == 303
    assert [state(queue, i) for i in items] == ["resolved"] * 3 + ["open"]
    (stats,) = queue.rule_stats()
    assert stats.n == 1


def test_one_verdict_for_all_that_fit_needs_a_filter(maria, queue, items):
    refused = maria.send("/", "/bulk", scope="all", verdict="confirmed")
    assert refused.status_code == 400
    assert queue.counts().resolved == 0
    maria.send("/?agent=bee", "/bulk", scope="all", verdict="expected", reason="known")
    assert queue.counts().resolved == 1
    (done,) = queue.items(ItemFilter(states=("resolved",))).rows
    assert (done.id, done.verdict_reason) == (items[1], "known")


def test_the_filter_of_the_list_goes_along_to_the_next_item(maria, queue, items):
    answer = maria.send("/?agent=cat", "/next")
    assert answer.headers["location"].startswith(f"/items/{items[2]}?list=agent%3Dcat")
    done = maria.send(
        answer.headers["location"], f"/items/{items[2]}/verdict", verdict="expected", then="next"
    )
    assert done.headers["location"].startswith("/?agent=cat&done=verdict-expected")


@pytest.mark.parametrize(
    ("act", "values"),
    [
        ("verdict", {"verdict": "perhaps"}),
        ("verdict", {"verdict": "confirmed", "fault": "mine"}),
        ("verdict", {"verdict": "confirmed", "kind": "odd"}),
        ("verdict", {"verdict": "confirmed", "version": "x"}),
        ("verdict", {"verdict": "confirmed", "trace_id": "0" * 32}),
        ("verdict", {"verdict": "confirmed", "reason": "x" * 4_001}),
        ("snooze", {"hours": "0"}),
        ("snooze", {"hours": "many"}),
    ],
)
def test_a_form_that_cannot_be_read_changes_nothing(maria, queue, item, act, values):
    answer = maria.send(f"/items/{item}", f"/items/{item}/{act}", **values)
    assert answer.status_code == 400
    assert state(queue, item) == "open"


def test_a_form_that_failed_can_be_mended_and_sent_again(maria, queue, item):
    fields = maria.fields(f"/items/{item}", f"/items/{item}/verdict")
    assert maria.post(f"/items/{item}/verdict", {**fields, "verdict": "?"}).status_code == 400
    done = maria.post(f"/items/{item}/verdict", {**fields, "verdict": "confirmed"})
    assert done.status_code == 303


def test_an_item_whose_lease_is_over_is_shown_as_open(maria, queue, item):
    import time

    queue.claim(item, "jonas", lease_s=0.05)
    time.sleep(0.1)
    assert "jonas</small>" not in maria.get("/").text
    page = maria.get(f"/items/{item}").text
    assert "holds this item" not in page
    maria.send(f"/items/{item}", f"/items/{item}/verdict", verdict="confirmed")
    assert queue.item(item).item.verdict_by == "maria"
