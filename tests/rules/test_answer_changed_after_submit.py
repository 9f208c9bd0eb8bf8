"""The submitted answer is not the one that the run ended with."""

from __future__ import annotations

import pytest
from tests.rules.builders import chat, incomplete, run, submission

from spanwitness.rules.answer_changed_after_submit import answer_changed_after_submit
from spanwitness.rules.facts import Facts


@pytest.mark.parametrize(
    ("digests", "word"),
    [
        ({"digest": "aa", "final_digest": "bb"}, "violated"),
        ({"digest": "aa", "final_digest": "aa"}, "holds"),
        ({"digest": "aa"}, "not_assessed"),
        ({"final_digest": "aa"}, "not_assessed"),
        ({}, "not_assessed"),
    ],
)
def test_digests_of_the_submitted_answer(digests: dict[str, str], word: str) -> None:
    one = run(chat("x"), submission({"v": 1}, **digests))
    outcome = answer_changed_after_submit.check(Facts(one))
    assert outcome.word == word
    if word == "violated":
        assert one.submission is not None
        assert outcome.span_ids == (one.submission.span_id, one.root_span_id)


def test_a_change_shows_in_an_incomplete_trace_too() -> None:
    one = incomplete(run(submission("x", digest="aa", final_digest="bb")))
    assert answer_changed_after_submit.check(Facts(one)).word == "violated"


def test_without_a_submission_there_is_nothing_to_judge() -> None:
    assert answer_changed_after_submit.check(Facts(run(chat("x")))).word == "not_applicable"
    hole = incomplete(run(chat("x")))
    assert answer_changed_after_submit.check(Facts(hole)).word == "not_assessed"
