"""One clause judged on one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.contracts import Contract
from spanwitness.rules.builtin import CLAUSE_RULES
from spanwitness.rules.facts import Facts

if TYPE_CHECKING:
    from spanwitness.model import Run
    from spanwitness.rules.rule import Outcome

GROUPS = {
    "navigation": ["open_document", "read_*", "search_text"],
    "verification": ["search_text", "read_table"],
    "submission": ["submit_extraction"],
}


def judge(
    one: Run, rule: str, *, contract: dict[str, object] | None = None, **keys: object
) -> Outcome:
    """Judge a run by a single clause of a contract with the groups of the design's example."""
    text = {"contract": "c", "version": "1", "tools": GROUPS, **(contract or {})}
    built = Contract.model_validate(text | {"expect": [{"rule": rule, **keys}]})
    return CLAUSE_RULES[rule].check(Facts(one, (built,)), built.expect[0], built)
