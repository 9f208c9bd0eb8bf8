"""A tool was executed too often or too seldom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import incomplete, run, tool
from tests.rules.clauses import judge

if TYPE_CHECKING:
    from spanwitness.model import Run


def reads(n: int, n_failed: int = 0) -> Run:
    good = [tool("read_section", gives=i, id=f"g{i}") for i in range(n)]
    bad = [tool("read_section", error="no", id=f"b{i}") for i in range(n_failed)]
    return run(*good, *bad)


def told_failures(n: int, n_failed: int) -> Run:
    """Errors that came as the text of the result, with no mark."""
    good = [tool("read_section", gives=i, id=f"g{i}") for i in range(n)]
    bad = [tool("read_section", gives="Error: no page", id=f"b{i}") for i in range(n_failed)]
    return run(*good, *bad)


@pytest.mark.parametrize(
    ("one", "limits", "word"),
    [
        (reads(3), {"at_most": 2}, "violated"),
        (reads(2), {"at_most": 2}, "holds"),
        (reads(0), {"at_most": 0}, "holds"),
        (reads(1), {"at_most": 0}, "violated"),
        (reads(1), {"at_least": 2}, "violated"),
        (reads(2), {"at_least": 2, "at_most": 2}, "holds"),
        (reads(3), {"at_least": 2, "at_most": 2}, "violated"),
        (reads(2, n_failed=5), {"at_most": 2}, "holds"),
        (reads(2, n_failed=5), {"at_most": 2, "failed": "count"}, "violated"),
        (told_failures(1, n_failed=2), {"at_most": 1}, "holds"),
        (told_failures(1, n_failed=2), {"at_least": 2}, "violated"),
        (told_failures(1, n_failed=2), {"at_most": 1, "failed": "count"}, "violated"),
        (incomplete(reads(3)), {"at_most": 2}, "violated"),
        (incomplete(reads(2)), {"at_most": 2}, "not_assessed"),
        (incomplete(reads(1)), {"at_least": 2}, "not_assessed"),
        (incomplete(reads(2)), {"at_least": 2}, "holds"),
    ],
)
def test_counts_inside_and_outside_of_the_range(
    one: Run, limits: dict[str, object], word: str
) -> None:
    assert judge(one, "count_out_of_range", tool="read_section", **limits).word == word


def test_the_sentence_names_the_count_and_the_limit() -> None:
    outcome = judge(reads(3), "count_out_of_range", tool="read_section", at_most=2)
    assert outcome.reason == "read_section was executed 3 times; at most 2 is allowed."
    assert len(outcome.span_ids) == 3
