"""Findings as lines of a local file."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Final

from spanwitness.guard import guard

if TYPE_CHECKING:
    from pathlib import Path

    from spanwitness.findings.judged import Judged
    from spanwitness.model import Run, Verdict

SCHEMA: Final = "spanwitness.finding/1"
MAX_FILE_BYTES: Final = 64 * 1024 * 1024


class FileSink:
    """Appends a JSON line for each unexplained violation to `findings.jsonl`.

    The lines of a run are one `write` to a file opened for appending, so processes may share it.
    When the file has grown to `MAX_FILE_BYTES` it becomes `findings.1.jsonl`, and the one before is
    gone.

    Args:
        directory: The folder; it is made when the first finding comes.
    """

    def __init__(self, directory: Path) -> None:
        self.path = directory / "findings.jsonl"
        self._lock = threading.Lock()

    def take(self, judged: Judged) -> None:
        """Append the lines of one judged run."""
        findings = judged.findings
        if not findings:
            return
        lines = "".join(f"{_line(judged.run, verdict)}\n" for verdict in findings)
        with guard("findings.file"), self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._turn_over()
            # Findings name runs and items: for the user's eyes only.
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(handle, lines.encode("utf-8", "backslashreplace"))
            finally:
                os.close(handle)

    def _turn_over(self) -> None:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return
        if size >= MAX_FILE_BYTES:
            self.path.replace(self.path.with_name("findings.1.jsonl"))


def _line(run: Run, verdict: Verdict) -> str:
    return json.dumps(
        {
            "schema": SCHEMA,
            "trace_id": run.trace_id,
            "run_id": run.run_id,
            "root_span_id": run.root_span_id,
            "service": run.service,
            "agent": run.agent,
            "item_id": run.item_id,
            "subject": run.subject,
            "complete": run.is_complete,
            "rule": verdict.rule,
            "rule_version": verdict.rule_version,
            "severity": verdict.severity,
            "fault": verdict.fault,
            "kind": verdict.kind,
            "contract": verdict.contract,
            "reason": verdict.reason,
            "span_ids": verdict.span_ids,
            "evidence": verdict.evidence,
        },
        default=str,
    )
