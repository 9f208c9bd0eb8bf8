"""The page on contracts holds a contract that loads, and names every key."""

from __future__ import annotations

import re
from pathlib import Path

from spanwitness.contracts import Clause, Contract, When, loads
from spanwitness.contracts.model import CLAUSE_KEYS, KNOWN_GROUPS

PAGE = (Path(__file__).parents[2] / "docs" / "contracts.md").read_text(encoding="utf-8")


def test_the_example_loads() -> None:
    example = re.search(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example is not None
    contract = loads(example.group(1))
    assert {clause.rule for clause in contract.expect} == set(CLAUSE_KEYS)


def test_every_key_and_every_known_group_is_named() -> None:
    keys = {*Contract.model_fields, *Clause.model_fields, *When.model_fields, *KNOWN_GROUPS}
    missing = {k for k in keys if not re.search(rf"[`\s{{]{k}[`:, ]", PAGE)}
    assert missing == set()
