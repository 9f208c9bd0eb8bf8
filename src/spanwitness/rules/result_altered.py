"""`result_altered`: some value of a result is missing from what was delivered."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spanwitness.model import MediaPart, OpaquePart, TextPart
from spanwitness.rules.deliveries import cut_list, part_of, swapped_results
from spanwitness.rules.plain_loops import ODD_LOOP
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, EXECUTIONS

if TYPE_CHECKING:
    from spanwitness.model import Execution
    from spanwitness.rules.facts import Arrival, Facts
    from spanwitness.rules.rule import Outcome

_REFERENCE = re.compile(
    r"\b(?:[a-z][a-z0-9+.-]*://\S|"
    r"(?:saved|stored|written|uploaded|offloaded|available) (?:to|at|in|as|under)\b|"
    r"artifacts?\b|resource[_ ]link|ref(?:erence)?[_ ]?id|"
    r"(?:result|file|output)[_ ]?(?:id|ref|handle)\b|"
    r"handle\b)",
    re.IGNORECASE,
)
_MAX_REFERENCE = 600


@rule(
    "result_altered", severity="warning", fault="harness", needs=CHATS | EXECUTIONS, signs=ODD_LOOP
)
def result_altered(facts: Facts) -> Outcome:
    """Some value of a tool's result is missing from what the model was given.

    Claims: In no request did a result stand whole, and in at least one it stood without some of the
        values that the tool returned (cut, replaced, filtered). Of a list that lost elements it is
        told how many, and whether a total beside it still counts them all. Results of two parallel
        calls, each delivered under the other's id, are told at `error`. Writing a result in another
        form is not altering; nor are error results put into other words, references to a stored
        result, a word such as "done" for a write that returns nothing.
    Needs: What the tool returned and what the request carries, compared when the request left or
        from the recorded content.
    Not assessed when: The comparison was not possible (content off at another capture point, no
        tool span, result or request cut or too large), or delivered results are not recorded.
    Can be wrong: A summary that a harness makes on purpose is reported.
    """
    swapped = swapped_results(facts)
    if swapped:
        return _swapped(swapped)
    altered: list[tuple[Execution, Arrival]] = []
    unknown = not facts.knows_deliveries
    n_judged = 0
    for call_id, arrivals in facts.deliveries.items():
        execution = facts.execution_of.get(call_id)
        if execution is None or execution.outcome in ("error", "cancelled"):
            continue
        n_judged += 1
        states = {arrival.delivery.state for arrival in arrivals}
        if "whole" in states:
            continue
        if "altered" not in states:
            unknown = True
            continue
        arrival = next(a for a in arrivals if a.delivery.state == "altered")
        if _may_be_reference(execution, arrival):
            unknown = True
        elif not _is_excused(facts, execution, arrival):
            altered.append((execution, arrival))
    if altered:
        return _violated(altered)
    if unknown:
        return not_assessed("what was returned and what was delivered could not be compared")
    return facts.nothing_found if n_judged else facts.no_subject


def _is_excused(facts: Facts, execution: Execution, arrival: Arrival) -> bool:
    if facts.run.compacted and arrival.chat_index > facts.chat_before(execution) + 1:
        return True
    if execution.outcome == "empty" and facts.effect_of(execution) != "read":
        return True
    part = part_of(arrival)
    if part is None:
        return False
    if any(isinstance(p, OpaquePart) or (isinstance(p, MediaPart) and p.uri) for p in part.parts):
        return True
    text = "".join(p.text for p in part.parts if isinstance(p, TextPart))
    returned = str(execution.result) if execution.has_result else ""
    is_shorter = len(text) < len(returned)
    return is_shorter and len(text) <= _MAX_REFERENCE and _is_reference(text, returned)


def _may_be_reference(execution: Execution, arrival: Arrival) -> bool:
    """Without content, a short text in the place of a long one may be a handle."""
    size = arrival.delivery.size_bytes
    if arrival.chat.input_messages is not None or size is None or size > _MAX_REFERENCE:
        return False
    if execution.outcome == "empty":
        return False
    returned = execution.call.result_chars if execution.call is not None else None
    return returned is None or returned > size


def _is_reference(text: str, returned: str) -> bool:
    """A handle that the result itself does not hold, beside little else."""
    found = _REFERENCE.search(text)
    return found is not None and _plain(text[:40]) not in _plain(returned)


def _plain(text: str) -> str:
    """Return the letters and digits of a text, so that its serialisation does not matter."""
    return "".join(c for c in text if c.isalnum())


def _swapped(swapped: list[Execution]) -> Outcome:
    names = ", ".join(sorted({execution.tool for execution in swapped})[:5])
    return violated(
        f"Results of parallel calls of {names} were delivered under each other's ids.",
        span_ids=tuple(dict.fromkeys(e.span_id for e in swapped if e.span_id))[:10],
        evidence={
            "tools": [execution.tool for execution in swapped[:20]],
            "call_ids": [execution.call_id for execution in swapped[:20]],
            "is_swapped": True,
        },
        severity="error",
    )


def _violated(altered: list[tuple[Execution, Arrival]]) -> Outcome:
    names = ", ".join(sorted({execution.tool for execution, _ in altered})[:5])
    spans = [span for e, arrival in altered for span in (arrival.chat.span_id, e.span_id)]
    cut = next(filter(None, (cut_list(*pair) for pair in altered[:20])), None)
    return violated(
        f"What the model was given of {names} lacks some of the values that were returned"
        f"{_sizes(*altered[0]) if cut is None else cut.told}.",
        span_ids=tuple(dict.fromkeys(s for s in spans if s)),
        evidence={
            "tools": [execution.tool for execution, _ in altered[:20]],
            "call_ids": [execution.call_id for execution, _ in altered[:20]],
            **({} if cut is None else cut.evidence),
        },
    )


def _sizes(execution: Execution, arrival: Arrival) -> str:
    """Tell the sizes of the first result where both are known."""
    returned = execution.call.result_chars if execution.call is not None else None
    if returned is None and isinstance(execution.result, str):
        returned = len(execution.result)
    part = part_of(arrival)
    if part is not None and all(isinstance(p, TextPart) for p in part.parts):
        delivered = f"{sum(len(p.text) for p in part.parts if isinstance(p, TextPart))}"
    elif arrival.delivery.size_bytes is not None:
        delivered = f"{arrival.delivery.size_bytes} bytes"
    else:
        return ""
    return "" if returned is None else f" ({returned} characters returned, {delivered} delivered)"
