"""The published JSON Schema says what the models say."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from spanwitness.contracts import contract_schema, load
from spanwitness.contracts.schema import render_schema
from spanwitness.errors import RuleError

PUBLISHED = Path(__file__).parents[2] / "docs" / "contract.schema.json"


def test_the_published_schema_equals_the_models() -> None:
    published = PUBLISHED.read_text(encoding="utf-8")
    assert published == render_schema(), "write contracts.schema.render_schema() to the file"


def test_the_schema_is_itself_sound_and_documents_every_key() -> None:
    schema = contract_schema()
    Draft202012Validator.check_schema(schema)
    parts = [schema, *schema["$defs"].values()]  # type: ignore[attr-defined]
    for part in parts:
        for name, key in part.get("properties", {}).items():
            assert key.get("description"), name


TEXTS = {
    "good": ("expect: [{rule: forbidden_tool, tool: a, severity: info}]", True),
    "group": ("tools: {g: a}\nexpect: [{rule: navigation_bypassed, group: g}]", True),
    "order": ("expect: [{rule: out_of_order, first: a, then: submit}]", True),
    "range": ("expect: [{rule: count_out_of_range, tool: a, at_most: 0}]", True),
    "no range": ("expect: [{rule: count_out_of_range, tool: a}]", False),
    "unknown key": ("expect: [{rule: forbidden_tool, tol: a}]", False),
    "key of another rule": ("expect: [{rule: forbidden_tool, tool: a, at_most: 3}]", False),
    "no tool": ("expect: [{rule: forbidden_tool}]", False),
    "both": ("tools: {g: a}\nexpect: [{rule: forbidden_tool, tool: a, group: g}]", False),
    "unknown rule": ("expect: [{rule: foo, tool: a}]", False),
    "number as name": ("tools: {g: [1]}", False),
    "no list": ("expect: {rule: forbidden_tool, tool: a}", False),
}


@pytest.mark.parametrize(("text", "good"), TEXTS.values(), ids=TEXTS)
def test_schema_and_loader_agree(text: str, good: bool) -> None:
    value = {"contract": "c", "version": "1", **yaml.safe_load(text)}
    assert Draft202012Validator(contract_schema()).is_valid(value) is good
    if good:
        load(value)
    else:
        with pytest.raises(RuleError):
            load(value)
