"""The page of the catalogue says what the recipes show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.catalogue.test_recipes import CONTROLS, RECIPES

PAGE = Path(__file__).parents[2] / "docs" / "catalogue.md"
ROW = re.compile(r"^\| (A\d\d) \| .*? \| (.*?) \| (.*?) \| .*\|$", re.MULTILINE)
ROWS = {number: (told, fault) for number, told, fault in ROW.findall(PAGE.read_text())}
UNSHOWN = {"A12", "A54"}
"""A control, and one that is told at `info` in a test of its own."""


def of(number):
    return [r for r in RECIPES if r.name.startswith(f"{number} ")]


def test_every_row_of_the_page_with_a_rule_has_a_recipe():
    assert {r.name[:3] for r in RECIPES} == set(ROWS) - UNSHOWN
    assert any(name.startswith("A12") for name, _, _ in CONTROLS)


@pytest.mark.parametrize("number", sorted(set(ROWS) - UNSHOWN))
def test_a_row_names_the_rules_and_faults_that_its_recipes_show(number):
    told, fault = ROWS[number]
    rules = re.findall(r"`([a-z_]+)`", told)
    shown = {rule for r in of(number) for rule, _ in r.finds}
    assert rules[0] in shown
    assert shown <= set(rules)
    assert {f for r in of(number) for _, f in r.finds} == {
        word for word in ("harness", "reasoning", "tool") if word in fault
    }


@pytest.mark.parametrize("number", sorted(set(ROWS) - UNSHOWN))
def test_every_report_has_a_healthy_variant(number):
    assert any(r.healthy is not None for r in of(number))
