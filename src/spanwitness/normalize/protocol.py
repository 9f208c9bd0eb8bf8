"""Protocol steps, the submission, and what the root of a run says, as spans of ours carry them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, cast

import msgspec

from spanwitness.model import Claim, Selection, Step, Submission, TextPart
from spanwitness.model.run import STEP_KINDS
from spanwitness.normalize.attributes import decoded, flag, integer, text, texts
from spanwitness.normalize.stored_messages import decode, is_whole_list
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spanwitness.model import SpanRecord

__all__ = ["plain_text", "read_step", "read_submission", "root_facts"]

_OUTCOMES: Final = frozenset({"recovered", "deferred", "unresolved"})


def read_step(span: SpanRecord, seq: int | None) -> Step:
    """Read a protocol step; a kind that is not known reads as `solve`."""
    get = span.attributes.get
    kind = get(own.STEP_KIND)
    outcome = get(own.ESCALATION_OUTCOME)
    return Step(
        span_id=span.span_id,
        parent_span_id=span.parent_span_id,
        seq=seq,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
        name=text(get(own.STEP_NAME)) or span.name,
        kind=kind if kind in STEP_KINDS else "solve",
        operation=text(get(own.STEP_OPERATION)),
        inputs=text(get(own.STEP_INPUTS)),
        configured=texts(get(own.TOOLS_CONFIGURED)),
        declares_verdict=flag(get(own.VERDICT_DECLARED)) or False,
        verdict=flag(get(own.VERDICT)),
        success_before=flag(get(own.SUCCESS_BEFORE)),
        success_after=flag(get(own.SUCCESS_AFTER)),
        success_rule=text(get(own.SUCCESS_RULE)),
        parser_valid=flag(get(own.PARSER_VALID)),
        validity=flag(get(own.VALIDITY)),
        evidence_adequate=flag(get(own.EVIDENCE_ADEQUATE)),
        audit_detected=flag(get(own.AUDIT_DETECTED)),
        audit_false_assurance=flag(get(own.AUDIT_FALSE_ASSURANCE)),
        escalation_outcome=cast("Literal['recovered']", outcome) if outcome in _OUTCOMES else None,
        condition=text(get(own.CONDITION)),
        case_id=text(get(own.CASE_ID)),
        error_type=text(get(gen_ai.ERROR_TYPE)) or ("error" if span.status == "error" else None),
        output_is_empty=flag(get(own.STEP_OUTPUT_EMPTY)),
        selection=_selection(span) if own.CANDIDATES in span.attributes else None,
    )


def _selection(span: SpanRecord) -> Selection | None:
    """Read the candidates of a choice; `None` where what stands there contradicts itself."""
    get = span.attributes.get
    candidates, order = texts(get(own.CANDIDATES)), _items(get(own.CANDIDATE_ORDER))
    anchor, chosen = integer(get(own.CANDIDATE_ANCHOR)), integer(get(own.CANDIDATE_CHOSEN))
    n = len(candidates or ())
    places = [integer(place) for place in order or ()]
    if candidates is None or sorted(p for p in places if p is not None) != list(range(n)):
        return None
    if anchor is None or not 0 <= anchor < n or (chosen is not None and not 0 <= chosen < n):
        return None
    bits = [flag(bit) for bit in _items(get(own.CANDIDATE_SUCCESS)) or ()]
    known = tuple(bit for bit in bits if bit is not None)
    return Selection(
        candidates=candidates,
        order=tuple(place for place in places if place is not None),
        anchor=anchor,
        chosen=chosen,
        seed=integer(get(own.CANDIDATE_SEED)),
        success=known if len(known) == n else None,
    )


def _items(value: object) -> list[object] | None:
    inner = decoded(value) if isinstance(value, str) else value
    return list(inner) if isinstance(inner, (list, tuple)) else None


def read_submission(span: SpanRecord, seq: int | None, root: SpanRecord | None) -> Submission:
    """Read the frozen answer from its submit step, and its last digest from the root."""
    get = span.attributes.get
    cut = texts(get(own.TRUNCATED)) or ()
    answer = None if own.SUBMISSION_ANSWER in cut else get(own.SUBMISSION_ANSWER)
    final = None if root is None else text(root.attributes.get(own.SUBMISSION_FINAL_DIGEST))
    return Submission(
        span_id=span.span_id,
        seq=seq,
        start_ns=span.start_ns,
        digest=text(get(own.SUBMISSION_DIGEST)),
        final_digest=final,
        answer=decoded(answer),
        has_answer=answer is not None,
        claims=None if own.SUBMISSION_CLAIMS in cut else _claims(get(own.SUBMISSION_CLAIMS)),
    )


def _claims(value: object) -> tuple[Claim, ...] | None:
    items = decoded(value)
    if not isinstance(items, list):
        return None
    try:
        return tuple(msgspec.convert(item, Claim) for item in items)
    except msgspec.ValidationError:
        return None


def plain_text(value: object) -> str | None:
    """Return an attribute that holds content as the text it is; other values stay JSON."""
    if not isinstance(value, str):
        return None
    inner = decoded(value)
    return inner if isinstance(inner, str) else value


def _whole_text(attributes: Mapping[str, object], key: str) -> str | None:
    """Return a text, unless it was cut to a size cap: absence from a part proves nothing."""
    is_cut = own.TRUNCATED in attributes and key in (texts(attributes[own.TRUNCATED]) or ())
    return None if is_cut else plain_text(attributes.get(key))


def root_facts(spans: Iterable[SpanRecord]) -> dict[str, Any]:
    """Return what the root says of its run, as fields of `Run`.

    Args:
        spans: The root, and after it the agents that are one with it, outermost first; what the
            first does not say is taken from the next.
    """
    found: dict[str, Any] = {}
    for span in spans:
        for name, value in _facts_of(span).items():
            found.setdefault(name, value)
    return found


def _facts_of(span: SpanRecord) -> dict[str, object]:
    attributes = span.attributes
    get = attributes.get
    facts: dict[str, object] = {
        "agent": text(get(gen_ai.AGENT_NAME)),
        "workflow": text(get(gen_ai.WORKFLOW_NAME)),
        "conversation_id": text(get(gen_ai.CONVERSATION_ID)),
        "service": text(span.resource.get(gen_ai.SERVICE_NAME)),
        "error_type": text(get(gen_ai.ERROR_TYPE)),
    }
    if own.RUN_ID in attributes or own.CONTENT in attributes:
        facts |= {
            "item_id": text(get(own.ITEM_ID)),
            "subject": text(get(own.SUBJECT)),
            "tags": texts(get(own.TAGS)),
            "configured": texts(get(own.TOOLS_CONFIGURED)),
            "stack": text(get(own.STACK)),
            "final_text": _whole_text(attributes, own.RUN_OUTPUT),
            "has_final": flag(get(own.HAS_OUTPUT)),
            "input_text": _whole_text(attributes, own.RUN_INPUT),
            "is_cancelled": flag(get(own.CANCELLED)),
            "max_turns": integer(get(own.MAX_TURNS)),
            "turns": integer(get(own.TURNS)),
            "termination": text(get(own.TERMINATION)),
            "compacted": flag(get(own.COMPACTED)),
        }
    elif gen_ai.OUTPUT_MESSAGES in attributes:
        facts["final_text"] = _last_text(attributes[gen_ai.OUTPUT_MESSAGES])
    return {name: value for name, value in facts.items() if value is not None}


def _last_text(value: object) -> str | None:
    """Return the text of the last message that an agent gave back."""
    if not is_whole_list(value):
        return None
    for message in reversed(decode(value)):
        found = "".join(part.text for part in message.parts if isinstance(part, TextPart))
        if found:
            return found
    return None
