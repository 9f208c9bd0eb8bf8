"""Chance stays rare, and hostile texts end."""

from __future__ import annotations

import random

import pytest
from tests.grounding.receipts import claims, read

from spanwitness.grounding import assess
from spanwitness.rules.facts import Facts


def _window(dice: random.Random) -> list[dict[str, object]]:
    """Records as a shop returns them."""
    return [
        {"item_id": dice.randint(10**9, 10**10), "name": f"item {n}",
         "price": round(dice.uniform(5, 900), 2), "quantity": dice.randint(1, 9)}
        for n in range(dice.randint(3, 12))
    ]  # fmt: skip


def test_a_random_number_is_hardly_ever_derivable():
    dice = random.Random(11)
    n_derived = n_asked = 0
    for _ in range(120):
        window = _window(dice)
        prices = ", ".join(f"${record['price']}" for record in window[:5])
        for lead in ("It has", "The total is", "The difference is"):
            number = dice.randint(100, 9999)
            found = claims(read(window, f"Prices: {prices}. {lead} {number} units."))
            state = found[f"{number}"].receipt.state
            n_asked += state != "in_window"
            n_derived += state == "derivable"
    assert n_asked > 300
    assert n_derived / n_asked < 0.02


HOSTILE = {
    "letters": "a" * 1_000_000,
    "digits": "1234567890" * 100_000,
    "nested": "[" * 500_000 + "]" * 500_000,
    "open": '{"a":' * 200_000,
    "quotes": '"' * 1_000_000,
    "backslashes": "\\" * 1_000_000,
    "spaces": " " * 1_000_000,
    "commas": "1," * 500_000,
    "dots": "3.65." * 200_000,
    "hyphens": "3-" * 500_000,
    "the value": "3.65 V " * 140_000,
    "capitals": "Aa Bb " * 160_000,
    "braces": "{}" * 500_000,
    "newlines": "\n" * 1_000_000,
    "pipes": "|" * 1_000_000,
    "surrogates": "\ud800" * 500_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_megabyte_is_looked_through_to_its_end(name: str):
    of = read(HOSTILE[name], 'It is 3.65 V and 77 kHz on 29 November 2026, "it is so said here".')
    facts = Facts(of)
    found = assess(of, answer=facts.answer_text, executions=facts.executions)
    assert [one.kind for one in found] == ["number", "number", "date", "quotation"]
    is_held = name in ("the value", "dots")
    assert (found[0].receipt.state == "in_window") is (is_held and name == "the value")


def test_a_history_that_repeats_is_looked_through_once():
    from tests.rules.builders import call, chat, run, tool

    from spanwitness.grounding.evidence import Evidence

    steps = [chat(calls=[call("read")]), tool("read", gives="VDD is 3.65 V")]
    steps += [chat(f"thought {n}") for n in range(20)]
    of = run(*steps, chat("It is 3.65 V."))
    evidence = Evidence(of, Facts(of).executions, of.chats[-1])
    assert [t.text for t in evidence.texts].count("VDD is 3.65 V") == 1
    assert len(claims(of)["3.65 V"].receipt.places) == 1
