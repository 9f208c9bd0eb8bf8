"""Pauses between attempts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from spanwitness.errors import SettingsError
from spanwitness.review.outbound.retry import Answer, RetryPolicy, read_retry_after

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
FAILED = Answer(word="retry", status=500)


def pause(policy, attempts, answer=FAILED, draw=lambda low, high: (low + high) / 2):
    found = policy.next_at(answer, attempts=attempts, now=NOW, draw=draw)
    return None if found is None else (found - NOW).total_seconds()


def test_pauses_grow_up_to_a_bound_and_then_end():
    found = [pause(RetryPolicy(), attempts) for attempts in range(1, 11)]
    assert found == [5, 20, 80, 320, 1280, 5120, 18000, 18000, 18000, None]


def test_a_pause_is_drawn_around_its_middle():
    policy = RetryPolicy()
    assert pause(policy, 1, draw=lambda low, high: low) == 2.5
    assert pause(policy, 1, draw=lambda low, high: high) == 7.5
    drawn = {policy.next_at(FAILED, attempts=1, now=NOW) for _ in range(20)}
    assert len(drawn) > 10


def test_a_destination_is_never_called_earlier_than_it_asked():
    asked = Answer(word="retry", status=429, retry_after_s=120)
    assert pause(RetryPolicy(), 1, asked, draw=lambda low, high: low) == 120
    assert 120 < pause(RetryPolicy(), 1, asked, draw=lambda low, high: high) <= 125


def test_a_destination_cannot_ask_for_ever():
    asked = Answer(word="retry", status=503, retry_after_s=1e9)
    found = RetryPolicy().next_at(asked, attempts=1, now=NOW, draw=lambda low, high: low)
    assert found == NOW + timedelta(days=1)


@pytest.mark.parametrize("word", ["dead", "gone"])
def test_what_is_refused_for_good_is_not_tried_again(word):
    assert pause(RetryPolicy(), 1, Answer(word=word)) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120), (" 5 ", 5), ("Mon, 30 Nov 2026 12:01:00 GMT", 60),
        ("Mon, 30 Nov 2026 11:00:00 GMT", 0), ("-5", None), ("soon", None), ("", None),
        (None, None), ("1.5", None), ("9" * 500, 999_999_999),
    ],
)  # fmt: skip
def test_retry_after_is_read_as_seconds_or_a_date(text, seconds):
    assert read_retry_after(text, now=NOW) == seconds


def test_a_policy_that_makes_no_sense_is_refused():
    with pytest.raises(SettingsError):
        RetryPolicy(max_attempts=0)
