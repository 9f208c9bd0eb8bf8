"""Findings as log lines."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Protocol, cast

from spanwitness.model.verdict import at_least

if TYPE_CHECKING:
    from spanwitness.findings.judged import Judged


class _Logger(Protocol):
    def warning(self, event: str, **facts: object) -> object: ...
    def info(self, event: str, **facts: object) -> object: ...


class LogSink:
    """Writes one `spanwitness.finding` line for each unexplained violation.

    The application's structlog configuration is used when there is one. Without it the line goes,
    as key=value text, to the standard logger `spanwitness.findings`, so that nothing is printed
    where the application did not ask for it. A line holds ids, the rule, severity, fault and the
    reason (names and counts), never content.
    """

    def __init__(self) -> None:
        import structlog  # noqa: F401  loaded now, so that no run waits for it

        self._logger: _Logger | None = None

    def take(self, judged: Judged) -> None:
        """Write the lines of one judged run."""
        findings = judged.findings
        if not findings:
            return
        logger = self._current()
        run = judged.run
        for verdict in findings:
            write = logger.warning if at_least(verdict.severity, "warning") else logger.info
            facts: dict[str, object] = {
                "rule": verdict.rule,
                "severity": verdict.severity,
                "fault": verdict.fault,
                "reason": verdict.reason,
                "trace_id": run.trace_id,
                "run_id": run.run_id,
                "is_complete": run.is_complete,
            }
            if run.item_id is not None:
                facts["item_id"] = run.item_id
            write("spanwitness.finding", **facts)

    def _current(self) -> _Logger:
        import structlog

        # The application may configure structlog after us: asked each time there is a finding.
        if structlog.is_configured():
            return cast("_Logger", structlog.get_logger("spanwitness.findings"))
        if self._logger is None:
            self._logger = cast(
                "_Logger",
                structlog.wrap_logger(
                    logging.getLogger("spanwitness.findings"),
                    processors=[
                        structlog.stdlib.filter_by_level,
                        structlog.processors.KeyValueRenderer(
                            key_order=["event"], drop_missing=True
                        ),
                    ],
                    wrapper_class=structlog.stdlib.BoundLogger,
                    context_class=dict,
                    cache_logger_on_first_use=False,
                ),
            )
        return self._logger
