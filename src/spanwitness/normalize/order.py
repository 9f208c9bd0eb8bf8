"""One order for everything that happens in a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Discovery, Run, Step, Submission, ToolCall

__all__ = ["positions"]


def positions(run: Run) -> dict[str, int]:
    """Return the position of each model call, tool call, step, listing and submission, by span id.

    It is the sequence number where all of them have one (runs that `build_runs` made always do),
    else the rank by start time, ties in the order in which the run lists them.
    """
    items: list[ChatCall | ToolCall | Step | Discovery | Submission] = [*run.chats, *run.tools]
    if run.steps or run.discoveries or run.submission is not None:
        items += [*run.steps, *run.discoveries]
        items += [] if run.submission is None else [run.submission]
    found: dict[str, int] = {}
    for item in items:
        seq = item.seq
        if seq is None:
            break
        found[item.span_id] = seq
    else:
        return found
    ranked = sorted(range(len(items)), key=lambda i: (items[i].start_ns, i))
    return {items[index].span_id: rank for rank, index in enumerate(ranked, 1)}
