from __future__ import annotations

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    incomplete,
    judge,
    result,
    run,
    tool,
    user,
    without_content,
)

from spanwitness.model import Delivery, MediaPart

ROWS = [{"id": n, "name": f"row {n}"} for n in range(276)]
REPORT = "Finding one: the lid is loose.\n" * 300


def story(*states, gives=ROWS, text="[truncated]", name="list_rows", fields=None, size_bytes=None):
    """The states in which the result stood in the requests that followed, one request each."""
    items = [
        chat(calls=[call(name, id="c")], offers=[name]),
        tool(name, gives=gives, id="c", fields=fields or {}),
    ]
    for state in states:
        carried = (
            user("Please."),
            assistant("..."),
            text if not isinstance(text, str) else result(text, id="c", name=name),
        )
        items.append(
            chat(
                "Done.",
                offers=[name],
                given=carried,
                delivered=(Delivery(call_id="c", state=state, size_bytes=size_bytes),),
            )
        )
    return run(*items)


VIOLATED = {
    # A32: cut at a cap
    "cut": story("altered", text='[{"id": 0, "name": "row 0"}, {"id": 1 [truncated]'),
    "cut, and it speaks of a handle": story(
        "altered",
        gives={"id": 7, "note": "handle with care, " * 9, "price": 3},
        text='{"id": 7, "note": "handle with care, handle with ca',
    ),
    # A33: only the tail of a sub-agent's report
    "only the tail is left": story(
        "altered",
        gives=REPORT,
        text=REPORT[-4000:],
        name="delegate",
        fields={"side": "subagent"},
    ),
    # A60: falsy results of a lookup
    "an empty object replaced": story(
        "altered", gives={}, text="COMPLETED", name="lookup_customer"
    ),
    "a zero replaced": story("altered", gives=0, text="COMPLETED", name="lookup_customer"),
    "None replaced": story("altered", gives=None, text="COMPLETED", name="lookup_customer"),
    "altered in every request": story("altered", "altered"),
    "compared live, content off": without_content(story("altered", size_bytes=4000)),
    "a zero replaced, content off": without_content(
        story("altered", gives=0, size_bytes=9, fields={"result_chars": 1})
    ),
}
HOLDS = {
    "whole": story("whole"),
    "whole at first, cut later": story("whole", "altered"),
    "an error put into other words": story("altered", fields={"outcome": "error"}),
    "a write that returns nothing": story("altered", gives=None, text="Done", name="send_email"),
    "a reference to a stored result": story(
        "altered", text="Result stored as artifact rows-17.json"
    ),
    "a link": story("altered", text="s3://bucket/rows-17.json"),
    "a media reference": story(
        "altered",
        text=result("", id="c", parts=(MediaPart(modality="file", uri="file://rows-17.json"),)),
    ),
}
OTHERWISE = {
    "a short text for a long one may be a handle, content off": (
        without_content(story("altered", size_bytes=40, fields={"result_chars": 9000})),
        "not_assessed",
    ),
    "no tool ran": (run(chat("Hello.")), "not_applicable"),
    "could not be compared": (story("unknown"), "not_assessed"),
    "delivered results not recorded": (
        run(chat("Hello.", dialect="otel_genai"), dialects=("otel_genai",)),
        "not_assessed",
    ),
    "a hole in the trace": (incomplete(story("whole")), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_result_that_lost_values_on_its_way_is_told(of):
    verdict = judge("result_altered", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "warning", "harness")
    assert verdict.evidence["call_ids"] == ["c"]


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_other_forms_and_references_are_not_told(of):
    words = judge("result_altered", of).verdict
    assert words in ("holds", "not_applicable")


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("result_altered", of).verdict == word


@pytest.mark.parametrize(
    ("of", "sizes"),
    [
        (story("altered", gives="ab " * 99, text="ab"), " (297 characters returned, 2 delivered)"),
        (
            without_content(
                story("altered", gives="x", fields={"result_chars": 9000}, size_bytes=4000)
            ),
            " (9000 characters returned, 4000 bytes delivered)",
        ),
        (story("altered", gives={}, text="COMPLETED"), ""),
    ],
)
def test_the_sizes_are_told_where_both_are_known(of, sizes):
    reason = judge("result_altered", of).reason
    assert reason.endswith(f"lacks some of the values that were returned{sizes}.")
