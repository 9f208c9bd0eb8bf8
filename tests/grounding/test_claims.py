"""What of an answer is a claim, and what is none."""

from __future__ import annotations

import msgspec
import pytest
from tests.grounding.receipts import read, receipt
from tests.rules.builders import chat, json_schema, run, submission

from spanwitness.grounding import FoundClaim, claims_of
from spanwitness.model import Claim


def kinds(answer: str) -> dict[str, str]:
    """The claims of an answer with their kinds."""
    return {c.text: c.kind for c in claims_of(run(chat(answer)), answer)}


@pytest.mark.parametrize(
    ("answer", "text", "kind"),
    [
        ("It draws 345 \u00b5A at most.", "345 \u00b5A", "number"),
        ("It cost $1,234.50 in all.", "$1,234.50", "number"),
        ("It was released on 29 November 2026.", "29 November 2026", "date"),
        ("It arrives on May 26 in time.", "May 26", "date"),
        ("The part is DPS310 here.", "DPS310", "identifier"),
        ("Your order #W2378156 is on its way.", "#W2378156", "identifier"),
        ("Use repo_1 for it.", "repo_1", "identifier"),
        ("Paid with gift card 7504069 today.", "7504069", "identifier"),
        ("Write to mia.li@example.com please.", "mia.li@example.com", "identifier"),
        ("See https://example.org/a/b for more.", "https://example.org/a/b", "identifier"),
        ("It stands on page 12 of it.", "page 12", "identifier"),
        ("It is booked for Sophia Silva now.", "Sophia Silva", "name"),
        ("Paris", "Paris", "name"),
        ("electric current", "electric current", "name"),
        ('It says "the device operates from 1.7 V" there.', "the device operates from 1.7 V",
         "quotation"),
    ],
)  # fmt: skip
def test_a_statement_that_evidence_can_hold_is_a_claim(answer: str, text: str, kind: str):
    assert kinds(answer).get(text) == kind


@pytest.mark.parametrize(
    "answer",
    [
        "I could not find it, sorry.",
        "Yes.",
        "Hello! How can I help you today?",
        "1. Open it.\n2. Close it.",
        "Please update to version 3.3.1 of it.",
        "The Flight Details are below.\n### Outbound Flight\nnothing",
    ],
)
def test_small_talk_lists_and_headings_claim_nothing(answer: str):
    assert {k: v for k, v in kinds(answer).items() if v != "name"} == {}


def test_what_the_user_is_asked_to_say_is_no_quotation():
    assert "quotation" not in kinds('Please reply "yes, cancel my order" to confirm.').values()


def test_fields_are_claims_and_judgements_labels_and_reasoning_are_none():
    schema = {"properties": {"status_word": {"enum": ["good one", "bad one"]}}}
    answer = {
        "vdd_max_mv": 3650, "status_word": "good one", "confidence": 0.93, "is_valid": True,
        "reasoning": "It says 4.75 V on Monday.", "part": "DPS310",
        "quote": "the maximum is 3.65 V", "price": {"value": 12.5, "unit": "EUR"},
    }  # fmt: skip
    of = run(chat(answer, format=json_schema(schema)))
    found = {c.claim.field: c for c in claims_of(of, of.final_text)}
    assert set(found) == {"vdd_max_mv", "part", "quote", "price.value"}
    assert found["vdd_max_mv"].claim.unit == "mv"
    assert found["price.value"].claim.unit == "EUR"
    assert {c.kind for c in found.values()} == {"number", "identifier", "quotation"}
    assert {c.origin for c in found.values()} == {"field"}


def test_declared_claims_come_first_and_are_not_repeated():
    declared = Claim(value=3.6, unit="V", field="vdd")
    of = run(chat("It is 3.6 V."), submission("It is 3.6 V.", claims=(declared,)))
    (one,) = claims_of(of, "It is 3.6 V.")
    assert (one.origin, one.claim) == ("declared", declared)


def test_the_number_of_claims_is_bounded():
    answer = "; ".join(f"{n}.5 V" for n in range(5000))
    found = claims_of(run(chat(answer)), answer)
    assert len(found) <= 200
    assert all(isinstance(one, FoundClaim) for one in found)


@pytest.mark.parametrize(
    "answer", ["{" * 5000, "[" * 100_000 + "]" * 100_000, "\x00" * 99, '"' * 9999, "9" * 9999]
)
def test_hostile_answers_are_read_to_an_end(answer: str):
    assert len(claims_of(run(chat(answer)), answer)) <= 200


@pytest.mark.parametrize(
    "text",
    ["2026-11-29", "29 November 2026", "Nov 29, 2026", "29.11.2026", "11/29/2026", "29/11/2026",
     "20261129", "2026/11/29", "29-Nov-2026", "the 29th of November 2026", "29 Nov '26"],
)  # fmt: skip
def test_a_date_is_met_in_any_form(text: str):
    assert receipt(f"released {text} by us", "On 29 November 2026.").state == "in_window"


@pytest.mark.parametrize("text", ["2026-11-28", "12026-11-29", "2026-11-290", "29 November 2025"])
def test_another_date_is_not_met(text: str):
    assert receipt(f"released {text} by us", "On 29 November 2026.").state == "absent"


@pytest.mark.parametrize("text", ["2026-05-26", "May 26th, 2026", "26 May", "5/26"])
def test_a_day_without_its_year_is_met(text: str):
    assert receipt(f"leaves {text} at noon", "It leaves on May 26.", "May 26").state == "in_window"


def test_a_name_is_met_in_the_parts_of_a_record():
    text = {"name": {"first_name": "Sophia", "last_name": "Silva"}}
    assert receipt(text, "It is for Sophia Silva now.").state == "in_window"
    assert receipt(text, "It is for Sophia Rossi now.").state == "absent"


def test_digits_that_name_a_card_are_met_in_its_identifier():
    text = {"payment": "gift_card_7504069"}
    assert receipt(text, "Paid with gift card 7504069 today.").state == "in_window"
    assert receipt(text, "Paid with gift card 750406 today.").state == "absent"


def test_a_page_is_met_in_the_arguments_of_a_result_text():
    assert receipt("--- page 12 ---\ntext", "See page 12 of it.").state == "in_window"
    assert receipt("--- page 121 ---\ntext", "See page 12 of it.").state == "absent"


QUOTED = "The supply voltage of the device is 3.6 V at most."


def test_a_quotation_stands_word_for_word_or_folded():
    assert receipt(QUOTED, f'It says "{QUOTED}" there.').match == "exact"
    other = QUOTED.replace(" of the", "\n  of  the").upper()
    assert receipt(other, f'It says "{QUOTED}" there.').match == "folded"


def test_a_quotation_with_small_edits_is_similar_and_the_difference_is_told():
    found = receipt(QUOTED, 'It says "The supply voltage of the device is 3.3 V at most." there.')
    assert (found.state, found.match) == ("in_window", "similar")
    assert found.difference == "'3.3' for '3.6'"


def test_an_invented_quotation_is_absent():
    said = 'It says "never exceed the rated pressure of the housing" there.'
    assert receipt(QUOTED, said).state == "absent"


def test_the_document_of_a_passage_in_a_list_is_its_own():
    text = [
        {"title": "BMP280", "text": "It runs at 3.25 V."},
        {"title": "DPS310", "text": "It runs at 3.65 V."},
    ]
    found = receipt(text, "It runs at 3.65 V.", "3.65 V")
    assert found.places[0].document is not None
    assert found.places[0].document.identity == "DPS310"


def test_a_ligature_moves_no_place():
    of = read("The \ufb01rst \ufb02ow is 3.65 V.", "It is 3.65 V.")
    from tests.grounding.receipts import claims

    (place,) = claims(of)["3.65 V"].receipt.places
    assert "The \ufb01rst \ufb02ow is 3.65 V."[place.start : place.end] == "3.65 V"


def test_claims_are_plain_values():
    (one,) = claims_of(run(chat("It is 3.6 V.")), "It is 3.6 V.")
    assert msgspec.structs.asdict(one)["kind"] == "number"
