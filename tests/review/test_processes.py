"""Several processes on one file, at the scale of a quick test; tests/e2e has the full one."""

from __future__ import annotations

from tests.review.queue_processes import (
    assert_all_filed_once,
    claim_from_processes,
    file_and_kill,
    judge_and_kill,
)


def test_no_item_goes_to_two_processes_and_nobody_starves(queue_url: str):
    claims = claim_from_processes(queue_url, n_items=200, n_processes=3)
    assert claims.n_claimed == claims.n_unique == 200
    assert claims.worst_s < 1
    assert min(claims.shares) > 30


def test_killed_processes_lose_and_double_nothing(queue_url: str):
    assert file_and_kill(queue_url, n_findings=400, n_kills=4, seed=11) == 4
    assert_all_filed_once(queue_url, 400)


def test_items_of_killed_reviewers_come_back(queue_url: str):
    assert judge_and_kill(queue_url, n_items=30, n_kills=3, seed=3) == 3
