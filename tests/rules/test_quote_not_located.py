"""A quotation is nowhere in what the model saw, or is the model's own sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    incomplete,
    judge,
    result,
    run,
    submission,
    tool,
    user,
    without_content,
)  # fmt: skip

from spanwitness.model import Claim, Delivery

if TYPE_CHECKING:
    from spanwitness.model import Run

PAGE = "The sensor element is factory calibrated. The maximum output current is 412 mA."
INVENTED = "The output is limited by a thermal fuse at all times"
RIGHT = "The maximum output current is 412 mA"


def read(says: object, *more: object, gives: object = PAGE, **fields: object) -> Run:
    return run(
        chat(calls=[call("read_page", page=3)], offers=["read_page"]),
        tool("read_page", gives=gives, page=3),
        chat(says, offers=["read_page"]),  # type: ignore[arg-type]
        *more,  # type: ignore[arg-type]
        **fields,  # type: ignore[arg-type]
    )


def own(snippet: str) -> Run:
    """A55: a grounding service gives back a sentence of the model's own answer as a snippet."""
    return run(
        chat(f"{snippet}.", calls=[call("ground", q="output limit")]),
        tool(
            "ground", gives={"url": "https://example.com/a", "snippet": snippet}, q="output limit"
        ),
        chat(f'According to the datasheet, "{snippet}".'),
    )


VIOLATED = {
    "an invented sentence": read(f'The datasheet states: "{INVENTED}".'),
    "with a page behind it": read(f'"{INVENTED}" (p. 3)'),
    "a declared quote": read("Done.", submission({"x": "y"}, claims=(Claim(quote=INVENTED),))),
    "a field for quotes": read({"current": 412, "quote": INVENTED}),
    "the words of another sense": read(
        'The datasheet states: "The maximum output current is not limited by this sensor".'
    ),
    "the model's own sentence as a snippet": own(INVENTED),
}
HOLDS = {
    "as it stands": read(f'The datasheet states: "{RIGHT}".'),
    "with small edits": read('It states: "the maximum output current  is 412mA."'),
    "cut short": read('It states: "The sensor element is factory calibrated".'),
    "of the user": read(
        f'You wrote "{INVENTED}", and the document says otherwise.', prompt=f"Is it so? {INVENTED}."
    ),
    "a suggestion": read('Please reply "yes, order the sensor with the fuse" to go on.'),
    "a draft": read('A subject line: "Your order of the sensor has a fuse".'),
    "a title": read('The song "Yesterday" is short.'),
    "a snippet that stands in the page too": run(
        chat(f"{RIGHT}.", calls=[call("read_page", page=3)]),
        tool("read_page", gives=PAGE, page=3),
        chat(f'According to the datasheet, "{RIGHT}".'),
        prompt=f"Is this so: {RIGHT}?",
    ),
    "an answer without quotations": read("It is 412 mA."),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_a_quotation_that_is_no_source_text_is_told(one: Run) -> None:
    verdict = judge("quote_not_located", one)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "reasoning")
    assert "fuse" not in verdict.reason


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_located_quotations_and_other_quoted_text_hold(one: Run) -> None:
    assert judge("quote_not_located", one).verdict in ("holds", "not_applicable")


def test_the_models_own_sentence_is_named_as_such() -> None:
    verdict = judge("quote_not_located", own(INVENTED))
    assert verdict.evidence["attribution"] == "self_sourced"
    assert "had written itself before" in verdict.reason


def test_a_quotation_that_was_returned_and_not_delivered_is_the_harness() -> None:
    sent = [user("?"), assistant(), result("[truncated]", id="call_read_page")]
    one = run(
        chat(calls=[call("read_page", page=3)]),
        tool("read_page", gives=PAGE, page=3),
        chat(
            f'The datasheet states: "{RIGHT}".',
            given=sent,
            delivered=(Delivery(call_id="call_read_page", state="altered"),),
        ),
    )
    verdict = judge("quote_not_located", one)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "warning", "harness")
    assert verdict.explained_by == "result_altered"


def test_a_quotation_where_nothing_was_read_and_no_tool_was_due_is_a_remark() -> None:
    one = run(chat('As Tolstoy wrote: "All happy families are alike in one way or another".'))
    verdict = judge("quote_not_located", one)
    assert (verdict.verdict, verdict.severity) == ("violated", "info")


def test_what_cannot_be_seen_is_not_assessed() -> None:
    faulty = VIOLATED["an invented sentence"]
    assert judge("quote_not_located", without_content(faulty)).verdict == "not_assessed"
    assert judge("quote_not_located", incomplete(faulty)).verdict == "not_assessed"
