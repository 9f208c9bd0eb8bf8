"""The JSON Schema of a contract file, for editors and other tools; published in `docs/`."""

from __future__ import annotations

import json

from spanwitness.contracts.model import CLAUSE_KEYS, Clause, Contract

SCHEMA_ID = "urn:spanwitness:contract:1"


def contract_schema() -> dict[str, object]:
    """Return the JSON Schema (2020-12) of a contract."""
    schema = Contract.model_json_schema(mode="validation")
    definitions = schema["$defs"]
    definitions["Clause"]["allOf"] = [_per_rule(rule) for rule in CLAUSE_KEYS]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": SCHEMA_ID,
        **schema,
    }


def _per_rule(rule: str) -> dict[str, object]:
    allowed = next(keys for name, keys in CLAUSE_KEYS.items() if name == rule)
    shared = {"rule", "severity", "reason"}
    banned = sorted(set(Clause.model_fields) - allowed - shared)
    then: dict[str, object] = {"properties": dict.fromkeys(banned, False)}
    if rule == "out_of_order":
        then["required"] = ["first", "then"]
    elif rule == "below_baseline":
        then["not"] = {"required": ["group", "tool"]}
    else:
        then["oneOf"] = [{"required": ["group"]}, {"required": ["tool"]}]
    if rule == "argument_not_given":
        then["required"] = ["argument"]
    if rule == "count_out_of_range":
        then["anyOf"] = [{"required": ["at_least"]}, {"required": ["at_most"]}]
    return {"if": {"properties": {"rule": {"const": rule}}, "required": ["rule"]}, "then": then}


def render_schema() -> str:
    """Return the schema as the text that is published."""
    return json.dumps(contract_schema(), indent=2) + "\n"
