"""A judged run, and what takes it further."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import msgspec

from spanwitness.model.verdict import at_least

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from spanwitness.model import AssessedClaim, Run, SpanRecord, Verdict

FindingKey: TypeAlias = tuple[str, str | None, int]


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A run together with what every rule said about it."""

    run: Run
    verdicts: tuple[Verdict, ...] = ()
    """Of all rules and clauses, whatever they said."""
    contract: str | None = None
    """Name of the contract that applied; `None` = none did."""
    claims: tuple[AssessedClaim, ...] = ()
    """What the answer claims, each with what it rests on and who is at fault for it."""
    spans: Sequence[SpanRecord] | None = None
    """The spans of the trace that were there when it was judged; `None` = not handed on."""
    is_update: bool = False
    """It holds only what spans that came late added to an earlier judgement of this run."""

    @property
    def findings(self) -> tuple[Verdict, ...]:
        """The unexplained violations."""
        return tuple(v for v in self.verdicts if v.is_finding)

    @property
    def is_flagged(self) -> bool:
        """Whether an unexplained violation stands at `warning` or above."""
        return any(v.is_finding and at_least(v.severity, "warning") for v in self.verdicts)

    @property
    def rules_violated(self) -> list[str]:
        """Ids of the rules with an unexplained violation, each once, in the order of the rules."""
        return list(dict.fromkeys(v.rule for v in self.verdicts if v.is_finding))

    def keyed_findings(self) -> dict[FindingKey, Verdict]:
        """Return the unexplained violations by a key that stays when a run is judged again.

        The key is the rule, the contract, and the place among the verdicts of both (a contract may
        hold several clauses of one rule).
        """
        places: Counter[tuple[str, str | None]] = Counter()
        found: dict[FindingKey, Verdict] = {}
        for verdict in self.verdicts:
            pair = verdict.rule, verdict.contract
            if verdict.is_finding:
                found[*pair, places[pair]] = verdict
            places[pair] += 1
        return found

    def update(self, keys: Collection[FindingKey]) -> Judged:
        """Return the news of a second judgement: only the findings with these keys."""
        found = self.keyed_findings()
        news = tuple(found[key] for key in found if key in keys)
        return msgspec.structs.replace(self, verdicts=news, is_update=True)


@runtime_checkable
class Sink(Protocol):
    """Takes judged runs further: to a log, a file, a queue, a webhook.

    It is called once for each judged run, and again with `is_update` set when spans that came late
    added findings. Calls come one at a time. What it raises is contained and counted; what it does
    itself (model calls) is not judged. A sink with a method `close()` has it called, in the same
    thread, when its witness is shut down.
    """

    def take(self, judged: Judged) -> None:
        """Take one judged run."""
        ...
