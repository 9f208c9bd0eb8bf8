"""Numbers: what is the same, and what only looks like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.grounding.receipts import receipt

SAME = [
    ("Revenue was 12,750,000 USD.", "Revenue was $12.75 million.", "scaled"),
    ("Revenue was 12.75 million USD.", "Revenue was 12,750,000 USD.", "scaled"),
    ("Revenue: $12.75M", "Revenue was 12750000 USD.", "scaled"),
    ("Revenue: 12.75 million", "Revenue was $12.8M.", "rounded"),
    ("VDD is 3300 mV.", "VDD is 3.3 V.", "scaled"),
    ("VDD is 3.3V.", "VDD is 3.3 volts.", "folded"),
    ("Current 345 \u00b5A", "It draws 345 \u03bcA.", "exact"),
    ("Current 345 \u00b5A", "It draws 0.345 mA.", "scaled"),
    ("4.7 k\u2126", "It has 4.7 k\u03a9.", "exact"),
    ("The share is 0.125.", "The share is 12.5 %.", "scaled"),
    ("It weighs 1 kg.", "It weighs 2.2046226 lb.", "rounded"),
    ("It takes 1.5 hours.", "It takes 90 minutes.", "unit"),
    ("The limit is 100 \u00b0C.", "The limit is 212 \u00b0F.", "unit"),
    ("The price is 1.234,50 EUR.", "The price is 1,234.50 EUR.", "folded"),
    ("The price is 1 234,50 EUR.", "The price is 1234.50 EUR.", "folded"),
    ("The price is 1'234.50 CHF.", "The price is 1234.5 CHF.", "folded"),
    ("1\u202f234\u202f567 people", "There are 1,234,567 people.", "folded"),
    ("The offset is \u221240 mV.", "The offset is -40 mV.", "exact"),
    ("It operates from 1.7 V to 3.6 V.", "The minimum is 1.7 V.", "exact"),
    ("It operates at 1.7\u20133.6 V.", "The minimum is 1.7 V.", "exact"),
    ("It operates at 1.7 to 3.6 V.", "The maximum is 3.6 V.", "exact"),
    ("It operates at 1.7 V to 3.6 V.", "It runs at 2.5 V.", "range"),
    ("It is 3.28 V.", "It is 3.3 V.", "rounded"),
    ("6.02 x 10^23 per mol", "It is 6.02e23 per mol.", "folded"),
    ("Profit changed by -3.25 %.", "Profit fell by 3.25 %.", "exact"),
    ("| VDD (mV) | IDD (uA) |\n|---|---|\n| 3300 | 345 |", "VDD is 3.3 V.", "scaled"),
    ("| Name | Min | Max | Unit |\n|---|---|---|---|\n| VDD | 1700 | 3600 | mV |", "It is 3.6 V.",
     "scaled"),
    ("part,vdd_mv,qty\nA1,3300,7\nB2,1800,9\n", "VDD is 1.8 V.", "scaled"),
    ({"value": 3300, "unit": "mV"}, "VDD is 3.3 V.", "scaled"),
    ({"vdd_mv": 3300, "x": [1, 2]}, "VDD is 3.3 V.", "scaled"),
    ([1234, 567], "The code count is 567 units.", "exact"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "answer", "match"), SAME, ids=[str(n) for n in range(len(SAME))])
def test_the_same_quantity_is_met_however_it_is_written(text: object, answer: str, match: str):
    found = receipt(text, answer)
    assert (found.state, found.match) == ("in_window", match)


OTHERS = [
    ("It holds 1300 items.", "It holds 30 items."),
    ("It holds 13 300 items.", "It holds 300 items."),
    ("It holds 13\u202f300 items.", "It holds 300 items."),
    ("It holds 13,300 items.", "It holds 300 items."),
    ("The value is 13.3 units.", "The value is 3.3 units."),
    ("The value is 3.35 units.", "The value is 35 units."),
    ("VDD is 5.5 mV.", "VDD is 5.5 V."),
    ("It has a 3.3 V supply.", "It draws 3.3 A."),
    ("The part is DPS-310.", "There are 310 sensors."),
    ("The part is DPS310.", "There are 310 sensors."),
    ("The id is repo_310.", "There are 310 repositories."),
    ("On 2026-11-29 it rained.", "It rained 29 mm."),
    ("Call 555-0134 now.", "It costs 134 euros."),
    ("Call +1 555-555-0134 now.", "It costs 555 euros."),
    ("At 12:45 it rained.", "It rained 45 mm."),
    ("Version 3.3.1 is out.", "It needs 3.3 GB."),
    ("See https://x.org/item/4711/a", "There are 4711 items."),
    ("The address is 10.0.13.37.", "It costs 13.37 euros."),
    ("It costs 99 USD.", "It costs 99 EUR."),
    ("The offset is 40 mV.", "The offset is -40 mV."),
    ("It is 3.3 V.", "It is 3.28 V."),
    ("Total: 5 % of 1.234 items", "There are 234 items."),
]


@pytest.mark.parametrize(("text", "answer"), OTHERS, ids=[str(n) for n in range(len(OTHERS))])
def test_a_number_that_only_looks_alike_is_absent(text: str, answer: str):
    assert receipt(text, answer).state == "absent"


def test_a_bare_small_number_is_weak():
    assert receipt("There are 3 of them.", "There are 3 of them.").is_weak


def test_a_value_of_which_a_page_is_full_is_weak():
    assert receipt("Pin at 5 V. " * 6, "It is 5 V.").is_weak
    assert not receipt("VDD is 3.35 V.", "It is 3.35 V.").is_weak


def test_a_unit_that_the_table_does_not_hold_is_asked_of_pint():
    from spanwitness.grounding.units import units_of

    (unit,) = units_of("slug", ask_pint=True)
    assert unit.factor == pytest.approx(14.5939, rel=1e-4)


UNITS = st.sampled_from(["V", "A", "W", "Hz", "Pa", "J", "F"])
AMOUNT = st.integers(min_value=1001, max_value=999_999)


@given(AMOUNT, UNITS)
def test_a_quantity_in_another_prefix_always_matches(n: int, unit: str):
    said = f"{n / 1000:.3f}"
    assert receipt(f"The rated value is {n} m{unit} here.", f"It is {said} {unit}.").state == (
        "in_window"
    )


@given(
    st.integers(min_value=1000, max_value=99_999_999), st.sampled_from([",", "'", "\u202f", " "])
)
def test_grouped_digits_always_match(n: int, mark: str):
    shown = f"{n:,}".replace(",", mark)
    assert receipt(f"There were {shown} visitors.", f"It had {n} visitors.").state == "in_window"


@given(st.integers(min_value=101, max_value=9999), st.integers(min_value=1, max_value=9))
def test_a_number_is_never_found_inside_a_longer_one(n: int, digit: int):
    for text in (f"{digit}{n}", f"{n}{digit}", f"{digit}.{n}{digit}", f"{digit},{n:04}", f"x{n}"):
        found = receipt(f"There were {text} visitors.", f"It had {n} visitors.")
        assert found.state != "in_window" or found.match == "rounded", text


@given(st.lists(AMOUNT, min_size=2, max_size=6, unique=True), st.randoms())
def test_the_order_of_an_answer_changes_no_receipt(numbers: list[int], random: object):
    from tests.grounding.receipts import claims, read

    text = "; ".join(f"x is {n} mV" for n in numbers)
    turned = list(numbers)
    random.shuffle(turned)  # type: ignore[attr-defined]
    one = claims(read(text, "; ".join(f"{n} mV" for n in numbers)))
    other = claims(read(text, "; ".join(f"{n} mV" for n in turned)))
    assert {k: v.receipt for k, v in one.items()} == {k: v.receipt for k, v in other.items()}
