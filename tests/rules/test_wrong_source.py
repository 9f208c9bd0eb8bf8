"""Support that comes from another document, row or field than was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import (
    call,
    chat,
    incomplete,
    judge,
    run,
    submission,
    tool,
    without_content,
)

if TYPE_CHECKING:
    from spanwitness.model import Run


def read(name: str, arguments: dict[str, object], gives: object, id: str) -> tuple[object, object]:  # noqa: A002
    return (
        chat(calls=[call(name, id=id, arguments=arguments)], offers=[name]),
        tool(name, id=id, gives=gives, arguments=arguments),
    )


def answered(*reads: tuple[object, object], says: object, **fields: object) -> Run:
    items = [item for pair in reads for item in pair]
    return run(*items, chat(says), **fields)  # type: ignore[arg-type]


OPEN_OTHER = read(
    "open_document", {"path": "docs/BMP280.pdf"}, "BMP280\nSupply voltage: 1.71 to 3.6 V", "a"
)
OPEN_OWN = read(
    "open_document", {"path": "docs/DPS310.pdf"}, "DPS310\nSupply voltage: 1.7 to 3.6 V", "a"
)
PAGE = read("read_page", {"page": 3}, "Supply voltage: 1.71 V to 3.6 V", "b")
SAYS = "The supply voltage is 1.71 V to 3.6 V."
BERN = read("weather", {"city": "Bern"}, "10C", "a")
OSLO = read("weather", {"city": "Oslo"}, "72F", "b")
TABLE = [
    {"name": "Pump A12", "flow": 120, "price": 340},
    {"name": "Pump B7", "flow": 95, "price": 410},
]
ROWS = read("list_pumps", {}, TABLE, "a")
RECORD = read("get_limits", {"part": "X"}, {"typ_current": 250, "max_current": 300}, "a")

INVOICE = read("search_text", {"word": "INV-2041"}, "page 1: Invoice INV-2041, 2026-03-14", "a")
OTHER_PAGE = read(
    "read_page", {"page": 3}, "Previous invoice INV-2017: total due 980.50 EUR. Thank you.", "b"
)
OWN_PAGE = read("read_page", {"page": 2}, "Total due 1,416.00 EUR. See also INV-2017.", "b")

VIOLATED = {
    "a sentence that names another number of the declared subject's kind": (
        answered(INVOICE, OTHER_PAGE, says="The total due is 980.50 EUR.", subject="INV-2041"),
        "error", "reasoning",
    ),
    "a sentence that names another number than the answer": (
        answered(INVOICE, OTHER_PAGE, says="The total due of INV-2041 is 980.50 EUR."),
        "warning", "reasoning",
    ),
    "a record of another thing": (
        answered(
            read("get_order", {"order_id": "W1234"}, {"order_id": "W9999", "total": 12}, "a"),
            says="The total is 12.",
        ),
        "error", "tool",
    ),
    "another document than the declared subject's": (
        answered(OPEN_OTHER, says=SAYS, subject="DPS310"), "error", "reasoning",
    ),
    "a page of another document": (
        answered(OPEN_OTHER, PAGE, says=SAYS, subject="DPS310"), "error", "reasoning",
    ),
    "another document than the one that the question names": (
        answered(OPEN_OTHER, says=SAYS, prompt="What is the supply voltage of the DPS310?"),
        "info", "reasoning",
    ),
    "another person": (
        answered(
            read("open_article", {"title": "Pierre Curie"}, "Born on 15 May 1859.", "a"),
            says="She was born on 15 May 1859.", subject="Marie Sklodowska",
        ),
        "error", "reasoning",
    ),
    "values of parallel calls swapped": (
        answered(BERN, OSLO, says="Bern: 72F, Oslo: 10C"), "error", "reasoning",
    ),
    "one value from another call": (
        answered(BERN, OSLO, says="In Bern it has 72F."), "warning", "reasoning",
    ),
    "a value from another row": (
        answered(ROWS, says="Pump A12 costs 410."), "warning", "reasoning",
    ),
    "values from each other's rows": (
        answered(ROWS, says="Pump A12 costs 410, and Pump B7 costs 340."), "error", "reasoning",
    ),
    "a value from another field": (
        answered(RECORD, says={"max_current": 250}), "error", "reasoning",
    ),
}  # fmt: skip
HOLDS = {
    "the same thing, spelled otherwise": answered(
        read("get_order", {"order_id": "#W1234"}, {"order_id": "w1234", "total": 12}, "a"),
        says="The total is 12.",
    ),
    "an alias that the record tells": answered(
        read("get_user", {"email": "a@b.com"}, {"email": "A@B.com", "id": 4}, "a"), says="Found."
    ),
    "a page that names another number elsewhere": answered(
        INVOICE, OWN_PAGE, says="INV-2041 has a total due of 1,416.00 EUR.", subject="INV-2041"
    ),
    "a record that lists other numbers beside its values": answered(
        read("get_order", {"order_id": "#W104"}, '{"also": ["W201", "W305"], "total": 980.5}', "a"),
        says="The total of #W104 is 980.50 EUR.", subject="W104",
    ),
    "the other thing, told as such": answered(
        INVOICE, OTHER_PAGE, says="INV-2017 had a total due of 980.50 EUR.", subject="INV-2041"
    ),
    "both numbers in one sentence": answered(
        INVOICE,
        read("read_page", {"page": 3}, "INV-2041 replaces INV-2017: 980.50 EUR due.", "b"),
        says="The total due of INV-2041 is 980.50 EUR.",
    ),
    "an amount whose currency looks like a name": answered(
        read("read_page", {"page": 3}, "EUR2017 was raised to EUR980 on 3 May.", "b"),
        says="It was raised to EUR980 from EUR2017.", subject="INV-2041",
    ),
    "the subject's document": answered(
        OPEN_OWN, says="The supply voltage is 1.7 V to 3.6 V.", subject="DPS310"
    ),
    "a page of the subject's document": answered(OPEN_OWN, PAGE, says=SAYS, subject="DPS310"),
    "several documents, one of them the subject's": answered(
        OPEN_OTHER, read("open_document", {"path": "DPS310.pdf"}, "DPS310 1.71 V 3.6 V", "c"),
        says=SAYS, subject="DPS310",
    ),
    "a document that does not say what it is about": answered(
        read("read_page", {"page": 3}, "Supply voltage: 1.71 V to 3.6 V", "a"),
        says=SAYS, subject="DPS310",
    ),
    "a comparison that names both": answered(
        read("open_document", {"path": "compare.html"}, "DPS310 or BMP280: 1.71 V, 3.6 V", "a"),
        says=SAYS, subject="DPS310",
    ),
    "an abstention": answered(OPEN_OTHER, says="I could not find the DPS310.", subject="DPS310"),
    "parallel values with their own things": answered(BERN, OSLO, says="Oslo: 72F, Bern: 10C"),
    "told in the other order": answered(BERN, OSLO, says="10C in Bern, 72F in Oslo."),
    "a comparison of both": answered(BERN, OSLO, says="Bern is colder than Oslo with 10C to 72F."),
    "rows as they stand": answered(ROWS, says="Pump A12 costs 340, Pump B7 costs 410."),
    "a difference of rows": answered(ROWS, says="Pump B7 costs 70 more."),
    "the field itself": answered(RECORD, says={"max_current": 300}),
    "a field that the record does not have": answered(RECORD, says={"current": 250}),
}  # fmt: skip


@pytest.mark.parametrize(("one", "severity", "fault"), VIOLATED.values(), ids=VIOLATED)
def test_another_document_row_or_field_is_told(one: Run, severity: str, fault: str) -> None:
    verdict = judge("wrong_source", one)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", severity, fault)
    assert verdict.kind == ("selection" if fault == "reasoning" else None)


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_the_right_source_and_an_unnamed_one_hold(one: Run) -> None:
    assert judge("wrong_source", one).verdict == "holds"


def test_a_submitted_field_is_compared_too() -> None:
    one = run(*RECORD, chat("Submitting."), submission({"max_current": 250}))  # type: ignore[arg-type]
    assert judge("wrong_source", one).evidence["fields"] == ["max_current"]


def test_without_content_it_is_not_assessed() -> None:
    one = without_content(answered(OPEN_OTHER, says=SAYS, subject="DPS310"))
    assert judge("wrong_source", one).verdict == "not_assessed"


def test_a_conflict_that_is_seen_counts_in_a_trace_with_a_hole() -> None:
    one = answered(read("get_order", {"order_id": "W1234"}, {"order_id": "W9"}, "a"), says="It is.")
    assert judge("wrong_source", incomplete(one)).verdict == "violated"


def test_without_executions_there_is_nothing_to_judge() -> None:
    assert judge("wrong_source", run(chat("Hello."))).verdict == "not_applicable"
