"""The dispatch ledger: six points that every tool call passes, one row a call.

A silent failure is a difference between two neighbours. A point that the trace cannot show is
`unknown`, never `no`.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from spanwitness.model.calls import Side

YesNoUnknown: TypeAlias = Literal["yes", "no", "unknown"]


class LedgerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One call of one tool; a tool that was offered and never called has one without a call id."""

    tool: str
    call_id: str | None = None
    side: Side = "client"
    configured: YesNoUnknown = "unknown"
    offered: YesNoUnknown = "unknown"
    requested: YesNoUnknown = "unknown"
    executed: Literal["span", "messages", "provider", "cache", "no", "unknown"] = "unknown"
    returned: Literal[
        "value", "error", "empty", "cached", "cancelled", "unknown", "not_applicable"
    ] = "unknown"
    delivered: Literal["whole", "altered", "no", "unknown", "not_applicable"] = "unknown"
    cited: YesNoUnknown = "unknown"
