"""Clauses that clean runs suggest; `contracts.learning` keeps those that the rules confirm."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.contracts.model import SUBMIT, Clause
from spanwitness.contracts.names import is_glob

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwitness.contracts.observing import Observed

__all__ = ["MIN_SUPPORT", "Candidate", "Candidates", "candidates"]

MIN_SUPPORT: Final = 10
"""Units that must bear out a clause on what every run does."""
_MIN_SUPPORT_IF: Final = 20
"""The same for a clause that only speaks where a tool was used: there are many of them."""
_MAX_TOOLS: Final = 40
"""Tools that are looked at, most used first: the number of pairs is bounded."""
_MAX_ALTERNATIVES: Final = 3
_MOST_TOGETHER: Final = 0.25
"""Share of runs in which two tools may both be used and still be taken for alternatives."""
_LEAST_USED: Final = 0.15
_MOST_USED: Final = 0.85
"""Shares of runs between which a tool is one of several alternatives."""
_OFFERED: Final = "offered"
_ANY: Final = "any_tool"
_ALTERNATIVES: Final = "alternatives_"


class Candidate(NamedTuple):
    """A clause, and the least number of units in which it must be seen to hold."""

    clause: Clause
    least: int


class Candidates(NamedTuple):
    """Groups of tools, and clauses over them."""

    groups: dict[str, tuple[str, ...]]
    clauses: list[Candidate]


def candidates(seen: Sequence[Observed]) -> Candidates:
    """Return the clauses that runs of one agent suggest.

    They are: tools that every run executed, before the submission where there is one; else groups
    of two or three tools of which every run executed one, or any tool at all; tools that every run
    was offered; how often a tool was executed (at most twice what was seen and 3 more; the exact
    number as the least where it never varied); which tool always came before which; and arguments
    whose values may always have stood in what the model was given.

    Args:
        seen: Clean runs of one agent, at least one.
    """
    groups: dict[str, tuple[str, ...]] = {}
    found = [*_required(seen, groups), *_offered(seen, groups), *_counts(seen), *_orders(seen)]
    found += _arguments(seen)
    return Candidates(groups, found)


def _required(seen: Sequence[Observed], groups: dict[str, tuple[str, ...]]) -> list[Candidate]:
    before = [frozenset(one.executed[: one.n_before]) for one in seen]
    whole = [frozenset(one.executed) for one in seen]
    submit = "submit" if any(one.has_submission for one in seen) else None
    early = frozenset.intersection(*before)
    late = frozenset.intersection(*whole) - early
    reason = f"it was in all {len(seen)} clean runs that this was learned from."
    found = [
        Candidate(
            _clause("required_tool_missing", tool=tool, before=submit, reason=reason), MIN_SUPPORT
        )
        for tool in sorted(early)
    ]
    found += [
        Candidate(_clause("required_tool_missing", tool=tool, reason=reason), MIN_SUPPORT)
        for tool in sorted(late)
    ]
    names = list(_alternatives(before))
    if not found and not names and all(before):
        names = [tuple(sorted(frozenset().union(*before)))]
    for place, group in enumerate(names, start=1):
        name = _ANY if len(group) > _MAX_ALTERNATIVES else f"{_ALTERNATIVES}{place}"
        groups[name] = group
        clause = _clause("navigation_bypassed", group=name, before=submit, reason=reason)
        found.append(Candidate(clause, MIN_SUPPORT))
    return found


def _alternatives(used: Sequence[frozenset[str]]) -> Iterator[tuple[str, ...]]:
    """Find two or three tools of which every run used one, and hardly any run two."""
    shares = Counter(tool for one in used for tool in one)
    n_runs = len(used)
    some = sorted(
        tool
        for tool, n in shares.most_common(_MAX_TOOLS)
        if _LEAST_USED * n_runs <= n <= _MOST_USED * n_runs
    )
    taken: set[str] = set()
    for size in range(2, _MAX_ALTERNATIVES + 1):
        for group in combinations(some, size):
            if not taken.isdisjoint(group):
                continue
            numbers = [sum(tool in one for tool in group) for one in used]
            n_together = sum(n > 1 for n in numbers)
            if min(numbers) >= 1 and n_together <= _MOST_TOGETHER * n_runs:
                taken.update(group)
                yield group


def _offered(seen: Sequence[Observed], groups: dict[str, tuple[str, ...]]) -> list[Candidate]:
    offers = [one.offered for one in seen if one.offered is not None]
    always = frozenset.intersection(*offers) if offers else frozenset()
    if not always:
        return []
    groups[_OFFERED] = tuple(sorted(always))
    reason = f"all {len(offers)} clean runs that this was learned from were offered them."
    return [Candidate(_clause("tool_not_offered", group=_OFFERED, reason=reason), MIN_SUPPORT)]


def _counts(seen: Sequence[Observed]) -> Iterator[Candidate]:
    counts = [Counter(one.executed) for one in seen]
    for tool in _often(seen):
        numbers = [count[tool] for count in counts]
        most, fewest = max(numbers), min(numbers)
        clause = _clause(
            "count_out_of_range",
            tool=tool,
            at_least=fewest if fewest == most > 1 else None,
            at_most=max(2 * most, most + 3),
            reason=f"clean runs had {fewest} to {most}.",
        )
        yield Candidate(clause, MIN_SUPPORT)


def _often(seen: Sequence[Observed]) -> list[str]:
    """Return the tools that enough units used, at most 40, by name."""
    units: dict[str, set[str]] = {}
    for one in seen:
        for tool in {*one.executed}:
            units.setdefault(tool, set()).add(one.unit)
    ranked = sorted(units, key=lambda tool: (-len(units[tool]), tool))
    return sorted(t for t in ranked[:_MAX_TOOLS] if len(units[t]) >= MIN_SUPPORT)


def _is_taken(name: str) -> bool:
    return name in (SUBMIT, _OFFERED, _ANY) or name.startswith(_ALTERNATIVES)


def _orders(seen: Sequence[Observed]) -> Iterator[Candidate]:
    # In this rule names may stand for groups or the submission, and must not overlap.
    tools = [tool for tool in _often(seen) if not (is_glob(tool) or _is_taken(tool))]
    before: dict[str, set[str]] = {tool: set(tools) - {tool} for tool in tools}
    for one in seen:
        earlier: set[str] = set()
        for tool in one.executed:
            if tool in before and tool not in earlier:
                before[tool] &= earlier
            earlier.add(tool)
    for then in tools:
        for first in sorted(before[then]):
            is_implied = any(first in before[between] for between in before[then] - {first})
            if not is_implied:
                reason = "clean runs always did it in this order."
                clause = _clause("out_of_order", first=first, then=then, reason=reason)
                yield Candidate(clause, _MIN_SUPPORT_IF)


def _arguments(seen: Sequence[Observed]) -> Iterator[Candidate]:
    """Propose every argument that enough units gave; the rule says which were always given."""
    units: dict[tuple[str, str], set[str]] = {}
    for one in seen:
        for pair in one.arguments:
            units.setdefault(pair, set()).add(one.unit)
    often = sorted(pair for pair, own in units.items() if len(own) >= _MIN_SUPPORT_IF)
    for tool, argument in often[:_MAX_TOOLS]:
        reason = "in clean runs its values always stood in what the model was given."
        clause = _clause("argument_not_given", tool=tool, argument=argument, reason=reason)
        yield Candidate(clause, _MIN_SUPPORT_IF)


def _clause(rule: str, **keys: object) -> Clause:
    given = {key: value for key, value in keys.items() if value is not None}
    return Clause.model_validate({"rule": rule, **given})
