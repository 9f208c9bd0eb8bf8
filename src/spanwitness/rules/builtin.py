"""The built-in rules, one line a rule, sorted by id."""

from __future__ import annotations

from spanwitness.rules.rule import ClauseRule, Rule

RULES: tuple[Rule, ...] = ()
"""Rules over a whole run."""

CLAUSE_RULES: dict[str, ClauseRule] = {}
"""Rules over one contract clause, by id."""
