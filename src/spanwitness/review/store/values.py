"""What the queue gives back: frozen values, never rows of a database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Generic, Literal, TypeAlias, TypeVar

import msgspec

from spanwitness.model import LedgerRow, Severity, SpanRecord
from spanwitness.model.verdict import Fault, ReasoningKind

State: TypeAlias = Literal["open", "claimed", "resolved", "snoozed"]
STATES: tuple[State, ...] = ("open", "claimed", "snoozed", "resolved")
VerdictWord: TypeAlias = Literal[
    "confirmed", "false_positive", "expected", "cannot_tell", "duplicate"
]
"""What a person says of an item: a real failure, none, an accepted one, not to be decided with
what is recorded, or the same as another item."""
VERDICTS: tuple[VerdictWord, ...] = (
    "confirmed", "false_positive", "expected", "cannot_tell", "duplicate",
)  # fmt: skip
AuditWord: TypeAlias = Literal["sound", "unsound", "cannot_tell"]
AUDIT_WORDS: tuple[AuditWord, ...] = ("sound", "unsound", "cannot_tell")

T = TypeVar("T")


class Added(msgspec.Struct, frozen=True, kw_only=True):
    """What one judged run brought into the queue."""

    is_new_run: bool = False
    """The queue had not seen this run."""
    n_findings: int = 0
    """Findings that were not there before."""
    opened: tuple[int, ...] = ()
    """Ids of items that are new."""
    reopened: tuple[int, ...] = ()
    """Ids of resolved items that are open again."""
    raised: tuple[int, ...] = ()
    """Ids of items that only counted one more."""
    n_blocked: int = 0
    """Findings left out because a person's verdict on pruned items stands for them."""
    is_audited: bool = False
    """The run was drawn for audit mode."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """A trace that stands for an item."""

    trace_id: str
    run_id: str
    has_snapshot: bool
    """Its spans are kept in the queue."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """What a reviewer works on: one cause of unexplained violations."""

    id: int
    fingerprint: str
    rule: str
    rule_version: int
    """Of the latest finding."""
    severity: Severity
    fault: Fault
    kind: str | None
    contract: str | None
    service: str | None
    agent: str | None
    subject: str | None
    """The tool, field, step or clause it is about; names may come from a model."""
    reason: str
    """One sentence of the latest finding: names and counts."""
    state: State
    count: int
    """Findings, each place of a run once."""
    first_seen: datetime
    last_seen: datetime
    due_at: datetime
    owner: str | None = None
    """Who holds it, while it is claimed."""
    until: datetime | None = None
    """End of the lease, or of the rest of a snoozed item."""
    regressions: int = 0
    """How often it came back after a verdict."""
    verdict: VerdictWord | None = None
    """The latest verdict; it stays readable when the item is open again."""
    verdict_by: str | None = None
    verdict_at: datetime | None = None
    verdict_reason: str | None = None
    verdict_trace_id: str | None = None
    verdict_rule_version: int | None = None
    verdict_fault: Fault | None = None
    """The reviewer's correction; `None` = as the rule says."""
    verdict_kind: ReasoningKind | None = None
    version: int = 1
    """Rises with each act of a person; give it back to be told of conflicts."""
    samples: tuple[Sample, ...] = ()
    """Up to three."""

    @property
    def is_regressed(self) -> bool:
        """Whether it is open again after a verdict."""
        return self.regressions > 0 and self.state != "resolved"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One unexplained violation in one run."""

    id: int
    trace_id: str
    run_id: str
    rule: str
    rule_version: int
    contract: str | None
    severity: Severity
    fault: Fault
    kind: str | None
    reason: str
    span_ids: tuple[str, ...]
    evidence: dict[str, object] | None
    """`None` where content is not kept, or no longer."""
    is_complete: bool
    detected_at: datetime


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the history; only ever added."""

    id: int
    item_id: int | None
    at: datetime
    actor: str
    action: str
    """`opened`, `reopened`, `claimed`, `verdict`, ..."""
    from_state: State | None
    to_state: State | None
    note: str | None
    data: dict[str, object] | None


class ItemDetail(msgspec.Struct, frozen=True, kw_only=True):
    """An item with all that is known of it."""

    item: Item
    findings: tuple[Finding, ...]
    """The latest ones first, at most 200."""
    events: tuple[Event, ...]
    """The oldest first."""


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A judged run as the queue remembers it, without content."""

    trace_id: str
    run_id: str
    root_span_id: str
    service: str | None
    agent: str | None
    workflow: str | None
    item_id: str | None
    """The caller's item that the run worked on."""
    stack: str | None
    contract: str | None
    content: str
    is_flagged: bool
    is_complete: bool
    n_findings: int
    ended_at: datetime | None
    judged_at: datetime
    ledger: tuple[LedgerRow, ...] | None
    """Kept of runs with a finding, and of audited ones; else `None`."""


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """The spans of a run as the queue keeps them."""

    trace_id: str
    run_id: str
    content: str
    """What content they hold: `on` or `off`."""
    spans: tuple[SpanRecord, ...]
    taken_at: datetime


class ItemFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which items; everything given must hold."""

    ids: tuple[int, ...] = ()
    """These items only; empty = any."""
    states: tuple[State, ...] = ()
    """Empty = any."""
    rules: tuple[str, ...] = ()
    min_severity: Severity = "info"
    fault: Fault | None = None
    agent: str | None = None
    service: str | None = None
    verdict: VerdictWord | None = None
    owner: str | None = None
    is_overdue: bool = False
    """Only unresolved items whose due time is over."""
    is_regressed: bool = False
    text: str = ""
    """Part of the rule, agent, service, subject or reason, or a whole trace id; case is ignored."""


class Page(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """A part of a long list."""

    rows: tuple[T, ...]
    after: str | None
    """Give it back for the next part; `None` = this was the last."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many items there are."""

    open: int = 0
    claimed: int = 0
    snoozed: int = 0
    resolved: int = 0
    overdue: int = 0
    """Open or claimed ones past their due time."""
    oldest_open: datetime | None = None
    """When the oldest open item was first seen."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.open + self.claimed + self.snoozed + self.resolved


class RuleStats(msgspec.Struct, frozen=True, kw_only=True):
    """What verdicts say of one version of a rule.

    `n` = confirmed + false_positive; the unit is one judged trace of an item, a bulk verdict counts
    once. The queue is no random sample: the precision is that of what was reviewed.
    """

    rule: str
    version: int
    confirmed: int
    false_positive: int
    expected: int
    cannot_tell: int
    duplicate: int
    n: int
    precision: float | None
    """`None` while n is 0."""
    ci_low: float | None
    ci_high: float | None
    method: str
    """`wilson` or `clopper_pearson`."""


class RuleDay(msgspec.Struct, frozen=True, kw_only=True):
    """One day of a rule."""

    day: str
    """`YYYY-MM-DD`, UTC, when the runs were judged."""
    n_runs: int
    """Runs judged that day."""
    n_runs_with: int
    """Those with a finding of the rule."""


class AgentStats(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one agent."""

    service: str | None
    agent: str | None
    n_runs: int
    n_flagged: int
    n_incomplete: int
    last_run: datetime
    by_rule: Mapping[str, int]
    """Runs with a finding of the rule."""


class MissRate(msgspec.Struct, frozen=True, kw_only=True):
    """What audit mode says of the runs that no rule flagged.

    Each audited run stands for 1 / (fraction drawn) runs. `miss_rate` = the share of unsound runs
    that were not flagged; the interval is a percentile bootstrap over audited runs.
    """

    n_judged: int
    n_flagged_unsound: int
    n_flagged_sound: int
    n_unflagged_unsound: int
    n_unflagged_sound: int
    n_cannot_tell: int
    miss_rate: float | None
    """`None` while no judged run was unsound."""
    ci_low: float | None
    ci_high: float | None
    false_alarm_rate: float | None
    """The weighted share of sound runs that were flagged; `None` while none was sound."""


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """A run drawn for audit mode. It says nothing of what rules found."""

    id: int
    trace_id: str
    run_id: str
    agent: str | None
    is_second: bool
    """Another reviewer has judged it."""
    until: datetime | None = None


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """The share of runs that audit mode draws."""

    flagged: float = 0.1
    unflagged: float = 0.01
    second: float = 0.2
    """The share of audited runs that a second person judges."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the outbox on its way to one destination."""

    id: int
    message_id: str
    """The same at each attempt."""
    destination: str
    topic: str
    item_id: int | None
    payload: dict[str, object]
    """Ids, names and counts; never content."""
    created_at: datetime
    state: Literal["pending", "delivered", "dead"]
    attempts: int
    next_at: datetime
    last_status: int | None = None
    last_error: str | None = None


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What `prune` removed."""

    snapshots: int = 0
    evidence: int = 0
    """Findings whose evidence was removed."""
    runs: int = 0
    items: int = 0
    """Each left a tombstone."""
    messages: int = 0
    """Of the outbox, settled or never wanted."""
