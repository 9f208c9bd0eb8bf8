"""Results that were swapped on their way, and lists that lost elements."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import assistant, call, chat, judge, result, run, tool, user

from spanwitness.model import Delivery

if TYPE_CHECKING:
    from spanwitness.model import Run

CALLS = [call("weather", id="a", city="Bern"), call("weather", id="b", city="Oslo")]


def parallel(given: dict[str, object], state: str = "altered", **results: object) -> Run:
    gives = {"a": "10C", "b": "72F", **results}
    history = [user("?"), assistant()] + [result(v, id=i) for i, v in given.items()]
    carried = tuple(Delivery(call_id=i, state=state, part_types=("text",)) for i in given)  # type: ignore[arg-type]
    return run(
        chat(calls=CALLS),
        tool("weather", id="a", gives=gives["a"], city="Bern"),
        tool("weather", id="b", gives=gives["b"], city="Oslo"),
        chat("Bern: 72F, Oslo: 10C", given=history, delivered=carried),
    )


@pytest.mark.parametrize("state", ["altered", "unknown"])
def test_results_under_each_others_ids_are_told_at_error(state: str) -> None:
    verdict = judge("result_altered", parallel({"a": "72F", "b": "10C"}, state))
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "harness")
    assert verdict.evidence["call_ids"] == ["a", "b"]


def test_structured_results_under_each_others_ids_are_told() -> None:
    one = parallel({"a": {"t": 2}, "b": {"t": 1}}, a={"t": 1}, b={"t": 2})
    assert judge("result_altered", one).evidence["is_swapped"] is True


def test_results_in_the_order_of_completion_under_their_own_ids_hold() -> None:
    assert judge("result_altered", parallel({"b": "72F", "a": "10C"}, "whole")).verdict == "holds"


def test_equal_results_cannot_be_swapped() -> None:
    one = parallel({"a": "10C", "b": "10C"}, "whole", b="10C")
    assert judge("result_altered", one).verdict == "holds"


ROWS = [{"row": n, "name": f"pump {n * 7}"} for n in range(276)]
BROKEN = json.dumps(ROWS)[:6000]
CUT = {
    "a list": (ROWS, json.dumps(ROWS[:164]), 164, False),
    "a text that broke off": (ROWS, BROKEN + "[truncated]", BROKEN.count('"row"'), False),
    "beside a total": (
        {"total": 276, "items": ROWS}, json.dumps({"total": 276, "items": ROWS[:20]}), 20, True,
    ),
    "beside another number": (
        {"page": 1, "items": ROWS}, json.dumps({"page": 1, "items": ROWS[:20]}), 20, False,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("returned", "sent", "n", "total"), CUT.values(), ids=CUT)
def test_a_list_that_lost_elements_is_told_with_its_counts(
    returned: object, sent: str, n: int, total: bool
) -> None:
    one = run(
        chat(calls=[call("list")]),
        tool("list", gives=returned),
        chat(
            "There are 276.",
            given=[user("?"), assistant(), result(sent, id="call_list")],
            delivered=(Delivery(call_id="call_list", state="altered", part_types=("text",)),),
        ),
    )
    verdict = judge("result_altered", one)
    assert verdict.verdict == "violated"
    assert verdict.evidence["n_elements_returned"] == 276
    assert verdict.evidence["n_elements_delivered"] == n
    assert verdict.evidence["has_total"] is total
    assert "of 276 elements" in verdict.reason
