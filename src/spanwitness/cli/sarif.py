"""`check --format sarif`: findings as SARIF 2.1.0, for code hosts and viewers of results."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO

    from spanwitness.cli.judging import JudgedRuns
    from spanwitness.cli.report import Summary
    from spanwitness.model import Run, Severity, Verdict, VerdictWord
    from spanwitness.rules.rule import ClauseRule, Rule

__all__ = ["FINGERPRINT", "write_sarif"]

FINGERPRINT: Final = "spanwitnessFinding/v1"
"""Name of our fingerprint among the `partialFingerprints` of a result."""
_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final[dict[Severity, str]] = {
    "info": "note",
    "warning": "warning",
    "error": "error",
    "critical": "error",
}
_KINDS: Final[dict[VerdictWord, str]] = {
    "holds": "pass",
    "not_assessed": "open",
    "not_applicable": "notApplicable",
    "violated": "informational",
}
_MAX_RELATED: Final = 10


def write_sarif(judged: JudgedRuns, summary: Summary, out: TextIO, *, show_all: bool) -> None:
    """Write one SARIF run with a result for each finding, as the findings come.

    Every rule is declared, also those that found nothing. What could not be assessed, and inputs
    that could not be read, are notifications of the invocation; with `show_all` every verdict is a
    result of its kind (`pass`, `open`, `notApplicable`; explained violations `informational`).

    Args:
        judged: The runs; they are taken here.
        summary: Counts them.
        out: Where to.
        show_all: Whether to write more than findings.
    """
    rules = _rules()
    index = {str(rule["id"]): place for place, rule in enumerate(rules)}
    driver = {"name": "spanwitness", "version": version("spanwitness"), "rules": rules}
    out.write(f'{{"$schema": "{_SCHEMA}",\n "version": "2.1.0",\n "runs": [{{"tool": ')
    out.write(json.dumps({"driver": driver}))
    out.write(',\n  "results": [')
    artifact = _artifact(judged.paths)
    separator = "\n   "
    for run, evaluation in judged:
        for verdict in evaluation.verdicts:
            is_result = verdict.verdict == "violated" and verdict.explained_by is None
            if is_result or show_all:
                out.write(separator + json.dumps(_result(run, verdict, index, artifact)))
                separator = ",\n   "
    out.write('],\n  "invocations": ')
    out.write(json.dumps([_invocation(judged, summary, index)]))
    out.write("}]}\n")


def _rules() -> list[dict[str, object]]:
    from spanwitness.rules.builtin import CLAUSE_RULES, RULES
    from spanwitness.rules.describe import describe

    rules: list[Rule | ClauseRule] = [*RULES, *CLAUSE_RULES.values()]
    found: list[dict[str, object]] = []
    for rule in sorted(rules, key=lambda rule: rule.id):
        text = describe(rule)
        found.append(
            {
                "id": rule.id,
                "shortDescription": {"text": text.summary},
                "fullDescription": {"text": text.claims},
                "help": {
                    "text": f"Needs: {text.needs}\nNot assessed when: {text.not_assessed_when}\n"
                    f"Can be wrong: {text.can_be_wrong}"
                },
                "defaultConfiguration": {"level": _LEVELS[rule.severity]},
                "properties": {"version": rule.version, "fault": rule.fault},
            }
        )
    return found


def _artifact(paths: list[Path]) -> dict[str, object] | None:
    """Return where the traces lie, when they all lie in one file."""
    if len(paths) != 1 or not paths[0].is_file():
        return None
    path = paths[0]
    uri = path.resolve().as_uri() if path.is_absolute() else quote(path.as_posix())
    return {"artifactLocation": {"uri": uri}}


def _result(
    run: Run, verdict: Verdict, index: dict[str, int], artifact: dict[str, object] | None
) -> dict[str, object]:
    is_finding = verdict.verdict == "violated" and verdict.explained_by is None
    told: dict[str, object] = {
        "ruleId": verdict.rule,
        "ruleIndex": index[verdict.rule],
        "kind": "fail" if is_finding else _KINDS[verdict.verdict],
        "level": _LEVELS[verdict.severity] if is_finding else "none",
        "message": {"text": verdict.reason or f"{verdict.rule}: {verdict.verdict}"},
        "locations": [_location(run, verdict.span_ids[:1], artifact)],
        "properties": {
            "severity": verdict.severity,
            "fault": verdict.fault,
            "kind": verdict.kind,
            "contract": verdict.contract,
            "agent": run.agent,
            "explainedBy": verdict.explained_by,
        },
    }
    if len(verdict.span_ids) > 1:
        related = verdict.span_ids[1 : _MAX_RELATED + 1]
        told["relatedLocations"] = [_location(run, (span_id,), None) for span_id in related]
    if verdict.verdict == "violated":
        from spanwitness.findings.fingerprint import fingerprint

        told["partialFingerprints"] = {FINGERPRINT: fingerprint(run, verdict)}
    if verdict.suppressed is not None:
        mark = verdict.suppressed
        told["suppressions"] = [
            {
                "kind": "external",
                "status": "accepted",
                "justification": mark.reason,
                "properties": {"by": mark.by, "expires": mark.expires},
            }
        ]
    return told


def _location(
    run: Run, span_ids: tuple[str, ...], artifact: dict[str, object] | None
) -> dict[str, object]:
    parts = (run.trace_id, run.run_id, *span_ids)
    told: dict[str, object] = {
        "logicalLocations": [
            {
                "name": parts[-1],
                "fullyQualifiedName": "/".join(parts),
                "kind": "span" if span_ids else "run",
            }
        ]
    }
    if artifact is not None:
        told["physicalLocation"] = artifact
    return told


def _invocation(judged: JudgedRuns, summary: Summary, index: dict[str, int]) -> dict[str, object]:
    notes: list[dict[str, object]] = [
        {"level": "error", "message": {"text": problem}} for problem in judged.problems
    ]
    notes.extend(
        {
            "level": "note",
            "message": {"text": f"{rule} was not assessed in {n} of {summary.n_runs} runs."},
            "associatedRule": {"id": rule, "index": index[rule]},
        }
        for rule, n in sorted(summary.not_assessed.items())
    )
    return {
        "executionSuccessful": not judged.problems,
        "toolExecutionNotifications": notes,
        "properties": {"runs": summary.n_runs, "flagged": summary.n_flagged},
    }
