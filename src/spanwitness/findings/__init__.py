"""Where a finding goes: attributes and events of spans, metrics, log lines, files, your sinks."""

from __future__ import annotations

from spanwitness.findings.judged import Judged, Sink

__all__ = ["Judged", "Sink"]
