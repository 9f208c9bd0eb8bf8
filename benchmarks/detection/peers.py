"""Other deterministic checkers on the same dialogs: run by the interpreter that has them installed.

`python peers.py INPUT OUTPUT`: reads the families that `peer_cases` writes, one JSON object a line,
and writes counts. It imports nothing of spanwitness, so that the peers' own pins stand.

- tracelint: the messages as OpenAI's API has them, the offered schemas, and which tools write.
- agentic-behavioral-contracts: the spans as OTLP/JSON, with its one constraint that needs no
  declaration (`must_not_use_only_parametric_knowledge`), and with the expected writes declared
  (`must_include_steps`).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any


def main() -> None:
    """Judge every case of every family."""
    found: dict[str, dict[str, Counter[str]]] = {}
    with Path(sys.argv[1]).open(encoding="utf-8") as file:
        for line in file:
            case = json.loads(line)
            for peer, is_flagged in _judge(case).items():
                family = found.setdefault(peer, {}).setdefault(case["family"], Counter())
                family["n"] += 1
                family["flagged"] += is_flagged
    Path(sys.argv[2]).write_text(json.dumps(found), encoding="utf-8")


def _judge(case: dict[str, Any]) -> dict[str, bool]:
    tiers = _tracelint(case)
    name = f"tracelint {version('tracelint')}"
    return {
        f"{name}, provable": bool(tiers - {"candidate"}),
        f"{name}, with candidates": bool(tiers),
        **_behavioral(case),
    }


def _tracelint(case: dict[str, Any]) -> set[str]:
    from tracelint import ToolRegistry
    from tracelint.sources import lint_openai_trace

    registry = ToolRegistry.from_dict(case["tools"])
    report = lint_openai_trace(case["messages"], registry=registry)
    return {f.tier.value for f in report.findings if not f.is_suppression}


def _behavioral(case: dict[str, Any]) -> dict[str, bool]:
    from agent_validator import validate
    from agent_validator.adapters.otel import OTELAdapter
    from agent_validator.contracts.base import Contract
    from agent_validator.contracts.constraints import (
        MustIncludeSteps,
        MustNotUseOnlyParametricKnowledge,
    )

    execution = OTELAdapter().normalize(case["spans"])
    general = Contract("general", "1", [MustNotUseOnlyParametricKnowledge()])
    declared = Contract("declared", "1", [MustIncludeSteps(case["expected"])])
    name = f"agentic-behavioral-contracts {version('agentic-behavioral-contracts')}"
    return {
        f"{name}, nothing declared": validate(general, execution).status.name != "PASS",
        f"{name}, writes declared": validate(declared, execution).status.name != "PASS",
    }


if __name__ == "__main__":
    main()
