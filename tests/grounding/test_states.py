"""Where the support of a claim stands, as seen from the call that gave the answer."""

from __future__ import annotations

import msgspec
from tests.grounding.receipts import claims, read
from tests.rules.builders import (
    assistant,
    call,
    chat,
    incomplete,
    result,
    run,
    submission,
    tool,
    user,
    without_content,
)

from spanwitness.grounding import assess
from spanwitness.model import Claim, MediaPart
from spanwitness.rules.facts import Facts


def state(of: object, said: str) -> str:
    return claims(of)[said].receipt.state  # type: ignore[arg-type]


def test_a_receipt_names_the_span_the_call_the_place_and_the_document():
    of = read("# Sensor\nThe supply voltage is 3.6 V at most.", "It is 3.6 V.")
    (place,) = claims(of)["3.6 V"].receipt.places
    assert (place.source, place.call_id, place.tool) == ("result", "call_read", "read")
    assert place.span_id == of.tools[0].span_id
    assert "supply voltage is 3.6 V at most" in place.excerpt
    assert of.tools[0].result[place.start : place.end] == "3.6 V"  # type: ignore[index]
    assert place.document is not None
    assert place.document.identity == "sensor.pdf"
    assert place.is_delivered is True


def test_a_place_in_json_has_its_path():
    of = read({"items": [{"price": 1}, {"price": 48.25}]}, "The price is 48.25.")
    (place,) = claims(of)["48.25"].receipt.places
    assert place.path == "items[1].price"


def test_what_was_returned_and_never_delivered_is_told():
    of = run(
        chat(calls=[call("read")]),
        tool("read", gives="VDD is 3.65 V"),
        chat("It is 3.65 V.", given=[user("?")], delivered=()),
    )
    found = claims(of)["3.65 V"].receipt
    assert found.state == "not_delivered"
    assert found.places[0].is_delivered is False


def test_what_left_the_window_is_told():
    of = run(
        chat(calls=[call("read")]),
        tool("read", gives="VDD is 3.65 V"),
        chat(calls=[call("look")]),
        tool("look", gives="nothing more"),
        chat("It is 3.65 V.", given=[user("?"), result("nothing more", id="call_look")]),
    )
    assert state(of, "3.65 V") == "left_window"


def test_a_copy_that_the_model_carried_keeps_it_in_the_window():
    of = run(
        chat(calls=[call("read")]),
        tool("read", gives="VDD is 3.65 V"),
        chat("I read 3.65 V so far.", calls=[call("look")]),
        tool("look", gives="nothing more"),
        chat("It is 3.65 V.", given=[user("?"), assistant("I read 3.65 V so far.")]),
    )
    assert state(of, "3.65 V") == "in_window"


def test_what_only_the_model_said_before_is_self_sourced():
    of = run(chat("VDD should be 3.65 V.", calls=[call("read")]), tool("read", gives="no data"),
             chat("It is 3.65 V."))  # fmt: skip
    assert state(of, "3.65 V") == "self_sourced"


def test_what_is_nowhere_is_absent():
    assert state(read("VDD is 3.3 V.", "It is 4.75 V."), "4.75 V") == "absent"


def test_what_the_user_said_is_in_the_window():
    of = read("no data", "You asked about 4.75 V.", prompt="Is 4.75 V right?")
    assert state(of, "4.75 V") == "in_window"


def test_a_sum_of_numbers_in_the_window_is_derivable_and_shown():
    of = read("First: 128 units. Second: 344 units.", "Of 128 and 344 the total is 472.")
    found = claims(of)["472"].receipt
    assert (found.state, found.match) == ("derivable", "derived")
    assert found.derivation == "344 + 128 = 472"


def test_a_sum_of_a_column_is_derivable():
    of = read([{"price": 120.5}, {"price": 80.25}, {"price": 11}], "The total is 211.75.")
    assert claims(of)["211.75"].receipt.state == "derivable"


def test_a_calculation_that_the_answer_shows_is_checked():
    good = read("Fares of $512 and $331.", "$512 + $331 = $843")
    wrong = read("Fares of $512 and $331.", "$512 + $331 = $853")
    assert claims(good)["$843"].receipt.state == "derivable"
    assert claims(wrong)["$853"].receipt.state == "absent"


def test_a_picture_may_hold_what_no_text_holds():
    of = run(chat("It is 4.75 V.", given=[user("See", MediaPart(modality="image"))]))
    found = claims(of)["4.75 V"].receipt
    assert (found.state, found.reason) == (
        "not_decidable", "the input holds a part that cannot be read",
    )  # fmt: skip


def test_a_cut_result_decides_nothing():
    of = read("VDD is 3.3", "It is 4.75 V.")
    cut = msgspec.structs.replace(
        of, tools=tuple(msgspec.structs.replace(t, is_truncated=True) for t in of.tools)
    )
    assert state(cut, "4.75 V") == "not_decidable"


def test_missing_spans_and_provider_state_decide_nothing():
    of = read("VDD is 3.3 V.", "It is 4.75 V.")
    assert state(incomplete(of), "4.75 V") == "not_decidable"
    held = msgspec.structs.replace(of.chats[-1], has_server_state=True)
    kept = msgspec.structs.replace(of, chats=(*of.chats[:-1], held))
    assert state(kept, "4.75 V") == "not_decidable"


def test_with_content_off_declared_claims_cannot_be_decided():
    of = run(
        chat(calls=[call("read")]),
        tool("read", gives="VDD is 3.3 V."),
        chat("It is 3.3 V."),
        submission("3.3 V", claims=(Claim(value=3.3, unit="V", quote="VDD is 3.3 V."),)),
    )
    found = assess(without_content(of), answer=None, executions=Facts(of).executions[:0])
    assert [one.receipt.state for one in found] == ["not_decidable", "not_decidable"]
    on = Facts(of)
    declared = assess(of, answer=on.answer_text, executions=on.executions)[:2]
    assert [(c.kind, c.receipt.state) for c in declared] == [
        ("number", "in_window"), ("quotation", "in_window"),
    ]  # fmt: skip


def test_an_answer_that_was_not_recorded_has_no_claims():
    of = read("VDD is 3.3 V.", "It is 3.3 V.")
    assert assess(of, answer=None, executions=Facts(of).executions) == ()


def test_the_same_run_gives_the_same_receipts_twice():
    of = read("VDD is 3.3 V, released 29 November 2026.", "It is 3300 mV since 2026-11-29.")
    assert claims(of) == claims(of)
