"""Dialogs of customer-service agents, as the tau benchmarks publish them, in one form.

Labels (rewards, gold actions) are read beside a dialog and never become part of its trace.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["DOMAINS", "Call", "Dialog", "Expected", "Said", "load"]


@dataclass(frozen=True, kw_only=True)
class Call:
    """One tool call: what was asked, what the tool returned, what the model was given of it."""

    id: str
    name: str
    arguments: dict[str, Any]
    returned: str
    delivered: str | None = None
    """`None` = exactly what was returned."""


@dataclass(frozen=True, kw_only=True)
class Said:
    """One message of the user or the agent; results follow the calls that asked for them."""

    role: Literal["user", "assistant"]
    text: str = ""
    calls: tuple[Call, ...] = ()
    is_canned: bool = False
    """Put there by the harness, so no model call stands behind it."""


@dataclass(frozen=True, kw_only=True)
class Expected:
    """A call that the data set says is the right one (gold)."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Dialog:
    """One dialog with its labels."""

    key: str
    """Data set, task and trial."""
    domain: str
    model: str
    system: str
    said: tuple[Said, ...]
    definitions: tuple[dict[str, Any], ...] = ()
    """The tools that were offered, as OpenAI function definitions."""
    reward: float = 0.0
    expected: tuple[Expected, ...] = ()
    task: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the final state was the right one."""
        return self.reward == 1.0

    @property
    def calls(self) -> list[Call]:
        """Every call in order."""
        return [call for said in self.said for call in said.calls]


@dataclass(frozen=True)
class Domain:
    """Where the dialogs of one domain stand."""

    name: str
    path: str
    is_held_out: bool = False
    """Not looked at while the rules were made."""
    form: Literal["tau", "tau2"] = "tau"
    model: str = "gpt-4o"


DOMAINS: Final = (
    Domain("tau airline", "tau_bench/gpt-4o-airline.json"),
    Domain("tau retail", "agentrx/tau_dataset_full.json"),
    Domain(
        "tau2 retail", "tau2_toolorchestra/toolorchestra_retail_gpt-5_1trial.json",
        form="tau2", model="nemotron-orchestrator-8b",
    ),
    Domain(
        "tau2 airline", "tau2_toolorchestra/toolorchestra_airline_gpt-5_1trial.json",
        form="tau2", model="nemotron-orchestrator-8b", is_held_out=True,
    ),
)  # fmt: skip


def load(data: Path, domain: Domain) -> list[Dialog]:
    """Read the dialogs of a domain.

    Args:
        data: The folder that holds the data sets.
        domain: One of `DOMAINS`, or a like one.
    """
    document = json.loads((data / domain.path).read_text(encoding="utf-8"))
    read = _tau if domain.form == "tau" else _tau2
    found = read(document, domain)
    definitions = tuple(define(call for dialog in found for call in dialog.calls))
    return [replace(dialog, definitions=definitions) for dialog in found]


def _tau(runs: list[dict[str, Any]], domain: Domain) -> list[Dialog]:
    found = []
    for run in runs:
        messages = run["traj"]
        results = [m for m in messages if m["role"] == "tool"]
        said = _said(
            [m for m in messages if m["role"] != "system"],
            [m.get("content") or "" for m in results],
            lambda call: (call["function"]["name"], json.loads(call["function"]["arguments"])),
        )
        found.append(
            Dialog(
                key=f"{domain.name}/{run['task_id']}/{run['trial']}",
                domain=domain.name,
                model=domain.model,
                system=messages[0]["content"],
                said=said,
                reward=run["reward"],
                expected=tuple(
                    Expected(name=a["name"], arguments=a["kwargs"])
                    for a in run["info"]["task"]["actions"]
                ),
                task=str(run["task_id"]),
            )
        )
    return found


def _tau2(document: dict[str, Any], domain: Domain) -> list[Dialog]:
    policy = document["info"]["environment_info"]["policy"]
    gold = {
        task["id"]: (task.get("evaluation_criteria") or {}).get("actions") or []
        for task in document["tasks"]
    }
    found = []
    for place, run in enumerate(document["simulations"]):
        checks = run["reward_info"].get("action_checks") or []
        task = checks[0]["action"]["action_id"].rpartition("_")[0] if checks else None
        messages = run["messages"]
        by_id = {m["id"]: m.get("content") or "" for m in messages if m["role"] == "tool"}
        order = [c["id"] for m in messages for c in m.get("tool_calls") or ()]
        said = _said(
            messages, [by_id.get(id_, "") for id_ in order], lambda c: (c["name"], c["arguments"])
        )
        found.append(
            Dialog(
                key=f"{domain.name}/{place}",
                domain=domain.name,
                model=domain.model,
                system=policy,
                said=said,
                reward=run["reward_info"]["reward"],
                expected=tuple(
                    Expected(name=a["name"], arguments=a["arguments"])
                    for a in gold.get(task, [])
                    if a.get("requestor", "assistant") == "assistant"
                ),
                task=task or f"#{place}",
            )
        )
    return found


def _said(messages: Sequence[dict[str, Any]], results: list[str], read: Any) -> tuple[Said, ...]:
    """Join calls with their results; ids are numbered anew, for some data sets repeat them."""
    found: list[Said] = []
    given = iter(results)
    n_calls = 0
    for message in messages:
        if message["role"] == "tool":
            continue
        calls = []
        for call in message.get("tool_calls") or ():
            n_calls += 1
            name, arguments = read(call)
            calls.append(
                Call(id=f"call_{n_calls:03d}", name=name, arguments=arguments, returned=next(given))
            )
        text = message.get("content") or ""
        if not text and not calls:
            continue
        found.append(
            Said(
                role=message["role"],
                text=text,
                calls=tuple(calls),
                is_canned=message["role"] == "assistant" and not found,
            )
        )
    return tuple(found)


@dataclass
class _Seen:
    n_calls: int = 0
    counts: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    values: dict[str, Any] = field(default_factory=dict)


def define(calls: Iterable[Call]) -> list[dict[str, Any]]:
    """Make the definitions of the tools that a data set does not publish from all their calls.

    A property that every call gives is required; its type is that of the first value.
    """
    tools: dict[str, _Seen] = {}
    for call in calls:
        seen = tools.setdefault(call.name, _Seen())
        seen.n_calls += 1
        for key, value in call.arguments.items():
            seen.counts[key] += 1
            seen.values.setdefault(key, value)
    return [
        {
            "type": "function",
            "name": name,
            "description": name.replace("_", " ").capitalize() + ".",
            "parameters": {
                "type": "object",
                "properties": {key: _type_of(value) for key, value in seen.values.items()},
                "required": [k for k, n in seen.counts.items() if n == seen.n_calls],
            },
        }
        for name, seen in sorted(tools.items())
    ]


def _type_of(value: object) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"type": "boolean"}
    if isinstance(value, int | float):
        return {"type": "number"}
    if isinstance(value, list):
        return {"type": "array"}
    return {"type": "object"} if isinstance(value, dict) else {"type": "string"}
