"""Work grows with the text and no faster: told by counting calls, not by a clock."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.grounding.receipts import claims, read

from spanwitness.grounding.derivation import Window
from spanwitness.grounding.folding import fold, lower_in_place, unescaped
from spanwitness.grounding.layout import JsonPaths
from spanwitness.rules.conditions import surroundings
from spanwitness.rules.engine import evaluate

if TYPE_CHECKING:
    from types import FrameType

    from spanwitness.model import Run

_ANSWER = (
    "The part from Infineon Technologies runs at 3.65 V and 345 uA since 29 November 2016. Order"
    ' W2378156 has 4821 units; it says "calibrated at ambient humidity over the interface".'
)
_TEXTS = {
    "sentences": "The supply voltage is 3.61 V at 25 C and it is measured twice. ",
    "rows": "1753,register,3451.75,48219,2026-01-28\n",
    "records": '{"name": "sensor device", "vdd_mv": 3651.5, "unit": "mV", "qty": 482}, ',
    "table cells": "| output | 345.2 | 12 | 4.82 | 36.517 |\n",
    "dates": "2016-11-28, 28 Nov 2016, ",
    "near quotations": "calibrated at ambient temperature over the interface ",
    "names": "Infineon, Technologies and Infineon ",
    "numbers": "a row of 364 and of 365 and 36.6 or so ",
    "line ends": "\n",
    "brackets": "[{",
    "quotation marks": '"a ',
}


def _n_calls(of: Run) -> int:
    """Count the calls, of Python and of C, that judging a run makes."""
    n_calls = 0

    def count(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal n_calls
        n_calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        _ = evaluate(of).claims
    finally:
        sys.setprofile(before)
    return n_calls


@pytest.mark.parametrize("name", _TEXTS)
def test_three_times_the_text_takes_at_most_three_times_the_calls(name: str):
    piece = _TEXTS[name]
    few, many = (piece * (size // len(piece)) for size in (66_000, 198_000))
    _n_calls(read(piece, _ANSWER))  # what is made once
    assert _n_calls(read(many, _ANSWER)) <= 3.4 * _n_calls(read(few, _ANSWER))


def test_a_result_in_a_growing_history_is_not_looked_through_again():
    from tests.rules.builders import call, chat, run, tool

    def of(n_replies: int) -> Run:
        rows = _TEXTS["rows"] * 300
        steps = [chat(calls=[call("read")]), tool("read", gives=rows)]
        return run(*steps, *(chat(f"thought {n}") for n in range(n_replies)), chat(_ANSWER))

    _n_calls(of(1))
    assert _n_calls(of(40)) < 2 * _n_calls(of(1)) + 40 * 400


def test_lists_inside_each_other_are_judged_to_the_end():
    value: object = "x"
    for _ in range(50_000):
        value = [value]
    of = read("x", "It is 3.65 V.")
    of = replace(of, tools=tuple(replace(tool, result=value) for tool in of.tools))
    found = evaluate(of)
    assert not [v.rule for v in found.verdicts if v.reason == "internal error"]


def test_the_row_of_a_value_in_one_long_line_is_short():
    text = "a, " * 100_000 + "3.65 V" + ", b" * 100_000
    at = text.index("3.65 V")
    row = surroundings(text, at, at + 6)
    assert "3.65 V" in row
    assert len(row) <= 1206


def test_the_keys_of_a_place_are_read_on_from_the_place_before():
    text = json.dumps([{"price": n} for n in range(10_000)])
    paths = JsonPaths(text)
    assert paths.path(text.index(" 9000}")) == "[9000].price"
    calls = 0

    def count(_frame: FrameType, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        assert paths.path(text.index(" 8999}")) == "[8999].price"
    finally:
        sys.setprofile(before)
    assert calls < 300


def test_what_columns_come_to_is_worked_out_once():
    window = Window(["What is the total?", json.dumps([{"price": 1.5}, {"price": 2.25}])])
    first = window.columns(1)
    assert 3.75 in [result.value for result in first]
    assert window.columns(1) is first
    assert window.row(1) == []


def test_many_names_are_met_as_each_of_them_alone():
    held = (
        '{"first_name": "Sophia", "last_name": "Silva", "card": "credit_card_4421486"} See Page 12'
    )
    said = [
        "Sophia Silva", "card 4421486", "Jos\u00e9 Silva", "W1234567", "page 12", "Mary Poppins",
        "DPS310", "W7654321", "W1111111", "repo_1", "Silva Sophia",
    ]  # fmt: skip
    answer = ", then ".join(said) + "."
    together = claims(read(held, answer))
    assert len(together) >= 9
    for text, one in together.items():
        alone = claims(read(held, f"It is {text}, so.")).get(text)
        if alone is not None and alone.kind == one.kind:
            assert alone.receipt.state == one.receipt.state
    assert together["Sophia Silva"].receipt.state == "in_window"
    assert together["W1234567"].receipt.state == "absent"


@given(st.text())
def test_a_text_in_lower_case_is_as_long_as_it_was(text: str):
    lower = lower_in_place(text)
    assert len(lower) == len(text)
    if "\u0130" not in text:
        assert lower == text.lower()


def test_many_escapes_are_read_as_few_are():
    chars = [chr(code) for code in range(0x4E00, 0x4E00 + 2000)]
    assert unescaped(json.dumps(chars)) == json.dumps(chars, ensure_ascii=False)
    assert unescaped(json.dumps(chars[:5])) == json.dumps(chars[:5], ensure_ascii=False)
    assert unescaped(r'"\ud83d \uzz \u12"') == r'"? \uzz \u12"'


def test_of_many_kinds_of_rare_characters_only_frequent_ones_are_folded_in_long_texts():
    rare = "".join(chr(code) for code in range(0xFB50, 0xFBB0))
    assert fold(rare).text != rare
    long = "\uff13\u2212" + rare + " " * 1_000_000
    assert fold(long).text.startswith("3-" + rare)
