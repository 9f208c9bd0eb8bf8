"""A verdict that comes when the root has ended: a span of its own in the same trace.

It is made without a tracer, so that no sampler can drop it: the run that it accuses may have been
left out of the sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.findings.attributes import evaluation_attributes, verdict_attributes
from spanwitness.semconv import gen_ai

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.trace import SpanContext

    from spanwitness.findings.judged import Judged
    from spanwitness.model import Verdict

SCOPE: Final = "spanwitness"


def make_verdict_span(
    judged: Judged, verdict: Verdict, *, resource: Resource, time_ns: int
) -> ReadableSpan:
    """Make the ended, sampled span of one unexplained violation.

    Args:
        judged: The judged run.
        verdict: One of its findings.
        resource: Of the application that the run belongs to.
        time_ns: Start and end, nanoseconds since the epoch.
    """
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
    from opentelemetry.trace import Status, StatusCode

    ids = RandomIdGenerator()
    trace_id = int(judged.run.trace_id or "0", 16) or ids.generate_trace_id()
    root_id = int(judged.run.root_span_id or "0", 16)
    event = Event(gen_ai.EVALUATION_EVENT, evaluation_attributes(verdict), time_ns)
    return ReadableSpan(
        name=f"verdict {verdict.rule}",
        context=_context(trace_id, ids.generate_span_id()),
        parent=_context(trace_id, root_id) if root_id else None,
        resource=resource,
        attributes=verdict_attributes(judged, verdict),
        events=(event,),
        status=Status(StatusCode.UNSET),
        start_time=time_ns,
        end_time=time_ns,
        instrumentation_scope=InstrumentationScope(SCOPE),
    )


def _context(trace_id: int, span_id: int) -> SpanContext:
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(
        trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )
