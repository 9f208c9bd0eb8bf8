"""`output_constraint_bypass`: tools stood beside an output form, and went unused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.rule import HOLDS, not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, FORMATS, OFFERS

if TYPE_CHECKING:
    from spanwitness.model import ChatCall
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_SHORT_BODY = 2_000
_MOST_BYTES_PER_TOKEN = 12
"""JSON takes about four bytes a token; a prompt this far below its request was cut on the way."""


@rule("output_constraint_bypass", severity="error", fault="harness", needs=CHATS | OFFERS | FORMATS)
def output_constraint_bypass(facts: Facts) -> Outcome:
    """An output form stood beside the tools, no tool was called, and values were stated.

    Claims: Tools were offered, none was requested in the run, every request that offered them also
        asked for an output form, and the answer states values that no input part holds. Many
        servers turn the form into a grammar in which a tool call cannot be produced. An answer
        that is an empty form (`{}`, empty lists) counts as a value: it says that nothing was
        found, without a look. Error where tools were due, else warning.
    Needs: Offered tools and the output form of each request, calls of each reply; the messages, or
        the counts of values that were taken when the call was made.
    Not assessed when: One of these is not recorded, the input holds parts that cannot be read (an
        image, a file id, state kept by the provider), or the trace has a hole. Counts alone show no
        names (`repo_1`) and no empty form, so that without the answer it never says `holds`.
    Can be wrong: Values that the model rightly knows, or derived by more than a sum, difference,
        product or share of numbers that stand together, are unseen as well; a value that stands in
        the input, or follows from it, by chance hides an invented one.
    """
    offering = facts.offering
    if not offering:
        if not facts.knows_offers:
            return not_assessed("which tools were offered is not recorded")
        return facts.no_subject
    kinds = {c.output_format.kind if c.output_format is not None else None for c in offering}
    if "text" in kinds:
        return facts.no_subject if len(kinds) == 1 else facts.nothing_found
    if facts.used_evidence:
        return HOLDS
    if None in kinds:
        return not_assessed("the output form of a request is not recorded")
    if not facts.knows_requests:
        return not_assessed("which calls the replies asked for is not recorded")
    return _judge(facts, offering)


def _judge(facts: Facts, offering: tuple[ChatCall, ...]) -> Outcome:
    unknown = ""
    n_unseen = 0
    is_empty = False
    guilty: list[ChatCall] = []
    for chat in offering:
        if chat.has_refusal:
            continue
        said = facts.stated(chat)
        if said.has_unseen or said.is_empty_form:
            guilty.append(chat)
            n_unseen += said.n_unseen or 0
            is_empty |= said.is_empty_form
        elif said.n_unseen is None:
            unknown = said.reason
        elif said.is_counted_only:
            unknown = "the answer was not recorded: whether it states a name, or is an empty form"
    if not facts.run.is_complete:
        return facts.incomplete
    if not guilty:
        return not_assessed(unknown) if unknown else HOLDS
    due = facts.due
    stated = (
        "the answer is an empty form"
        if is_empty and not n_unseen
        else f"the answer states {n_unseen} value{'s' * (n_unseen != 1)} that no input holds"
    )
    return violated(
        "Tools and an output form stood in the same request, no tool was called, and"
        f" {stated}{'; ' + due.reason if due.word == 'yes' else ''}.",
        span_ids=tuple(chat.span_id for chat in guilty),
        evidence=_evidence(facts, guilty, n_unseen),
        severity="error" if due.word == "yes" else "warning",
    )


def _evidence(facts: Facts, guilty: list[ChatCall], n_unseen: int) -> dict[str, object]:
    chat = guilty[0]
    evidence: dict[str, object] = {
        "offered": sorted(t.name for t in chat.offered or () if facts.is_evidence(t))[:20],
        "output_format": chat.output_format.kind if chat.output_format is not None else None,
        "n_values_unseen": n_unseen,
        "due": facts.due.word,
    }
    size, tokens = chat.request_bytes, chat.usage.input_tokens
    if size is not None and tokens and size > _SHORT_BODY and size > _MOST_BYTES_PER_TOKEN * tokens:
        evidence["prompt_smaller_than_request"] = {"request_bytes": size, "input_tokens": tokens}
    return evidence
