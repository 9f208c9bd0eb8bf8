"""Something of the run is missing from the trace."""

from __future__ import annotations

import pytest
from tests.rules.builders import chat, incomplete, run

from spanwitness.rules.facts import Facts
from spanwitness.rules.trace_incomplete import trace_incomplete


@pytest.mark.parametrize(
    ("reasons", "told"),
    [
        ((), "spans are missing"),
        (("spans_lost",), "spans were lost on their way"),
        (("unsampled_spans", "unseen_traffic"), "not sampled; model traffic went round"),
        (("a_new_reason",), "a new reason"),
    ],
)
def test_a_hole_is_told_with_its_reasons(reasons: tuple[str, ...], told: str) -> None:
    outcome = trace_incomplete.check(Facts(incomplete(run(chat("x")), *reasons)))
    assert outcome.word == "violated"
    assert told in outcome.reason
    assert trace_incomplete.severity == "info"
    assert trace_incomplete.fault == "undetermined"


def test_our_own_spans_without_a_hole_hold() -> None:
    assert trace_incomplete.check(Facts(run(chat("x")))).word == "holds"


def test_foreign_spans_cannot_show_that_nothing_is_missing() -> None:
    foreign = run(chat("x", dialect="otel_genai"), dialects=("otel_genai",))
    assert trace_incomplete.check(Facts(foreign)).word == "not_assessed"
