"""The page on contracts holds a contract that loads, and names every key."""

from __future__ import annotations

import re
from pathlib import Path

from spanwitness.contracts import Clause, Contract, When, loads
from spanwitness.contracts.model import CLAUSE_KEYS, KNOWN_GROUPS
from spanwitness.contracts.packs import pack_names

PAGE = (Path(__file__).parents[2] / "docs" / "contracts.md").read_text(encoding="utf-8")


def test_the_examples_load_and_show_every_rule(tmp_path: Path) -> None:
    (tmp_path / "baseline.json").write_text('{"schema": "spanwitness.baseline/1"}')
    examples = re.findall(r"```yaml\n(contract:.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 2
    found = [loads(example, folder=tmp_path) for example in examples]
    assert {clause.rule for one in found for clause in one.expect} == set(CLAUSE_KEYS)


def test_every_pack_is_named() -> None:
    assert [name for name in pack_names() if f"| `{name}` |" not in PAGE] == []


def test_every_key_and_every_known_group_is_named() -> None:
    keys = {*Contract.model_fields, *Clause.model_fields, *When.model_fields, *KNOWN_GROUPS}
    missing = {k for k in keys if not re.search(rf"[`\s{{]{k}[`:, ]", PAGE)}
    assert missing == set()
