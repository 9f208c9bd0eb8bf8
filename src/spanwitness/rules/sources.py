"""Which things the sources of an answer are about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from spanwitness.grounding import documents_of
from spanwitness.rules.attribution import is_read
from spanwitness.rules.failures import is_success
from spanwitness.rules.identity import names_another, names_subject
from spanwitness.rules.wording import as_text

if TYPE_CHECKING:
    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts

__all__ = ["Read", "read_of_subject"]


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """What was read of a subject."""

    n_subject: int = 0
    n_other: int = 0
    n_unknown: int = 0
    span_ids: tuple[str, ...] = ()
    """Executions that read something else."""

    @property
    def is_of_another(self) -> bool:
        """Whether all that supports the answer is about something else."""
        return self.n_other > 0 and self.n_subject == 0 and self.n_unknown == 0


def read_of_subject(facts: Facts, subject: str) -> Read:
    """Count what supports the answer by what it is about.

    Where claims have receipts from results, those results count; else all that was read.
    """
    reads = [
        e
        for e in facts.executions
        if is_read(facts, e) and is_success(e) and e.outcome != "empty" and e.has_result
    ]
    words = {id(e): _about(reads[: n + 1], subject) for n, e in enumerate(reads)}
    cited = _cited(facts)
    counted = [e for e in reads if (e.span_id, e.call_id) in cited] or reads
    other = [e for e in counted if words[id(e)] == "other"]
    return Read(
        n_subject=sum(words[id(e)] == "subject" for e in counted),
        n_other=len(other),
        n_unknown=sum(words[id(e)] == "unknown" for e in counted),
        span_ids=tuple(dict.fromkeys(e.span_id for e in other if e.span_id)),
    )


def _cited(facts: Facts) -> set[tuple[str, str | None]]:
    return {
        (place.span_id, place.call_id)
        for claim in facts.claims
        if claim.receipt.state in ("in_window", "derivable") and not claim.receipt.is_weak
        for place in claim.receipt.places
        if place.source == "result"
    }


def _about(reads: list[Execution], subject: str) -> Literal["subject", "other", "unknown"]:
    """Say what the last of some reads is about; a page of a document is about the document.

    Its own arguments and text decide; where they name nothing, those of the reads before it do.
    """
    last = reads[-1]
    if names_subject(as_text(last.result), subject):
        return "subject"
    for read in reversed(reads):
        told = [document.identity for document in documents_of(read)]
        told.append(as_text(read.arguments or ""))
        if any(names_subject(text, subject) for text in told):
            return "subject"
        if any(names_another(text, subject) for text in told):
            return "other"
    return "unknown"
