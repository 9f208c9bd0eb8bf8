"""Which findings are the same one: equal in every run, whatever its ids, time and texts."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanwitness.model import Run, Verdict

__all__ = ["SCHEMA", "fingerprint", "subject_of"]

SCHEMA: Final = "spanwitness.fingerprint/1"

_TOOL_KEYS = ("tool", "tools", "missing", "offered_twice", "output_tool", "write")
_FIELD_KEYS = ("field", "fields", "condition", "conditions")
_STEP_KEYS = ("steps", "step")
_CLAUSE_KEYS = ("clause", "first", "then", "before", "after", "step")
_CAUSE_KEYS = (
    "kind", "kinds", "state", "states", "server", "schema", "phase", "tool_choice", "termination",
    "error_type", "finish_reasons", "is_forced", "due",
)  # fmt: skip
"""Evidence that tells causes apart and is no text of a model or a document."""

_ID = re.compile(
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"
    r"|\b(?=[a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{8,}\b"
    r"|\d+"
)
_UNKNOWN = "?"


def fingerprint(run: Run, verdict: Verdict) -> str:
    """Return 64 hex digits that are equal for the same finding in other runs.

    They are the SHA-256 of canonical JSON: the schema of this fingerprint, the rule, the service,
    the agent (else the workflow, else the run's name), the step, the tools or fields, and the
    normalised cause (contract, clause, fault, kind, and the evidence that tells causes apart). No
    id, time, count or text of a model goes in: numbers and ids in names become `#`, and a tool that
    is not known to exist (a model can invent any) becomes `?`. A rule's version is not part of it.

    Args:
        run: The run that the verdict is about.
        verdict: The verdict; usually a violation.
    """
    parts = [
        SCHEMA,
        verdict.rule,
        _plain(run.service),
        _plain(run.agent or run.workflow or run.name),
        _step(run, verdict),
        _subject(run, verdict),
        _cause(verdict),
    ]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def subject_of(verdict: Verdict) -> str | None:
    """Return what a verdict is about, for people: its clause, else its tools, else its fields.

    `None` when the verdict is about the whole run. Names may come from a model: show them as such.
    """
    evidence = verdict.evidence
    for keys in (("clause",), _TOOL_KEYS, _FIELD_KEYS, _STEP_KEYS):
        names = _words(evidence, keys)
        if names:
            return ", ".join(names)
    if "first" in evidence and "then" in evidence:
        return f"{evidence['first']} before {evidence['then']}"
    return None


def _subject(run: Run, verdict: Verdict) -> list[str]:
    tools = _words(verdict.evidence, _TOOL_KEYS)
    fields = [_plain(word) or "" for word in _words(verdict.evidence, _FIELD_KEYS)]
    if tools:
        known = _known_tools(run)
        tools = [tool if tool in known else _UNKNOWN for tool in tools]
    return sorted({*tools, *fields})


def _known_tools(run: Run) -> set[str]:
    known = set(run.configured or ())
    for step in run.steps:
        known.update(step.configured or ())
    for tools in {id(c.offered): c.offered for c in run.chats if c.offered}.values():
        known.update(tool.name for tool in tools)
    for listing in run.discoveries:
        known.update(tool.name for tool in listing.tools or ())
    known.update(tool.name for tool in run.tools)
    return known


def _step(run: Run, verdict: Verdict) -> str | None:
    """Return the name of the innermost step around the first span that has one."""
    if not run.steps or not verdict.span_ids:
        return None
    names = {step.span_id: step.name for step in run.steps}
    around = {chat.span_id: chat.step_span_id for chat in run.chats}
    around.update((tool.span_id, tool.step_span_id) for tool in run.tools)
    for span_id in verdict.span_ids:
        name = names.get(span_id) or names.get(around.get(span_id) or "")
        if name is not None:
            return _plain(name)
    return None


def _cause(verdict: Verdict) -> dict[str, object]:
    evidence = verdict.evidence
    cause: dict[str, object] = {"fault": verdict.fault, "kind": verdict.kind}
    if verdict.contract is not None:
        cause["contract"] = verdict.contract
        # These come from the contract, where a number is part of a name.
        for key in _CLAUSE_KEYS:
            if isinstance(evidence.get(key), str):
                cause[f"clause.{key}"] = evidence[key]
    for key in (*_CAUSE_KEYS, *(() if verdict.contract else _STEP_KEYS)):
        words = [_plain(word) for word in _words(evidence, (key,))]
        if words:
            cause[key] = sorted({word for word in words if word})
    return cause


def _words(evidence: dict[str, object], keys: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    for key in keys:
        value = evidence.get(key)
        for word in value if isinstance(value, list | tuple) else (value,):
            if isinstance(word, bool):
                found[str(word).lower()] = None
            elif isinstance(word, str) and word:
                found[word] = None
    return list(found)


def _plain(text: str | None) -> str | None:
    return None if text is None else _ID.sub("#", text)
