"""A reviewer's verdict on its way back to where the trace is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.model import SpanEvent, SpanRecord
from spanwitness.model.digest import span_id_for
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as names

if TYPE_CHECKING:
    from datetime import datetime

    from spanwitness.review.store.values import VerdictWord

__all__ = ["SCORES", "HumanVerdict", "evaluation_span"]

SCORES: dict[VerdictWord, float] = {"confirmed": 1.0, "false_positive": 0.0}
"""Of the statement that the rule was right. The other words have none."""


class HumanVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a person said of an item, and of which trace."""

    item_id: int
    fingerprint: str
    rule: str
    rule_version: int
    word: VerdictWord | None
    """`None` = it was taken back."""
    by: str | None
    at: datetime
    reason: str | None
    """What the reviewer wrote."""
    fault: str | None
    kind: str | None
    trace_id: str
    run_id: str
    root_span_id: str
    service: str | None
    agent: str | None

    @property
    def name(self) -> str:
        """What it evaluates, as backends list it."""
        return f"{self.rule}.review"

    @property
    def label(self) -> str:
        """The word, or that it was taken back."""
        return self.word or "withdrawn"

    @property
    def score(self) -> float | None:
        """1 = the rule was right, 0 = it was wrong, `None` = neither."""
        return None if self.word is None else SCORES.get(self.word)

    @property
    def key(self) -> str:
        """Equal for every verdict on this item and trace: the later replaces the earlier."""
        return f"spanwitness:{self.fingerprint[:32]}:{self.trace_id}"


def evaluation_span(verdict: HumanVerdict) -> SpanRecord:
    """Return the span that carries a verdict: in the judged trace, below the root of the run.

    Its id follows from the verdict, so a second delivery makes the same span.
    """
    at_ns = int(verdict.at.timestamp() * 1_000_000) * 1000
    event: dict[str, object] = {
        gen_ai.EVALUATION_NAME: verdict.name,
        gen_ai.EVALUATION_SCORE_LABEL: verdict.label,
        names.RULE_ID: verdict.rule,
        names.RULE_VERSION: verdict.rule_version,
    }
    if verdict.score is not None:
        event[gen_ai.EVALUATION_SCORE_VALUE] = verdict.score
    if verdict.reason:
        event[gen_ai.EVALUATION_EXPLANATION] = verdict.reason
    told = {
        names.RUN_ID: verdict.run_id,
        names.RULE_ID: verdict.rule,
        names.RULE_VERSION: verdict.rule_version,
        names.FAULT: verdict.fault,
        names.FAULT_KIND: verdict.kind,
        names.REVIEW_VERDICT: verdict.label,
        names.REVIEW_BY: verdict.by,
        names.REVIEW_ITEM_ID: verdict.item_id,
        gen_ai.AGENT_NAME: verdict.agent,
    }
    return SpanRecord(
        trace_id=verdict.trace_id,
        span_id=span_id_for(verdict.key, verdict.label, verdict.at.isoformat()),
        parent_span_id=verdict.root_span_id or None,
        name=f"review {verdict.rule}",
        start_ns=at_ns,
        end_ns=at_ns,
        attributes={key: value for key, value in told.items() if value is not None},
        events=(SpanEvent(name=gen_ai.EVALUATION_EVENT, time_ns=at_ns, attributes=event),),
        resource={gen_ai.SERVICE_NAME: verdict.service} if verdict.service else {},
        scope="spanwitness",
    )
