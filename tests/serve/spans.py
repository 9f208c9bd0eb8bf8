"""Runs as span records: an agent that calls a tool, and one that is cut short."""

from __future__ import annotations

import itertools

from spanwitness.model import SpanRecord

_numbers = itertools.count(1)


def trace_id(number: int | None = None) -> str:
    return f"{next(_numbers) if number is None else number:032x}"


def span(trace, name, *, span_id, parent=None, start=0, end=0, **attributes):
    return SpanRecord(
        trace_id=trace,
        span_id=f"{span_id:016x}",
        parent_span_id=None if parent is None else f"{parent:016x}",
        name=name,
        start_ns=1_000_000_000 + start,
        end_ns=1_000_000_000 + end,
        attributes={key.replace("__", "."): value for key, value in attributes.items()},
        resource={"service.name": "shop"},
        scope="test",
    )


def good_run(trace=None):
    """Return an agent run in which everything is as it should be."""
    trace = trace or trace_id()
    return [
        span(trace, "invoke_agent clerk", span_id=1, end=100,
             gen_ai__operation__name="invoke_agent", gen_ai__agent__name="clerk"),
        span(trace, "chat m", span_id=2, parent=1, start=10, end=20,
             gen_ai__operation__name="chat", gen_ai__request__model="m",
             gen_ai__response__finish_reasons=["stop"],
             gen_ai__output__messages='[{"role": "assistant", "parts": [{"type": "text", '
             '"content": "Hello."}], "finish_reason": "stop"}]'),
    ]  # fmt: skip


def cut_run(trace=None):
    """Return a run whose answer was cut off and accepted: `truncated_output`."""
    trace = trace or trace_id()
    root, _ = good_run(trace)
    chat = span(trace, "chat m", span_id=2, parent=1, start=10, end=20,
                gen_ai__operation__name="chat", gen_ai__request__model="m",
                gen_ai__response__finish_reasons=["length"],
                gen_ai__output__messages='[{"role": "assistant", "parts": [{"type": "text", '
                '"content": "The value is"}], "finish_reason": "length"}]')  # fmt: skip
    return [root, chat]
