"""Values of the answer stand nowhere in what the model saw or a tool gave."""

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

from spanwitness.model import Claim, Delivery, MediaPart, Message

if TYPE_CHECKING:
    from spanwitness.model import Run, Submission

PAGE = "DPS310: supply voltage 1.7 V to 3.6 V, pressure range 300 to 1200 hPa, order 4471-B."


def read(says: object, *more: object, gives: object = PAGE, **fields: object) -> Run:
    error = fields.pop("error", None)
    return run(
        chat(calls=[call("read_page", page=3)], offers=["read_page"]),
        tool("read_page", gives=gives, error=error, page=3),  # type: ignore[arg-type]
        chat(says, offers=["read_page"]),  # type: ignore[arg-type]
        *more,  # type: ignore[arg-type]
        **fields,  # type: ignore[arg-type]
    )


def handed_in(answer: object, *claims: Claim) -> Submission:
    return submission(answer, claims=claims or None)


VIOLATED = {
    "both values": read("It takes 4.25 V to 5.85 V."),
    "half of two": read("It takes 3.6 V and draws 48.3 mA."),
    "one declared claim of several": read(
        "Submitted.",
        handed_in({"v": 3.6}, Claim(value=3.6, unit="V"), Claim(value=48.3, unit="mA")),
    ),
    "one field of the submitted answer": read(
        "Submitted.", handed_in({"voltage": 3.6, "range": 1200, "current_ma": 48.3})
    ),
    "dates and identifiers": read("Ordered on 12 May 2021 under 9931-ZK."),
    "in the text of a field": read({"message": "It takes 4.25 V to 5.85 V, at most 9.41 mA."}),
    "said before, and nowhere else": run(
        chat("It takes 5.85 V, I think.", calls=[call("read_page", page=3)]),
        tool("read_page", gives="nothing about that here", page=3),
        chat("It takes 5.85 V and draws 48.3 mA."),
    ),
}
HOLDS = {
    "as it stands": read("It takes 1.7 V to 3.6 V."),
    "rescaled": read("It takes 1700 mV to 3600 mV."),
    "rounded": read("It takes 1.7 V, and a range of 1.2 bar."),
    "calculated": read("The span is 900 hPa, from 300 hPa to 1200 hPa."),
    "one of three": read("It takes 1.7 V to 3.6 V and draws 48.3 mA."),
    "given by the user": read("Your budget of $417.50 and 3.6 V fit.", prompt="I have $417.50."),
    "what a call was done with": run(
        chat(calls=[call("book_room", date="2026-12-24", price=187)]),
        tool("book_room", gives="ok", date="2026-12-24", price=187),
        chat("Your room is booked for 24 December 2026 at $187."),
    ),
    "a price difference": read(
        "The refund is $12.07 to your card ending in 4471.",
        gives={"items": [{"price": 137.94}, {"price": 150.01}], "card": "4471"},
    ),
    "an abstention": read("I could not find the current; 48.3 mA and 5.85 V are not given."),
    "a run that failed": read("It takes 4.25 V to 5.85 V.", status="error"),
}
NOT_APPLICABLE = {
    "small talk": run(chat("Hello! How can I help you today?")),
    "no value": read("It works well."),
    "one enum": read({"status": "ok"}),
}
IMAGE = Message(role="user", parts=(MediaPart(modality="image"),))
UNKNOWN = {
    "content off": without_content(VIOLATED["both values"]),
    "an image in the input": run(chat("It takes 4.25 V to 5.85 V.", given=[IMAGE])),
    "a hole": incomplete(VIOLATED["both values"]),
    "state of the provider": run(chat("It takes 4.25 V to 5.85 V.", has_server_state=True)),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_values_that_stand_nowhere_are_told(one: Run) -> None:
    verdict = judge("value_ungrounded", one)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "reasoning")
    assert "48.3" not in verdict.reason


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_supported_calculated_and_given_values_hold(one: Run) -> None:
    assert judge("value_ungrounded", one).verdict == "holds"


@pytest.mark.parametrize("one", NOT_APPLICABLE.values(), ids=NOT_APPLICABLE)
def test_without_values_there_is_nothing_to_judge(one: Run) -> None:
    assert judge("value_ungrounded", one).verdict == "not_applicable"


@pytest.mark.parametrize("one", UNKNOWN.values(), ids=UNKNOWN)
def test_what_cannot_be_seen_is_not_assessed(one: Run) -> None:
    assert judge("value_ungrounded", one).verdict == "not_assessed"


def test_general_knowledge_with_optional_tools_is_a_remark() -> None:
    one = run(chat("Everest is 8849 m high, K2 8611 m.", offers=["search"]))
    verdict = judge("value_ungrounded", one)
    assert (verdict.verdict, verdict.severity) == ("violated", "info")


def test_a_submitted_text_without_any_tool_is_a_remark() -> None:
    sum_in_the_head = run(chat("The sum is 40.25"), handed_in("40.25"), prompt="What is 12 + 30?")
    verdict = judge("value_ungrounded", sum_in_the_head)
    assert (verdict.verdict, verdict.severity) == ("violated", "info")


@pytest.mark.parametrize(
    "one",
    [
        run(chat("40.25"), handed_in({"voltage": 40.25})),
        run(chat("40.25"), handed_in("40.25", Claim(value=40.25))),
        run(chat("40.25", offers=["read_page"]), handed_in("40.25")),
        read("40.25", handed_in("40.25")),
    ],
    ids=["a field", "a declared claim", "a tool was offered", "something was read"],
)
def test_a_submitted_value_that_should_rest_on_something_is_an_error(one: Run) -> None:
    verdict = judge("value_ungrounded", one)
    assert (verdict.verdict, verdict.severity) == ("violated", "error")


def told(state_of: Run) -> tuple[str, str | None, object]:
    verdict = judge("value_ungrounded", state_of)
    return verdict.fault, verdict.kind, verdict.evidence["attribution"]


SAYS = "It takes 4.25 V to 5.85 V."
FAULTS = {
    "nothing was read": (
        run(chat("Submitting."), submission({"voltage": 5.85})),
        ("reasoning", "skipped_verification", "nothing_read"),
    ),
    "another thing was asked for": (
        run(
            chat(calls=[call("open", path="BMP280.pdf")]),
            tool("open", gives="BMP280", path="BMP280.pdf"), chat(SAYS), subject="DPS310",
        ),
        ("reasoning", "selection", "asked_for_another"),
    ),
    "the right thing was asked for": (
        run(
            chat(calls=[call("open", path="DPS310.pdf")]),
            tool("open", gives="a page of nothing", path="DPS310.pdf"), chat(SAYS),
            subject="DPS310",
        ),
        ("tool", None, "not_in_result"),
    ),
    "the reads failed": (
        read(SAYS, error="timeout"), ("reasoning", "skipped_verification", "reads_gave_nothing"),
    ),
    "something was read": (read(SAYS), ("reasoning", None, "invented")),
}  # fmt: skip


@pytest.mark.parametrize(("one", "expected"), FAULTS.values(), ids=FAULTS)
def test_the_fault_is_found_by_elimination(one: Run, expected: tuple[str, str, str]) -> None:
    assert told(one) == expected


def test_a_value_that_was_returned_and_not_delivered_is_no_invention() -> None:
    given = [user("?"), assistant(), result("[cut]", id="call_read_page")]
    one = run(
        chat(calls=[call("read_page", page=3)]),
        tool("read_page", gives=PAGE, page=3),
        chat(
            "It takes 1.7 V to 3.6 V.",
            given=given,
            delivered=(Delivery(call_id="call_read_page", state="altered"),),
        ),
    )
    assert judge("value_ungrounded", one).verdict == "holds"
