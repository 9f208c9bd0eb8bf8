"""A run: the unit that is judged."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from spanwitness.model.calls import ChatCall, Discovery, ToolCall

StepKind: TypeAlias = Literal["solve", "verify", "audit", "escalate", "select", "revise", "submit"]
STEP_KINDS: tuple[StepKind, ...] = (
    "solve", "verify", "audit", "escalate", "select", "revise", "submit",
)  # fmt: skip


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of the answer, as the caller declares it.

    Attributes:
        value: The claimed value, a number or a text.
        unit: Its unit, such as `"mV"`; `None` for a bare number or a text.
        quote: The passage that the answer says supports it.
        source: Where the answer says it stands, such as `"p. 3"`.
        field: The field of the answer that it belongs to.
    """

    value: str | int | float | bool | None = None
    unit: str | None = None
    quote: str | None = None
    source: str | None = None
    field: str | None = None


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """A choice among candidates, as a step recorded it; positions are those presented, from 0."""

    candidates: tuple[str, ...]
    """Digests, in the order presented; equal candidates of one step have equal digests."""
    order: tuple[int, ...]
    """At each presented position, the position before the shuffle."""
    anchor: int
    chosen: int | None = None
    """`None` = no choice was recorded."""
    seed: int | None = None
    """Of the shuffle; `None` = the standard order."""
    success: tuple[bool, ...] | None = None
    """Of each candidate; `None` = not scored."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One protocol step."""

    span_id: str
    parent_span_id: str | None = None
    seq: int | None = None
    start_ns: int = 0
    end_ns: int = 0
    name: str
    kind: StepKind
    operation: str | None = None
    """Digest of what defines this operation: model, instruction, decoding, output form, tools."""
    inputs: str | None = None
    """Label of the input configuration."""
    configured: tuple[str, ...] | None = None
    """Names of the tools configured on this step; `None` = not declared."""
    declares_verdict: bool = False
    verdict: bool | None = None
    """What a judging step decided; `None` with `declares_verdict` = no readable verdict."""
    success_before: bool | None = None
    success_after: bool | None = None
    success_rule: str | None = None
    parser_valid: bool | None = None
    validity: bool | None = None
    evidence_adequate: bool | None = None
    audit_detected: bool | None = None
    audit_false_assurance: bool | None = None
    escalation_outcome: Literal["recovered", "deferred", "unresolved"] | None = None
    condition: str | None = None
    case_id: str | None = None
    error_type: str | None = None
    output_is_empty: bool | None = None
    selection: Selection | None = None
    """What a `select` step recorded of its candidates."""


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """The frozen answer."""

    span_id: str
    seq: int | None = None
    start_ns: int = 0
    digest: str | None = None
    final_digest: str | None = None
    """Digest of the same answer when the run ended; another value means that it was changed."""
    answer: object = None
    """Decoded; read it only when `has_answer`."""
    has_answer: bool = False
    claims: tuple[Claim, ...] | None = None
    """`None` = none declared."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One agent run, from whatever dialect, in one order.

    `chats`, `tools`, `steps` and `discoveries` include those of sub-agents (child runs), whose
    calls count for the parent, and are sorted by sequence number, else by start time and span id.
    """

    run_id: str
    trace_id: str
    root_span_id: str
    name: str
    agent: str | None = None
    workflow: str | None = None
    conversation_id: str | None = None
    service: str | None = None
    item_id: str | None = None
    subject: str | None = None
    tags: tuple[str, ...] = ()
    parent_run_id: str | None = None
    child_run_ids: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    chats: tuple[ChatCall, ...] = ()
    tools: tuple[ToolCall, ...] = ()
    steps: tuple[Step, ...] = ()
    discoveries: tuple[Discovery, ...] = ()
    submission: Submission | None = None
    configured: tuple[str, ...] | None = None
    """Tools configured on the agent or run; `None` = not declared."""
    stack: str | None = None
    """Stack identity: a digest with readable parts."""
    final_text: str | None = None
    """What the run gave back, where recorded (root output, else the last reply's visible text)."""
    has_final: bool | None = None
    """Whether the run gave anything back; `None` = not recorded."""
    input_text: str | None = None
    status: Literal["unset", "ok", "error"] = "unset"
    error_type: str | None = None
    is_cancelled: bool = False
    max_turns: int | None = None
    """The cap the harness declared; `None` = not declared."""
    turns: int | None = None
    """Turns the harness counted; `None` = not declared."""
    termination: str | None = None
    """Why the loop stopped, as the harness said it (`max_turns`, `completed`, ...)."""
    compacted: bool = False
    """The caller declared that the history was compacted."""
    content: Literal["on", "off", "digests", "unknown"] = "unknown"
    is_complete: bool = True
    incomplete_reasons: tuple[str, ...] = ()
    """Why absence proves nothing: `spans_missing`, `spans_lost`, `unsampled_spans`,
    `unseen_traffic`, `internal_error`, `open_spans`, `root_missing`, ..."""
