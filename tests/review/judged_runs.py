"""Judged runs, spans and a clock for tests of the queue."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from spanwitness.findings.judged import Judged
from spanwitness.model import ChatCall, Run, SpanRecord, Verdict

START = datetime(2026, 11, 30, 12, tzinfo=UTC)


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now

    def forward(self, **parts: float) -> datetime:
        self.now += timedelta(**parts)
        return self.now


def trace_id(name: object) -> str:
    return hashlib.md5(str(name).encode()).hexdigest()


def violation(rule: str = "tool_bypass", **changes: object) -> Verdict:
    values = {
        "rule": rule,
        "rule_version": 1,
        "verdict": "violated",
        "severity": "error",
        "fault": "reasoning",
        "reason": f"{rule} is broken in this run.",
        "span_ids": ("b" * 16,),
        "evidence": {"tools": ["read_page"], "excerpt": "the secret recipe"},
    }
    return Verdict(**(values | changes))


def judged(
    trace: object = 1, *verdicts: Verdict, agent: str = "extractor", end: datetime | None = None
) -> Judged:
    """A run with one model call; without verdicts it violates `tool_bypass`."""
    end_ns = int((end or START - timedelta(hours=1)).timestamp()) * 1_000_000_000
    chat = ChatCall(span_id="b" * 16, start_ns=end_ns - 10, end_ns=end_ns, offered=())
    run = Run(
        run_id=trace_id(trace)[:16],
        trace_id=trace_id(trace),
        root_span_id="a" * 16,
        name=agent,
        agent=agent,
        service="shop",
        chats=(chat,),
        content="on",
    )
    return Judged(run=run, verdicts=verdicts or (violation(),))


def clean_run(trace: object, *, agent: str = "extractor") -> Judged:
    return judged(trace, violation(verdict="holds"), agent=agent)


def spans_of(one: Judged) -> list[SpanRecord]:
    trace = one.run.trace_id
    root = SpanRecord(
        trace_id=trace,
        span_id="a" * 16,
        name="invoke_agent extractor",
        start_ns=1,
        end_ns=30,
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "spanwitness.run_id": one.run.run_id,
            "spanwitness.run.output": "the secret recipe",
            "spanwitness.content": "on",
        },
        resource={"service.name": "shop", "process.command_args": ["--password", "hunter2"]},
    )
    chat = SpanRecord(
        trace_id=trace,
        span_id="b" * 16,
        parent_span_id="a" * 16,
        name="chat gpt",
        start_ns=2,
        end_ns=20,
        status="error",
        status_message="the secret recipe",
        attributes={
            "gen_ai.operation.name": "chat",
            "gen_ai.usage.input_tokens": 12,
            "gen_ai.input.messages": '[{"role": "user", "content": "the secret recipe"}]',
            "llm.input_messages.0.message.content": "the secret recipe",
        },
    )
    other = SpanRecord(trace_id=trace, span_id="c" * 16, name="GET /", start_ns=1, end_ns=2)
    return [root, chat, other]
