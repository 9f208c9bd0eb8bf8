"""`tool_schema_invalid`: a tool was offered with arguments that are no object."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules import wording
from spanwitness.rules.offers import is_object
from spanwitness.rules.replies import reply_texts
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.signs import ODD_OFFERS
from spanwitness.rules.subjects import OFFERS

if TYPE_CHECKING:
    from spanwitness.model import ToolDefinition
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("tool_schema_invalid", severity="warning", fault="harness", needs=OFFERS, signs=ODD_OFFERS)
def tool_schema_invalid(facts: Facts) -> Outcome:
    """A tool was offered with a parameter schema whose root is not an object.

    Claims: Some offered tool declares its arguments as something else than an object (a null
        type, a list, a boolean schema). Some servers then ignore the whole list of tools without
        an error. `error` when no tool was used although tools were due, or the answer says that
        none can be used.
    Needs: The offered definitions, which stand in the trace when content is on.
    Not assessed when: No offered definition carries its schema.
    Can be wrong: Servers that repair such a schema work all the same; deeper faults of a schema
        are not looked for.
    """
    seen: dict[str, str] = {}
    has_schema = False
    offered: tuple[ToolDefinition, ...] | None = None
    for chat in facts.run.chats:
        if not chat.offered or chat.offered is offered:
            continue
        offered = chat.offered
        for tool in offered:
            if tool.parameters is None:
                continue
            has_schema = True
            if tool.name not in seen and not is_object(tool.parameters):
                seen[tool.name] = chat.span_id
    if seen:
        names = sorted(seen)
        return violated(
            f"The parameter schema of {', '.join(names)} is not an object; a server may ignore the"
            " whole list of tools because of it.",
            span_ids=tuple(dict.fromkeys(seen.values())),
            evidence={"tools": list(names)},
            severity="error" if _went_without(facts) else None,
        )
    if has_schema:
        return facts.nothing_found
    if all(chat.offered == () for chat in facts.run.chats):
        return facts.no_subject
    return not_assessed("The trace does not hold the parameter schemas of the offered tools.")


def _went_without(facts: Facts) -> bool:
    """Say whether no tool was used although tools were due, or the answer says that none can be."""
    if facts.used_evidence or not facts.stands_as_success:
        return False
    return facts.due.word == "yes" or any(
        wording.denies_tools(text) for chat in facts.offering for text in reply_texts(chat) or ()
    )
