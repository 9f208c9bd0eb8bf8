"""The failed tau retail runs that people labelled (AgentRx)."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.detection.dialogs import DOMAINS, Dialog, load

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Labelled", "labelled"]


@dataclass(frozen=True)
class Labelled:
    """A failed run with the category of its root cause."""

    dialog: Dialog
    category: str


def labelled(data: Path) -> list[Labelled]:
    """Read the failed runs, with the tools that were offered to all runs of their domain."""
    retail = next(domain for domain in DOMAINS if domain.name == "tau retail")
    definitions = load(data, retail)[0].definitions
    failed = load(data, replace(retail, path="agentrx/tau_dataset_failed.json"))
    labels = json.loads((data / "agentrx" / "tau_ground_truth.json").read_text(encoding="utf-8"))
    causes = {
        str(label["trajectory_id"]): _category(
            next(
                failure["failure_category"]
                for failure in label["failures"]
                if failure["failure_id"] == label["root_cause"]["failure_id"]
            )
        )
        for label in labels
    }
    return [
        Labelled(replace(dialog, definitions=definitions), causes[dialog.task])
        for dialog in failed
        if dialog.task in causes
    ]


def _category(word: str) -> str:
    """Spelling varies between files."""
    folded = word.casefold()
    for known in ("adherence", "invention", "invocation", "misinterpretation", "misalignment",
                  "underspecified", "not supported", "guardrails", "system"):  # fmt: skip
        if known in folded:
            return {
                "adherence": "Instruction/Plan Adherence Failure",
                "invention": "Invention of New Information",
                "invocation": "Invalid Invocation",
                "misinterpretation": "Misinterpretation of Tool Output",
                "misalignment": "Intent-Plan Misalignment",
                "underspecified": "Underspecified Intent",
                "not supported": "Intent Not Supported",
                "guardrails": "Guardrails Triggered",
                "system": "System Failure",
            }[known]
    return word
