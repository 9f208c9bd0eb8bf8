"""What every rule says of itself, taken from its docstring: the source of `docs/rules.md`."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import msgspec

from spanwitness.rules.builtin import CLAUSE_RULES, RULES

if TYPE_CHECKING:
    from spanwitness.rules.rule import ClauseRule, Rule

__all__ = ["RuleText", "describe", "render"]

_HEADS = ("Claims", "Needs", "Not assessed when", "Can be wrong")
_SECTION = re.compile(rf"^({'|'.join(_HEADS)}):[ \n]", re.MULTILINE)


class RuleText(msgspec.Struct, frozen=True, kw_only=True):
    """The docstring of a rule, taken apart; each text is one paragraph without line breaks."""

    summary: str
    claims: str
    needs: str
    not_assessed_when: str
    can_be_wrong: str


def describe(rule: Rule | ClauseRule) -> RuleText:
    """Take a rule's docstring apart.

    Raises:
        ValueError: The docstring lacks one of the four answers, or has them in another order.
    """
    doc = inspect.cleandoc(rule.doc)
    pieces = _SECTION.split(doc)
    if tuple(pieces[1::2]) != _HEADS:
        raise ValueError(f"rule {rule.id}: its docstring must answer {', '.join(_HEADS)}, in order")
    summary, *answers = (" ".join(text.split()) for text in (pieces[0], *pieces[2::2]))
    return RuleText(
        summary=summary,
        claims=answers[0],
        needs=answers[1],
        not_assessed_when=answers[2],
        can_be_wrong=answers[3],
    )


_HEAD = """\
# Rules

One entry a rule: what it claims, what it needs to see, when it is `not_assessed`, and how it can be
wrong. This page is made from the rules' docstrings; a test compares them.

A rule gives one of four verdicts. `holds`: looked, and found nothing wrong. `violated`: the account
of the run breaks here. `not_assessed`: this trace cannot show it, for the reason given; it is never
taken for `holds`. `not_applicable`: what the rule is about does not occur in the run. A violation
whose cause is another violation carries `explained_by`: it stays in the output and is no finding of
its own. Severity and fault are the rule's own unless the entry names cases that differ.
[detection.md](detection.md) has, by rule, how often each spoke falsely in real runs that were
right.

## Rules over a whole run
"""
_CLAUSES = """
## Rules over a contract clause

They judge what a contract expects (`docs/contract.schema.json` has its form). The severity is the
clause's own where it gives one.
"""


def render() -> str:
    """Return the text of `docs/rules.md`."""
    entries = [_HEAD]
    entries.extend(_entry(rule) for rule in sorted(RULES, key=lambda rule: rule.id))
    entries.append(_CLAUSES)
    entries.extend(_entry(CLAUSE_RULES[name]) for name in sorted(CLAUSE_RULES))
    return "\n".join(entries)


def _entry(rule: Rule | ClauseRule) -> str:
    text = describe(rule)
    kind = f" ({rule.kind.replace('_', ' ')})" if rule.kind is not None else ""
    return (
        f"### `{rule.id}`\n\n"
        f"{text.summary} **{rule.severity}**, fault **{rule.fault}**{kind}.\n\n"
        f"- Claims: {text.claims}\n"
        f"- Needs: {text.needs}\n"
        f"- Not assessed when: {text.not_assessed_when}\n"
        f"- Can be wrong: {text.can_be_wrong}\n"
    )
