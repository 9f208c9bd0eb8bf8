"""What the HTTP API takes and gives; its OpenAPI document is made from these models."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003  pydantic reads the annotations
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from spanwitness.model.verdict import Fault, ReasoningKind, Severity  # noqa: TC001
from spanwitness.review.store.values import State, VerdictWord  # noqa: TC001

__all__ = [
    "AddedOut",
    "ClaimIn",
    "CountsOut",
    "EmptyIn",
    "ErrorOut",
    "EventOut",
    "FindingIn",
    "FindingOut",
    "FindingsIn",
    "ItemDetailOut",
    "ItemOut",
    "ItemsOut",
    "LeaseIn",
    "NoteIn",
    "ReopenIn",
    "SnoozeIn",
    "StatsOut",
    "VerdictIn",
]

Short: TypeAlias = Annotated[str, Field(min_length=1, max_length=300)]


def _not_all_zeros(text: str) -> str:
    if not text.strip("0"):
        raise ValueError("an id of nothing but zeros stands for no id")
    return text


TraceId: TypeAlias = Annotated[
    str, Field(pattern=r"^[0-9a-f]{32}$"), AfterValidator(_not_all_zeros)
]
SpanId: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$"), AfterValidator(_not_all_zeros)]
RuleId: TypeAlias = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.-]{0,99}$")]
Lease: TypeAlias = Annotated[float, Field(ge=1, le=86_400, description="Seconds.")]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Out(BaseModel):
    # The queue's values are structs; what they hold besides is not for this API.
    model_config = ConfigDict(from_attributes=True)


class FindingIn(_In):
    """One violation that a detector outside found in one run."""

    rule: RuleId
    """The detector's own name for what it looks for; `shop.` or the like before it keeps it apart
    from the built-in rules."""
    rule_version: Annotated[int, Field(ge=1, le=1_000_000)] = 1
    severity: Severity = "warning"
    fault: Fault = "undetermined"
    kind: ReasoningKind | None = None
    reason: Annotated[str, Field(min_length=1, max_length=2000)]
    """One sentence that a reviewer understands: names and counts, no content."""
    span_ids: Annotated[list[SpanId], Field(max_length=100)] = []
    tool: Short | None = None
    """What it is about; findings with the same rule, service, agent and tool, field or step are one
    item."""
    field: Short | None = None
    step: Short | None = None
    evidence: Annotated[dict[str, object], Field(max_length=50)] = {}
    """What a reviewer may want to see. It counts as content."""


class FindingsIn(_In):
    """The findings of one run. Filing the same ones again changes nothing."""

    trace_id: TraceId
    run_id: Short | None = None
    """`None` = the root span's id."""
    root_span_id: SpanId
    """Of the run: links and verdicts lead there."""
    service: Short
    agent: Short | None = None
    item_id: Short | None = None
    """The caller's own item that the run worked on."""
    is_complete: bool = True
    findings: Annotated[list[FindingIn], Field(max_length=100)]
    """All findings of this detector in this run; empty = it was looked at and is clean."""


class AddedOut(_Out):
    """What a filing brought into the queue."""

    is_new_run: bool
    n_findings: int
    """Findings that were not there before."""
    opened: list[int]
    """Ids of new items."""
    reopened: list[int]
    raised: list[int]
    """Ids of items that only counted one more."""


class SampleOut(_Out):
    """A trace that stands for an item."""

    trace_id: str
    run_id: str
    has_snapshot: bool


class ItemOut(_Out):
    """What a reviewer works on: one cause of violations."""

    id: int
    fingerprint: str
    rule: str
    rule_version: int
    severity: Severity
    fault: Fault
    kind: str | None
    contract: str | None
    service: str | None
    agent: str | None
    subject: str | None
    reason: str
    state: State
    count: int
    first_seen: datetime
    last_seen: datetime
    due_at: datetime
    owner: str | None
    until: datetime | None
    regressions: int
    verdict: VerdictWord | None
    verdict_by: str | None
    verdict_at: datetime | None
    verdict_reason: str | None
    verdict_trace_id: str | None
    version: int
    """Give it back with an act to be told when somebody was faster."""
    samples: list[SampleOut]


class ItemsOut(_Out):
    """A part of the items."""

    rows: list[ItemOut]
    after: str | None
    """Give it back for the next part; `null` = this was the last."""


class FindingOut(_Out):
    """One violation in one run."""

    id: int
    trace_id: str
    run_id: str
    rule: str
    rule_version: int
    severity: Severity
    fault: Fault
    reason: str
    span_ids: list[str]
    evidence: dict[str, object] | None
    """`null` where the caller may not see content, or it is not kept."""
    is_complete: bool
    detected_at: datetime


class EventOut(_Out):
    """One line of the history."""

    at: datetime
    actor: str
    action: str
    from_state: str | None
    to_state: str | None
    note: str | None


class ItemDetailOut(_Out):
    """An item with its latest findings and its history."""

    item: ItemOut
    findings: list[FindingOut]
    events: list[EventOut]


class ClaimIn(_In):
    """Which open item to take: the one that comes first by severity, due time and age."""

    lease_s: Lease = 900.0
    rules: Annotated[list[RuleId], Field(max_length=100)] = []
    min_severity: Severity = "info"
    agent: Short | None = None
    service: Short | None = None


class LeaseIn(_In):
    """How long to hold an item."""

    lease_s: Lease = 900.0


class VerdictIn(_In):
    """What a reviewer says of an item."""

    verdict: VerdictWord
    reason: Annotated[str, Field(max_length=5000)] | None = None
    trace_id: TraceId | None = None
    """The trace that was judged; `null` = the latest sample."""
    fault: Fault | None = None
    """Where the rule names a wrong one."""
    kind: ReasoningKind | None = None
    version: int | None = None
    """The version that was seen."""


class SnoozeIn(_In):
    """Until when an item rests."""

    until: datetime
    """With a time zone."""
    version: int | None = None


class ReopenIn(_In):
    """Why an item is opened again."""

    reason: Annotated[str, Field(max_length=5000)] | None = None


class NoteIn(_In):
    """A line for the history."""

    text: Annotated[str, Field(min_length=1, max_length=5000)]


class EmptyIn(_In):
    """Nothing to say."""


class CountsOut(_Out):
    """How many items there are."""

    open: int
    claimed: int
    snoozed: int
    resolved: int
    overdue: int
    oldest_open: datetime | None


class RuleStatsOut(_Out):
    """Verdicts on one version of a rule; `n` = confirmed + false_positive."""

    rule: str
    version: int
    confirmed: int
    false_positive: int
    expected: int
    cannot_tell: int
    duplicate: int
    n: int
    precision: float | None
    ci_low: float | None
    ci_high: float | None
    method: str


class StatsOut(_Out):
    """Counts of items and verdicts. The queue is no random sample of runs."""

    counts: CountsOut
    rules: list[RuleStatsOut]


class ErrorOut(BaseModel):
    """Why a request was not done."""

    error: str
    problems: list[str] = []
    """What is wrong with the body, by place; values are not quoted."""
    current: ItemOut | None = None
    """The item as it is now, where somebody was faster."""


ListOrder: TypeAlias = Literal["priority", "newest"]
