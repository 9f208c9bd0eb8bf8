"""A run of one reading tool, and the receipts of what its answer says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.rules.builders import call, chat, run, tool

from spanwitness.grounding import assess
from spanwitness.rules.facts import Facts

if TYPE_CHECKING:
    from spanwitness.model import AssessedClaim, Receipt, Run


def read(text: object, answer: object, *, prompt: str = "Please help.") -> Run:
    """A run that reads a text by a tool and then answers."""
    return run(
        chat(calls=[call("read", path="sensor.pdf")]),
        tool("read", gives=text, path="sensor.pdf"),
        chat(answer),  # type: ignore[arg-type]
        prompt=prompt,
    )


def claims(of: Run) -> dict[str, AssessedClaim]:
    """The claims of a run's answer, by what they say."""
    facts = Facts(of)
    found = assess(of, answer=facts.answer_text, executions=facts.executions)
    return {claim.text: claim for claim in found}


def receipt(text: object, answer: str, said: str | None = None) -> Receipt:
    """The receipt of one claim of an answer; without `said`, of its only one."""
    found = claims(read(text, answer))
    if said is None:
        (one,) = found.values()
        return one.receipt
    return found[said].receipt
