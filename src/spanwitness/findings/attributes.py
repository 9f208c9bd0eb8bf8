"""A judgement as attributes of the run's root span, as evaluation events, and as a verdict span."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from spanwitness.findings.receipts import receipts_attribute
from spanwitness.model.verdict import SEVERITIES
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.findings.judged import Judged
    from spanwitness.model import Run, Verdict

Attributes: TypeAlias = dict[str, str | bool | int | float | list[str]]

MAX_EVENTS: Final = 32
"""Evaluation events on one root; findings come first. The SDK keeps 128 events a span."""
_MAX_REASON_CHARS: Final = 500
_LABELS: Final = {
    "holds": "pass",
    "violated": "fail",
    "not_assessed": "not_assessed",
    "not_applicable": "pass",
}


def root_attributes(judged: Judged) -> Attributes:
    """Return what the root of a judged run is to say of the judgement."""
    return {
        names.FLAGGED: judged.is_flagged,
        names.RULES_VIOLATED: judged.rules_violated,
    }


def closing_attributes(judged: Judged) -> Attributes:
    """Return what the root of a run says when it ends: the judgement, and the receipts.

    Of a run whose content is not recorded only states, kinds and ids of receipts are told.
    """
    attributes = root_attributes(judged)
    text = receipts_attribute(judged.claims, with_content=judged.run.content == "on")
    if text is not None:
        attributes[names.RECEIPTS] = text
    if judged.run.stack is not None:
        attributes[names.STACK] = judged.run.stack
    return attributes


def evaluation_events(judged: Judged) -> Iterator[Attributes]:
    """Yield the attributes of one `gen_ai.evaluation.result` event a verdict.

    Only findings and what could not be assessed have one; at most `MAX_EVENTS`, the worst first. A
    violation that another one explains has none: backends count events, and it is one cause.
    """
    telling = [v for v in judged.verdicts if v.is_finding or v.verdict == "not_assessed"]
    telling.sort(key=_rank)
    for verdict in telling[:MAX_EVENTS]:
        yield evaluation_attributes(verdict)


def evaluation_attributes(verdict: Verdict) -> Attributes:
    """Return the attributes of the evaluation event of one verdict."""
    return {
        gen_ai.EVALUATION_NAME: verdict.rule,
        gen_ai.EVALUATION_SCORE_LABEL: _LABELS[verdict.verdict],
        gen_ai.EVALUATION_EXPLANATION: verdict.reason[:_MAX_REASON_CHARS],
        **_rule_attributes(verdict),
    }


def verdict_attributes(judged: Judged, verdict: Verdict) -> Attributes:
    """Return the attributes of the verdict span of one unexplained violation.

    They repeat the root's, because a backend may hold that span alone.
    """
    run = judged.run
    return {
        names.RUN_ID: run.run_id,
        **identity_attributes(run),
        **root_attributes(judged),
        names.COMPLETE: run.is_complete,
        names.REASON: verdict.reason[:_MAX_REASON_CHARS],
        **_rule_attributes(verdict),
    }


def identity_attributes(run: Run) -> Attributes:
    """Return what says which run it is, as far as it is known."""
    known = {
        names.ITEM_ID: run.item_id,
        names.SUBJECT: run.subject,
        names.STACK: run.stack,
        gen_ai.AGENT_NAME: run.agent,
        gen_ai.CONVERSATION_ID: run.conversation_id,
    }
    return {name: value for name, value in known.items() if value is not None}


def _rule_attributes(verdict: Verdict) -> Attributes:
    attributes: Attributes = {
        names.RULE_ID: verdict.rule,
        names.RULE_VERSION: verdict.rule_version,
        names.SEVERITY: verdict.severity,
        names.FAULT: verdict.fault,
    }
    if verdict.kind is not None:
        attributes[names.FAULT_KIND] = verdict.kind
    if verdict.contract is not None:
        attributes[names.CONTRACT] = verdict.contract
    return attributes


def _rank(verdict: Verdict) -> tuple[int, int, str]:
    return int(not verdict.is_finding), -SEVERITIES.index(verdict.severity), verdict.rule
