"""What an answer claims, and what each claim rests on."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from spanwitness.model.run import Claim
from spanwitness.model.verdict import Fault, ReasoningKind

ClaimKind: TypeAlias = Literal["number", "date", "identifier", "name", "quotation", "text"]

ClaimState: TypeAlias = Literal[
    "in_window",
    "derivable",
    "not_delivered",
    "left_window",
    "absent",
    "untraceable",
    "self_sourced",
    "not_decidable",
]
"""Where the support of a claim stands, as seen from the model call that gave the answer.

`in_window`: in its request. `derivable`: it follows from numbers in its request. `not_delivered`:
a tool returned it, and no request of the run carried it. `left_window`: an earlier request carried
it, this one does not. `absent`: everything was looked through, and it is nowhere. `untraceable`:
the claim holds nothing that could be looked for, or far too common a value. `self_sourced`: only
the model's own earlier text holds it. `not_decidable`: content is off, cut, or held elsewhere.
"""

MatchWord: TypeAlias = Literal[
    "exact", "folded", "scaled", "unit", "rounded", "range", "date", "similar", "derived"
]
"""How a claim met its support: as it stands, but for case and typography, by a scale word or
prefix, by another unit, by rounding to the answer's own precision, inside a range, as the same
date, a quotation with small edits, by calculation."""

SourceKind: TypeAlias = Literal[
    "result", "user", "system", "assistant", "reasoning", "arguments", "schema", "other"
]
"""What kind of text holds the support: a tool's result, a message, the model's own text, ..."""


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What a piece of evidence says, or its call says, about which document it comes from."""

    identity: str
    """As it is written there: a path, a title, an identifier."""
    told_by: Literal["arguments", "result", "header", "title", "path", "declared"]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One place that holds the support of a claim."""

    source: SourceKind
    span_id: str = ""
    """The tool span, else the chat span whose request or reply holds it."""
    call_id: str | None = None
    tool: str | None = None
    start: int = 0
    """Characters from the start of that text."""
    end: int = 0
    excerpt: str = ""
    """The text around it (content)."""
    path: str | None = None
    """Of JSON results: the keys that lead to it, such as `items[2].price`."""
    document: Document | None = None
    is_delivered: bool | None = None
    """Whether this text stood in a request to the model; `None` = not known."""


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What one claim rests on."""

    state: ClaimState
    match: MatchWord | None = None
    """`None` where nothing was met."""
    is_weak: bool = False
    """The value is so short or so common that a match proves little."""
    places: tuple[Place, ...] = ()
    """Best first: tool results before messages, delivered before not delivered."""
    derivation: str | None = None
    """The calculation, such as `12 + 30 = 42`."""
    difference: str | None = None
    """Where a similar quotation differs."""
    reason: str = ""
    """Why nothing can be decided (one clause)."""


class AssessedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """One claim of the answer with its receipt."""

    claim: Claim
    kind: ClaimKind
    origin: Literal["declared", "field", "text"]
    """Passed to `run.submit`, a field of structured output, or found in text."""
    text: str = ""
    """As it is written in the answer."""
    receipt: Receipt
    fault: Fault | None = None
    """Who is at fault for it, by elimination; `None` = nobody, or not looked at."""
    fault_kind: ReasoningKind | None = None
    attribution: str | None = None
    """The line of the table in `docs/faults.md` that decided; `None` = not looked at."""
