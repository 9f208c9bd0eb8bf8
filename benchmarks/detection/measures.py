"""What the benchmark counts, family by family. Only counts leave this module, no text of a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from benchmarks.detection import hotpotqa, mas_sim, mistakes
from benchmarks.detection.declared import contract_of, differs, expects
from benchmarks.detection.dialogs import DOMAINS, load
from benchmarks.detection.labels import labelled
from benchmarks.detection.mutants import MUTATIONS, writes_removed
from benchmarks.detection.peer_cases import judge_with_peers
from benchmarks.detection.scoring import judge_dialogs, judge_traces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from benchmarks.detection.dialogs import Dialog, Domain
    from benchmarks.detection.scoring import Judged
    from benchmarks.detection.spans import Layout

__all__ = ["measure"]

Counts = dict[str, Any]


def measure(
    data: Path,
    *,
    peers: Path | None = None,
    with_held_out: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> Counts:
    """Count everything.

    Args:
        data: The folder that holds the data sets.
        peers: The interpreter that has the peers; `None` = without them.
        with_held_out: Whether to look at the domain that is held out while rules are made.
        tell: Is called with the name of each part before it begins.
    """
    domains = [d for d in DOMAINS if with_held_out or not d.is_held_out]
    dialogs = {domain.name: load(data, domain) for domain in domains}
    found: Counts = {"domains": {}, "untouched": {}, "mutants": {}, "failed": {}, "declared": {}}
    families: dict[str, list[Dialog]] = {}
    for domain in domains:
        tell(domain.name)
        _add_domain(found, domain, dialogs[domain.name], families)
    tell("one run a dialog")
    found["one run a dialog"] = _one_run_a_dialog(dialogs, domains)
    tell("labelled faults")
    found["labelled"] = _labelled(data)
    found["mas_sim"] = _mas_sim(data)
    found["hotpotqa"] = _hotpotqa(data)
    found["mistakes"] = _mistakes(data)
    if peers is not None:
        tell("peers")
        found["peers"] = judge_with_peers(peers, families)
    return found


def _add_domain(
    found: Counts, domain: Domain, dialogs: Sequence[Dialog], families: dict[str, list[Dialog]]
) -> None:
    right = [dialog for dialog in dialogs if dialog.is_right]
    wrong = [dialog for dialog in dialogs if not dialog.is_right]
    found["domains"][domain.name] = {
        "dialogs": len(dialogs), "successful": len(right), "held_out": domain.is_held_out,
    }  # fmt: skip
    untouched = judge_dialogs(right)
    found["untouched"][domain.name] = _flags(untouched.values())
    found["failed"][domain.name] = _flags(judge_dialogs(wrong).values())
    found["declared"][domain.name] = _declared(dialogs)
    families.setdefault("untouched", []).extend(right)
    for mutation in MUTATIONS:
        made = [m for d in right if (m := mutation.make(d, dialogs)) is not None]
        families.setdefault(mutation.name, []).extend(made)
        counts = _caught(judge_dialogs(made), untouched, frozenset(mutation.rules))
        found["mutants"].setdefault(mutation.name, {})[domain.name] = counts


def _flags(judged: Iterable[Judged]) -> Counts:
    units = list(judged)
    return {
        "n": len(units),
        "flagged": sum(unit.is_flagged for unit in units),
        "by_rule": _by_rule(unit.found for unit in units),
    }


def _caught(made: dict[str, Judged], untouched: dict[str, Judged], rules: frozenset[str]) -> Counts:
    caught = {key: unit.violated & rules for key, unit in made.items()}
    return {
        "n": len(made),
        "caught": sum(bool(names) for names in caught.values()),
        # A dialog that was flagged by the same rules before proves nothing.
        "newly": sum(bool(names - untouched[key].violated) for key, names in caught.items()),
        "as_finding": sum(bool(unit.found & rules) for unit in made.values()),
        "by_rule": _by_rule(caught.values()),
    }


def _by_rule(names: Iterable[Iterable[str]]) -> dict[str, int]:
    counted = Counter(name for each in names for name in set(each))
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def _declared(dialogs: Sequence[Dialog]) -> Counts:
    """Compare the verdicts of contracts made of the gold writes with a direct comparison."""
    declared = [dialog for dialog in dialogs if expects(dialog)]
    contracts = {dialog.key: contract_of(dialog) for dialog in declared}
    judged = judge_dialogs(declared, layout="dialog", contracts=contracts)
    rules = {"required_tool_missing", "count_out_of_range"}
    by_contract = {key: bool(unit.violated & rules) for key, unit in judged.items()}
    directly = {dialog.key: differs(dialog) for dialog in declared}
    removed = [
        made
        for dialog in declared
        if dialog.is_right and (made := writes_removed(dialog, dialogs)) is not None
    ]
    lost = judge_dialogs(removed, layout="dialog", contracts=contracts)
    return {
        "n": len(declared),
        "differ": sum(directly.values()),
        "violated": sum(by_contract.values()),
        "agree": sum(by_contract[key] == word for key, word in directly.items()),
        "writes_removed": {
            "n": len(removed),
            "caught": sum(bool(unit.violated & rules) for unit in lost.values()),
        },
    }


def _one_run_a_dialog(dialogs: dict[str, list[Dialog]], domains: Sequence[Domain]) -> Counts:
    """Judge the same with the whole dialog as one run, whose answer is the last one."""
    layout: Layout = "dialog"
    found: Counts = {"untouched": Counter(), "mutants": {}}
    for domain in domains:
        everything = dialogs[domain.name]
        right = [dialog for dialog in everything if dialog.is_right]
        flags = _flags(judge_dialogs(right, layout=layout).values())
        found["untouched"].update({"n": flags["n"], "flagged": flags["flagged"]})
        for mutation in MUTATIONS:
            made = [m for d in right if (m := mutation.make(d, everything)) is not None]
            judged = judge_dialogs(made, layout=layout).values()
            rules = set(mutation.rules)
            counts = found["mutants"].setdefault(mutation.name, Counter())
            counts["n"] += len(made)
            counts["caught"] += sum(bool(unit.violated & rules) for unit in judged)
    return found


def _labelled(data: Path) -> Counts:
    found: Counts = {"n": 0, "flagged": 0, "by_category": {}, "by_rule": Counter()}
    cases = labelled(data)
    judged = judge_dialogs([case.dialog for case in cases])
    for case in cases:
        unit = judged[case.dialog.key]
        found["n"] += 1
        found["flagged"] += unit.is_flagged
        found["by_rule"].update(unit.found)
        counts = found["by_category"].setdefault(case.category, {"n": 0, "flagged": 0})
        counts["n"] += 1
        counts["flagged"] += unit.is_flagged
    return found


def _mas_sim(data: Path) -> Counts:
    planted = mas_sim.load(data)
    judged = judge_traces(each.spans for each in planted)
    found: Counts = {"n": len(planted), "named": 0, "most_at_error": 0, "by_category": {}}
    for each in planted:
        verdicts = [v for v in judged[each.trace_id].verdicts if v.is_finding]
        is_named = each.category in mas_sim.categories({v.rule for v in verdicts})
        at_error = mas_sim.categories({v.rule for v in verdicts if v.severity == "error"})
        found["named"] += is_named
        found["most_at_error"] = max(found["most_at_error"], len(at_error))
        counts = found["by_category"].setdefault(each.category, {"n": 0, "named": 0, "rules": []})
        counts["n"] += 1
        counts["named"] += is_named
        counts["rules"] = sorted({*counts["rules"], *(v.rule for v in verdicts)})
    return found


def _hotpotqa(data: Path) -> Counts:
    runs = hotpotqa.load(data)
    judged = judge_traces(run.spans for run in runs)
    found: Counts = {}
    for name, is_right in (("wrong", False), ("right", True)):
        group = [run for run in runs if run.is_right is is_right]
        found[name] = {
            **_flags(judged[run.trace_id] for run in group),
            "plain": sum(not hotpotqa.stands_plainly(run) for run in group),
        }
    return found


def _mistakes(data: Path) -> Counts:
    chains = mistakes.load(data)
    judged = judge_traces(chain.spans for chain in chains)
    found: Counts = {}
    for name, is_right, has_mistake in (
        ("right, no wrong step", True, False),
        ("right, with a wrong step", True, True),
        ("wrong, with a wrong step", False, True),
        ("wrong, no wrong step", False, False),
    ):
        group = [c for c in chains if (c.is_right, c.has_mistake) == (is_right, has_mistake)]
        found[name] = _flags(judged[chain.trace_id] for chain in group)
    return found
