"""Numbers that follow from given ones by plain calculation."""

from __future__ import annotations

import pytest

from spanwitness.normalize.derived import derived
from spanwitness.normalize.values import missing, unseen

AMOUNTS = "Add up: 12.50 EUR, 20 EUR, 9.99 EUR."


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ('{"total": 42.49}', AMOUNTS),
        ('{"total": 32.5}', AMOUNTS),  # the first two
        ('{"mean": 14.16}', AMOUNTS),
        ("That is 1850 EUR.", "From 2000 EUR take 150 EUR."),
        ("That is 480 EUR in all.", "40 days at 12 EUR."),
        ("63 EUR", "3 pieces at 15 EUR and 2 pieces at 9 EUR"),
        ("It is 33%.", "50 of 150 people came."),
        ("It is 33.3%.", "50 of 150 people came."),
        ("The speed is 72.5 km/h.", "145 km in 2 h."),
        ("It is 0.002 A.", "The current is 2 mA."),
        ("It is 3000 g.", "It weighs 3 kg."),
        ("Pay 119 EUR.", "100 EUR and 19% tax"),
        ("Pay 85 EUR.", "100 EUR less 15%"),
        ("The sum is 5050.", ", ".join(map(str, range(30, 51))) + " and 4210 more"),
    ],
)
def test_what_a_plain_calculation_gives_is_seen(answer: str, text: str) -> None:
    assert unseen(answer, ["You are helpful.", text]).n_values_unseen == 0


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ('{"total": 43.49}', [AMOUNTS]),
        ("The limit is 250 mA.", ["What is the limit of the DPS310?", "page 12"]),
        ("32 EUR.", ["12 EUR", "20 EUR"]),  # they do not stand together
        ("The sum is 69.", [", ".join(map(str, range(10, 60)))]),  # among many, any number is found
        ("The sum is 5000.", ["x" * 3000 + " 2000 and 3000"]),
        ("Page 33.", ["pages 11 and 22"]),
        ("250 mA", ["one number: 5"]),
    ],
)
def test_what_nothing_gives_is_unseen(answer: str, texts: list[str]) -> None:
    assert unseen(answer, texts).n_values_unseen == 1


def test_what_is_missing_is_missing_though_it_follows() -> None:
    assert missing({"number:42.49"}, [AMOUNTS]) == {"number:42.49"}


def test_nothing_wanted_is_nothing_found() -> None:
    assert derived((), [[1.0, 2.0]]) == set()
