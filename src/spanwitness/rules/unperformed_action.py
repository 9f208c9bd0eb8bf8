"""`unperformed_action`: the answer says that an action is done, and nothing did it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from spanwitness.model import ToolResultPart
from spanwitness.rules import tool_names, wording
from spanwitness.rules.failures import is_failure, is_success
from spanwitness.rules.finished import claims_finished_work
from spanwitness.rules.replies import reply_texts
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.stated import input_texts
from spanwitness.rules.subjects import CHATS, OFFERS

if TYPE_CHECKING:
    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_THINKS = frozenset({"calc", "calculator", "plan", "reason", "think", "thought"})


@rule("unperformed_action", severity="error", fault="reasoning", needs=CHATS | OFFERS)
def unperformed_action(facts: Facts) -> Outcome:
    """The answer claims a finished action without a successful execution of its tool.

    Claims: A sentence of the answer says that the work of an offered write tool is done (with the
        words a contract declares for it, else in the first person or the passive with the verb and
        object of the tool's name: `send_email`, "I have sent the email"), and no execution in the
        run or its history did such work successfully. Or a sentence says in general words that
        something was changed ("successfully processed", "both actions are completed"), and nothing
        at all that may change something was executed with success. Negated, conditional and future
        sentences do not count, nor passives that only repeat what a result says.
    Needs: Offered tools, the answer, executions by whatever evidence.
    Not assessed when: Offered tools or the answer are not recorded, the outcome of the action is
        not known, the history is held by the provider, or the trace has a hole.
    Can be wrong: Words that a contract did not declare and that the tool's name does not suggest
        are missed; an action done outside the trace is reported.
    """
    tools = _write_tools(facts)
    if not tools:
        if not facts.knows_offers:
            return not_assessed("which tools were offered is not recorded")
        return facts.no_subject
    answer = facts.answer_text
    if answer is None:
        if facts.run.has_final is False and facts.run.is_complete:
            return facts.no_subject
        return not_assessed("the answer was not recorded")
    sentences = [s for s in wording.sentences(answer) if not wording.is_hedged(s)]
    for tool in tools:
        if not _claims(facts, tool, sentences):
            continue
        word = _performed(facts, tool)
        if word == "yes":
            continue
        if not facts.run.is_complete:
            return facts.incomplete
        if word:
            return not_assessed(word)
        return violated(
            f"The answer says that the work of {tool} is done, and no execution of it succeeded.",
            span_ids=_answer_span(facts),
            evidence={"tool": tool},
        )
    return _judge_general(facts, tools, answer)


def _judge_general(facts: Facts, tools: list[str], answer: str) -> Outcome:
    """Judge an answer that says in general words that something was changed: was anything?"""
    if not facts.stands_as_success or any(_may_change(facts, e) for e in facts.executions):
        return facts.nothing_found
    results = (wording.as_text(e.result) for e in facts.executions if e.has_result)
    if not claims_finished_work(answer, tools, results):
        return facts.nothing_found
    if not facts.run.is_complete:
        return facts.incomplete
    if any(chat.has_server_state for chat in facts.run.chats):
        return not_assessed("part of the history is held by the provider")
    if not (facts.knows_requests and facts.knows_deliveries):
        return not_assessed("which calls were made is not recorded")
    return violated(
        "The answer says that something was changed, and no tool that changes anything was"
        " executed with success.",
        span_ids=_answer_span(facts),
        evidence={"tool": None, "offered": tools[:20]},
    )


def _may_change(facts: Facts, execution: Execution) -> bool:
    """Say whether an execution may have changed something, and did not fail."""
    if is_failure(execution):
        return False
    if execution.side == "subagent" or tool_names.is_handoff(execution.tool):
        return True
    effect = facts.effect_of(execution)
    if effect is None:
        return _THINKS.isdisjoint(tool_names.words_of(execution.tool))
    return effect == "write"


def _write_tools(facts: Facts) -> list[str]:
    found: set[str] = set()
    for offers in facts.offers:
        found |= offers.write_names
    found.update(t.name for t in facts.run.tools if tool_names.effect_of(t.name) == "write")
    if facts.contracts:
        names = facts.offered_names
        found.update(n for n in names if any(c.is_write(n) for c in facts.contracts))
    return sorted(found - facts.output_tools)


def _claims(facts: Facts, tool: str, sentences: list[str]) -> bool:
    declared = tuple(w for c in facts.contracts for w in c.action_words(tool))
    first_person, passive = _patterns(tool, declared)
    if first_person is None:
        return False
    for sentence in sentences:
        if first_person.search(sentence):
            return True
        found = passive.search(sentence) if passive is not None else None
        if found is not None and not _stands_in_input(facts, found["done"]):
            return True
    return False


_ALSO = {"create": "|set|set up|made|added", "write": "|stored", "schedule": "|set|booked"}
"""Further words in which the work of such a tool is told of, beside its object."""


@lru_cache(maxsize=1024)
def _patterns(
    tool: str, declared: tuple[str, ...]
) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """Return the patterns of a claim: with declared words or in the first person; passive."""
    words = tool_names.words_of(tool)
    if declared:
        done = "|".join(map(re.escape, declared))
        return re.compile(rf"\b(?P<done>{done})\b", re.IGNORECASE), None
    verb = next((word for word in words if word in tool_names.ACTIONS), None)
    if verb is None:
        return None, None
    done = "|".join(tool_names.ACTIONS[verb])
    done += _ALSO.get(verb, "")
    objects = [w for w in words if w != verb and len(w) > 2]
    about = "|".join(re.escape(w.rstrip("s")) + r"\w*" for w in objects) or r"\w+"
    near = r"(?:\W+\w+){0,6}?\W+"
    active = rf"\bI(?:['\u2019]ve| have)?(?:\s+\w+)?\s+(?:{done})\b{near}(?:{about})\b"
    if verb in objects or not objects:
        active = rf"\bI(?:['\u2019]ve| have)?(?:\s+\w+)?\s+(?:{done})\b"
    passive = (
        rf"\b(?:{about})\b{near}?(?:has|have) (?:now |just |already |successfully )*been "
        rf"(?:now |successfully )*(?P<done>{done})\b"
    )
    return re.compile(active, re.IGNORECASE), re.compile(passive, re.IGNORECASE)


def _stands_in_input(facts: Facts, done: str) -> bool:
    """A status that was read ("status": "cancelled") may be repeated."""
    word = done.casefold()
    return any(word in text.casefold() for chat in facts.replies[-1:] for text in input_texts(chat))


def _performed(facts: Facts, tool: str) -> str:
    """Return `yes`, an empty text for no, or why it is not known."""
    for execution in facts.executions:
        if _is_such_work(facts, execution, tool):
            if is_success(execution) or (execution.has_result and not is_failure(execution)):
                return "yes"
            if execution.outcome == "unknown":
                return "how the execution ended is not recorded"
    for chat in facts.run.chats:
        if chat.has_server_state:
            return "part of the history is held by the provider"
    if _is_in_history(facts, tool):
        return "yes"
    if not facts.knows_requests:
        return "which calls the replies asked for is not recorded"
    return ""


def _is_such_work(facts: Facts, execution: Execution, tool: str) -> bool:
    if tool_names.bare(execution.tool) == tool_names.bare(tool):
        return True
    if execution.side == "subagent" or tool_names.is_handoff(execution.tool):
        return True  # another agent may have done it
    if facts.effect_of(execution) == "read":
        return False
    words = set(tool_names.words_of(tool))
    return not words.isdisjoint(tool_names.words_of(execution.tool)) or any(
        word in str(execution.arguments or "").casefold() for word in words
    )


def _is_in_history(facts: Facts, tool: str) -> bool:
    """A result of the tool stands in what earlier runs left in the history."""
    return any(
        isinstance(part, ToolResultPart) and part.name == tool and part.is_error is not True
        for chat in facts.run.chats[:1]
        for message in chat.input_messages or ()
        for part in message.parts
    )


def _answer_span(facts: Facts) -> tuple[str, ...]:
    for chat in reversed(facts.replies):
        if reply_texts(chat):
            return (chat.span_id,)
    return (facts.run.root_span_id,)
