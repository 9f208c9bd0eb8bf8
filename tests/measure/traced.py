"""Stored traces with scored steps, for the tests of `measure`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from spanwitness.archive.otlp_json import encode
from spanwitness.model import SpanRecord

if TYPE_CHECKING:
    from pathlib import Path

_ids = itertools.count(1)


def span(
    name: str, attributes: dict, *, trace: str, parent: str | None = None, **more
) -> SpanRecord:
    at = next(_ids)
    return SpanRecord(
        trace_id=trace, span_id=f"{at:016x}", parent_span_id=parent, name=name, start_ns=at * 1000,
        end_ns=at * 1000 + 500, scope="spanwitness", attributes=attributes, **more,
    )  # fmt: skip


def run(
    *steps: dict, item: str | None = None, run_id: str | None = None, **root
) -> list[SpanRecord]:
    """The spans of one run of ours; a step is given by its attributes without their prefix."""
    trace = f"{next(_ids):032x}"
    run_id = run_id or f"run-{next(_ids)}"
    head = {"spanwitness.run_id": run_id, "spanwitness.content": "on",
            "spanwitness.complete": True,
            "gen_ai.operation.name": "invoke_workflow"}  # fmt: skip
    if item is not None:
        head["spanwitness.item_id"] = item
    head |= {(key if "." in key else f"spanwitness.{key}"): value for key, value in root.items()}
    top = span("invoke_workflow r", head, trace=trace)
    spans = [top]
    for at, step in enumerate(steps, start=2):
        cells = {"step.kind": "revise", "step.name": "improve"} | step
        status = "error" if cells.pop("failed", False) else "unset"
        parent = cells.pop("parent", None)
        attributes = {f"spanwitness.{key}": value for key, value in cells.items()}
        attributes |= {"spanwitness.run_id": run_id, "spanwitness.seq": at}
        if status == "error":
            attributes["error.type"] = "TimeoutError"
        spans.append(
            span(f"spanwitness.step {cells['step.name']}", attributes, trace=trace,
                 parent=top.span_id if parent is None else spans[parent].span_id, status=status)
        )  # fmt: skip
    top.attributes["spanwitness.seq"] = 1
    return spans


def pair(before: int, after: int, **more) -> dict:
    return {"success.before": bool(before), "success.after": bool(after),
            "success.rule": "exact@1"} | {key.replace("_", "."): value
                                          for key, value in more.items()}  # fmt: skip


def outcome(success: int, checkpoint: str, *, item: str | None = None, run_id: str | None = None):
    attributes = {"spanwitness.outcome.success": bool(success),
                  "spanwitness.outcome.checkpoint": checkpoint}  # fmt: skip
    if item is not None:
        attributes["spanwitness.item_id"] = item
    if run_id is not None:
        attributes["spanwitness.run_id"] = run_id
    return [span("spanwitness.outcome", attributes, trace=f"{next(_ids):032x}")]


def write(path: Path, traces: list[list[SpanRecord]]) -> Path:
    lines = encode(span for spans in traces for span in spans)
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path
