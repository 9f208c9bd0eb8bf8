"""A value is told without the condition under which it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import call, chat, contract, judge, run, submission, tool, without_content

from spanwitness.model import Claim

if TYPE_CHECKING:
    from spanwitness.model import Run

TABLE = """\
| Parameter | Min | Typ | Max | Unit |
| --- | --- | --- | --- | --- |
| Supply current | 1.1 | 1.7 | 3.2 | \u00b5A |
"""


def read(text: object, says: object, *more: object, prompt: str = "What is its supply?") -> Run:
    return run(
        chat(calls=[call("read_page", page=3)]),
        tool("read_page", gives=text, page=3),
        chat(says),  # type: ignore[arg-type]
        *more,  # type: ignore[arg-type]
        prompt=prompt,
    )


AT = "The supply current is 17.4 \u00b5A at 25 \u00b0C in normal mode."
VIOLATED = {
    "a temperature in the sentence": read(AT, "The supply current is 17.4 \u00b5A."),
    "a symbol in the row": read(
        "Output current: 412 mA, VDD = 3.3 V\nOther: 5 mA", "It gives 412 mA of output current."
    ),
    "a typical value among limits": read(
        "Supply current: typ 17.4 \u00b5A, max 30.2 \u00b5A", "The supply current is 17.4 \u00b5A."
    ),
    "a limit among others": read(
        "Supply current: typ 17.4 \u00b5A, max 30.2 \u00b5A", "The supply current is 30.2 \u00b5A."
    ),
    "a typical value alone": read("17.4 \u00b5A (typ.)", "The supply current is 17.4 \u00b5A."),
    "the column of a table": read(
        TABLE.replace("1.7", "17.4"), "The supply current is 17.4 \u00b5A."
    ),
    "a field of an answer": read(AT, {"supply_current": "17.4 \u00b5A"}),
}
HOLDS = {
    "the condition is told": read(AT, "The supply current is 17.4 \u00b5A at 25 \u00b0C."),
    "it is told in another field": read(AT, {"current": "17.4 \u00b5A", "temperature_c": 25}),
    "the question gave it": read(
        AT, "It is 17.4 \u00b5A.", prompt="Supply current at 25 \u00b0C in normal mode?"
    ),
    "the kind is told": read(
        "Supply current: typ 17.4 \u00b5A, max 30.2 \u00b5A", "At most 30.2 \u00b5A."
    ),
    "the question asked for the kind": read(
        "Supply current: typ 17.4 \u00b5A, max 30.2 \u00b5A", "17.4 \u00b5A.",
        prompt="What is the typical supply current?",
    ),
    "maximum is a part of the name": read("Maximum current 412 mA.", "The current is 412 mA."),
    "the condition belongs to another sentence": read(
        "The current is 412 mA. At 25 \u00b0C the voltage is 3.3 V.", "The current is 412 mA."
    ),
    "another place tells it without": read(
        AT + "\nSummary\n17.4 \u00b5A supply current", "The supply current is 17.4 \u00b5A."
    ),
    "prices, times and counts": read(
        "Order 4412 at 10:30 for $120, max 3 bags, at gate 14", "It costs $120 at gate 14."
    ),
    "the condition itself is the answer": read(
        "Measured at 25 \u00b0C.", "It was measured at 25 \u00b0C."
    ),
    "an answer without values": read(AT, "It is low."),
}  # fmt: skip


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_a_value_without_its_condition_is_told(one: Run) -> None:
    verdict = judge("condition_omitted", one)
    assert (verdict.verdict, verdict.severity) == ("violated", "warning")
    assert (verdict.fault, verdict.kind) == ("reasoning", "condition_omission")


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_told_asked_and_foreign_conditions_hold(one: Run) -> None:
    assert judge("condition_omitted", one).verdict == "holds"


def test_a_contract_declares_what_is_load_bearing() -> None:
    one = read("Range 412 m in high precision mode.", "The range is 412 m.")
    assert judge("condition_omitted", one).verdict == "holds"
    declared = contract(conditions={"*": ["high precision"]})
    assert judge("condition_omitted", one, declared).verdict == "violated"
    told = read("Range 412 m in high precision mode.", "412 m in high precision mode.")
    assert judge("condition_omitted", told, declared).verdict == "holds"


def test_a_declared_condition_is_one_of_its_field() -> None:
    declared = contract(conditions={"range": ["high precision"]})
    text = "Range 412 m in high precision mode."
    assert (
        judge("condition_omitted", read(text, {"range": "412 m"}), declared).verdict == "violated"
    )
    assert judge("condition_omitted", read(text, {"other": "412 m"}), declared).verdict == "holds"


def test_a_declared_claim_may_tell_it_in_its_quotation() -> None:
    claim = Claim(value=17.4, unit="\u00b5A", quote="17.4 \u00b5A at 25 \u00b0C")
    one = read(AT, "Done.", submission({"value": 17.4}, claims=(claim,)))
    assert judge("condition_omitted", one).verdict == "holds"


def test_without_content_it_is_not_assessed() -> None:
    one = without_content(VIOLATED["a temperature in the sentence"])
    assert judge("condition_omitted", one).verdict == "not_assessed"
