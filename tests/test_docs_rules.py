"""The pages on rules say what the code says."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from spanwitness.contracts.model import CLAUSE_KEYS
from spanwitness.rules.builtin import CLAUSE_RULES, RULES
from spanwitness.rules.describe import describe, render

DOCS = Path(__file__).parents[1] / "docs"
EVERY = [*RULES, *CLAUSE_RULES.values()]


def test_the_page_of_rules_equals_the_docstrings() -> None:
    page = (DOCS / "rules.md").read_text(encoding="utf-8")
    assert page == render(), "write spanwitness.rules.describe.render() to docs/rules.md"


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.id)
def test_a_rule_answers_the_four_questions(rule: object) -> None:
    text = describe(rule)  # type: ignore[arg-type]
    for answer in (
        text.summary,
        text.claims,
        text.needs,
        text.not_assessed_when,
        text.can_be_wrong,
    ):
        assert answer.endswith("."), answer


def test_ids_are_unique_sorted_and_equal_to_their_files() -> None:
    ids = [rule.id for rule in RULES]
    assert ids == sorted(set(ids))
    for rule in EVERY:
        assert Path(inspect.getfile(rule.check)).stem == rule.id
        assert rule.check.__name__ == rule.id


def test_every_clause_of_the_contract_language_has_its_rule() -> None:
    assert sorted(CLAUSE_RULES) == sorted(CLAUSE_KEYS)
    assert all(name == rule.id for name, rule in CLAUSE_RULES.items())


def test_the_catalogue_names_rules_that_exist() -> None:
    page = (DOCS / "catalogue.md").read_text(encoding="utf-8")
    family_a = page.partition("## Family A")[2].partition("## Family B")[0]
    rows = [line.split(" | ") for line in family_a.splitlines() if line.startswith("| A")]
    assert len(rows) == 40
    known = {rule.id for rule in EVERY}
    for row in rows:
        named = set(re.findall(r"`([a-z_]+)`", row[2])) - {"none"}
        assert named <= known, row[0]
        assert named or row[2].startswith("none"), row[0]
