"""`trace_incomplete`: something of the run is missing from the trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.rule import HOLDS, not_assessed, rule, violated

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_WORDS = {
    "spans_missing": "spans are missing",
    "spans_lost": "spans were lost on their way",
    "unsampled_spans": "spans were not sampled",
    "unseen_traffic": "model traffic went round the transport",
    "internal_error": "the tracer had a fault of its own",
    "open_spans": "spans were still open",
    "root_missing": "the root span is missing",
}


@rule("trace_incomplete", severity="info", fault="undetermined")
def trace_incomplete(facts: Facts) -> Outcome:
    """Spans of the run were lost, not sampled or never seen, so absence proves nothing.

    Claims: Part of what the run did is not in this trace, for the reasons named. Content that is
        off or was cut to a size cap is no hole: the rules that need the text are not assessed.
    Needs: The counts and marks that the tracer leaves on the root (started and ended spans,
        losses, sampling, unseen traffic); parent ids without their span.
    Not assessed when: The spans come from an instrumentation that leaves no counts and no hole
        shows.
    Can be wrong: A loss behind the tracer (in a collector or a backend) of a span without
        children is seen by the counts only; a root that was exported twice may carry old counts.
    """
    run = facts.run
    if not run.is_complete or run.incomplete_reasons:
        reasons = run.incomplete_reasons or ("spans_missing",)
        told = "; ".join(_WORDS.get(reason, reason.replace("_", " ")) for reason in reasons)
        return violated(
            f"The trace of this run is incomplete: {told}.",
            span_ids=(run.root_span_id,) if run.root_span_id else (),
            evidence={"reasons": list(reasons)},
        )
    if "spanwitness" not in run.dialects:
        return not_assessed("These spans carry no counts that would show a loss.")
    return HOLDS
