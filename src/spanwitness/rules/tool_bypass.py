"""`tool_bypass`: tools were offered and due, and none was requested."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import wording
from spanwitness.rules.replies import reply_texts
from spanwitness.rules.rule import HOLDS, not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, OFFERS

if TYPE_CHECKING:
    from spanwitness.model import ChatCall
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule(
    "tool_bypass", severity="error", fault="reasoning", kind="skipped_verification",
    needs=CHATS | OFFERS,
)  # fmt: skip
def tool_bypass(facts: Facts) -> Outcome:
    """Tools were offered and due, and the model answered without requesting any.

    Claims: Evidence tools were offered, no reply of the run requested one, nothing executed one,
        and tools were due: a contract or the tool choice asked for them, or the answer cites a
        page, source or quotation that no input holds, or reports a look-up that never happened. An
        answer that says it cannot use tools, although they were offered, is reported too
        (harness). Where nothing made them due and values are stated that no input holds, it is
        told at `info`.
    Needs: Offered tools and requested calls of every model call; the messages, or the counts taken
        when the call was made, unless a contract or the tool choice made tools due.
    Not assessed when: One of these is not recorded, the input holds parts that cannot be read, or
        the trace has a hole.
    Can be wrong: A source cited from memory may be right; an answer that invents values without
        citing anything is only an `info`, because tools are optional by default.
    """
    offering = facts.offering
    if not offering:
        if not facts.knows_offers:
            return not_assessed("which tools were offered is not recorded")
        return facts.no_subject
    if facts.used_evidence:
        return HOLDS
    if not facts.knows_requests:
        return not_assessed("which calls the replies asked for is not recorded")
    if not facts.run.is_complete:
        return facts.incomplete
    if not facts.stands_as_success:
        return HOLDS
    names = sorted({t.name for c in offering for t in c.offered or () if facts.is_evidence(t)})
    evidence: dict[str, object] = {"offered": list(names[:20]), "due": facts.due.word}
    spans = tuple(chat.span_id for chat in offering)
    if facts.due.word == "yes":
        return violated(
            f"Tools were offered and none was called, although {facts.due.reason}.",
            span_ids=spans,
            evidence=evidence,
        )
    if any(_denies(chat) for chat in offering):
        return violated(
            "The answer says that no tools can be used, although they stood in the request.",
            span_ids=spans,
            evidence=evidence,
            fault="harness",
        )
    return _judge_optional(facts, offering, evidence)


def _denies(chat: ChatCall) -> bool:
    return any(wording.denies_tools(text) for text in reply_texts(chat) or ())


def _judge_optional(
    facts: Facts, offering: tuple[ChatCall, ...], evidence: dict[str, object]
) -> Outcome:
    said = [(chat, facts.stated(chat)) for chat in offering if not chat.has_refusal]
    unseen = sum(each.n_unseen or 0 for _, each in said)
    if unseen:
        stated = f"the answer states {unseen} value{'s' * (unseen != 1)} that no input holds"
        if facts.due.word == "unknown":
            return not_assessed(f"{stated}, and whether tools were due is open: {facts.due.reason}")
        return violated(
            f"Tools were offered and none was called; {stated}, but nothing made tools due.",
            span_ids=tuple(chat.span_id for chat, each in said if each.n_unseen),
            evidence={**evidence, "n_values_unseen": unseen},
            severity="info",
        )
    unknown = next((each.reason for _, each in said if each.n_unseen is None), "")
    if unknown or facts.due.word == "unknown":
        return not_assessed(unknown or facts.due.reason)
    return HOLDS
