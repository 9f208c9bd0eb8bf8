"""`cap_reached`: the harness stopped the run, and it was reported as success."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spanwitness.rules.rule import not_assessed, rule, violated

if TYPE_CHECKING:
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome

_CAP_WORDS = re.compile(
    r"max|limit|cap\b|capped|budget|exhaust|exceed|time_?out|timed_?out|too_many|deadline"
)
_CONSTANT_SENTENCES = frozenset(
    {
        "Agent stopped due to iteration limit or time limit.",
        "Agent stopped due to max iterations.",
        "Sorry, need more steps to process this request.",
    }
)
"""What known frameworks return in place of an answer when they stop a loop."""


@rule("cap_reached", severity="error", fault="harness")
def cap_reached(facts: Facts) -> Outcome:
    """The harness stopped the run at a cap, and the run was reported as success.

    Claims: The loop's declared reason to stop is a cap; or its declared cap on turns is used up
        while the last reply still asks for tools; or the answer is a sentence by which a known
        framework replaces the answer of a stopped loop. The run did not end in an error.
    Needs: The declared reason, or the declared cap with the turns and the last reply's calls; the
        answer for the sentences.
    Not assessed when: A cap is used up and the last reply's calls are not recorded, or the turns
        of sub-agents cannot be told from the run's own; spans are missing.
    Can be wrong: A harness that stops at a cap on purpose and says so in its answer looks the
        same: name its word under `allowed_terminations` in a contract. Without a declared cap
        only the sentences are known.
    """
    run = facts.run
    if run.final_text is not None and run.final_text.strip() in _CONSTANT_SENTENCES:
        return _told(facts, f"The answer is the sentence of a stopped loop: {run.final_text!r}.")
    cap = run.max_turns
    if cap is None and facts.contracts:
        caps = [c.max_turns for c in facts.contracts_in_force if c.max_turns is not None]
        cap = min(caps, default=None)
    if run.termination is None and cap is None:
        return facts.no_subject
    if run.status == "error" or run.is_cancelled:
        return facts.nothing_found
    word = run.termination
    if word is not None and _is_allowed(word, facts):
        return facts.nothing_found
    if word is not None and _CAP_WORDS.search(_snake(word)):
        return _told(
            facts, f"The loop stopped because of {word!r}, and the run ended as a success."
        )
    if cap is None:
        return facts.nothing_found
    return _turns(facts, cap)


def _turns(facts: Facts, cap: int) -> Outcome:
    run = facts.run
    turns = run.turns
    if turns is None:
        if run.child_run_ids:
            return not_assessed("The turns of the run cannot be told from those of its sub-agents.")
        turns = len(run.chats)
    if turns < cap or not run.chats or run.submission is not None:
        return facts.nothing_found
    last = run.chats[-1]
    if last.requested is None:
        return not_assessed("The cap on turns is used up; the last reply's calls are not recorded.")
    pending = [
        call
        for call in last.requested
        if call.side in ("client", "mcp")
        and call.source == "structured"
        and call.name not in facts.output_tools
    ]
    if not pending:
        return facts.nothing_found
    return _told(
        facts,
        f"All {cap} turns were used, the last reply still asked for {pending[0].name}, and the run"
        " ended as a success.",
    )


def _is_allowed(word: str, facts: Facts) -> bool:
    if not facts.contracts:
        return False
    from spanwitness.contracts.names import matches

    return any(
        c.allowed_terminations is not None and matches(c.allowed_terminations, word)
        for c in facts.contracts
    )


def _snake(word: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[\s-]+", "_", word).lower()


def _told(facts: Facts, sentence: str) -> Outcome:
    run = facts.run
    spans = [run.root_span_id] if run.root_span_id else []
    if run.chats:
        spans.append(run.chats[-1].span_id)
    return violated(
        sentence,
        span_ids=tuple(spans),
        evidence={
            "termination": run.termination,
            "max_turns": run.max_turns,
            "turns": run.turns,
        },
    )
