"""The frozen values that capture writes, normalize reads, and rules judge.

`None` always means "not known"; an empty tuple means "known to be none".
"""

from __future__ import annotations

from spanwitness.model.calls import (
    Attempt,
    ChatCall,
    Delivery,
    Discovery,
    Execution,
    OutputFormat,
    ToolCall,
    ToolChoice,
    ToolDefinition,
    ToolRequest,
    Usage,
)
from spanwitness.model.grounding import (
    AssessedClaim,
    ClaimKind,
    ClaimState,
    Document,
    MatchWord,
    Place,
    Receipt,
    SourceKind,
)
from spanwitness.model.ledger import LedgerRow
from spanwitness.model.message import (
    MediaPart,
    Message,
    OpaquePart,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from spanwitness.model.run import Claim, Run, Selection, Step, Submission
from spanwitness.model.span import SpanEvent, SpanRecord
from spanwitness.model.verdict import Fault, Severity, Verdict, VerdictWord

__all__ = [
    "AssessedClaim",
    "Attempt",
    "ChatCall",
    "Claim",
    "ClaimKind",
    "ClaimState",
    "Delivery",
    "Discovery",
    "Document",
    "Execution",
    "Fault",
    "LedgerRow",
    "MatchWord",
    "MediaPart",
    "Message",
    "OpaquePart",
    "OutputFormat",
    "Part",
    "Place",
    "ReasoningPart",
    "Receipt",
    "RefusalPart",
    "Run",
    "Selection",
    "Severity",
    "SourceKind",
    "SpanEvent",
    "SpanRecord",
    "Step",
    "Submission",
    "TextPart",
    "ToolCall",
    "ToolCallPart",
    "ToolChoice",
    "ToolDefinition",
    "ToolRequest",
    "ToolResultPart",
    "Usage",
    "Verdict",
    "VerdictWord",
]
