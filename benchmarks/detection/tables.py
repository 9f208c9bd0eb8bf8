"""The figures as Markdown; `docs/detection.md` is this, and a test compares."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.detection.mas_sim import CATEGORY_OF
from benchmarks.detection.mutants import MUTATIONS
from spanwitness.rules.builtin import RULES
from spanwitness.stats.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["lines", "odds_ratio", "verdicts"]

Counts = dict[str, Any]


def lines(found: Counts) -> Iterator[str]:
    """Yield the lines of every table."""
    yield from _mutations()
    yield from _recall(found)
    yield from _false_alarms(found)
    yield from _per_rule(found)
    yield from _declared(found)
    yield from _real(found)
    yield from _mas_sim(found)
    yield from _hotpotqa(found)
    yield from _mistakes(found)
    yield from _one_run(found)
    if "peers" in found:
        yield from _peers(found)


def odds_ratio(k1: int, n1: int, k2: int, n2: int) -> float:
    """Return the odds ratio of two groups; 0.5 is added to each cell where one is empty."""
    cells = [k1, n1 - k1, k2, n2 - k2]
    if 0 in cells:
        cells = [cell + 0.5 for cell in cells]  # type: ignore[misc]
    return (cells[0] * cells[3]) / (cells[1] * cells[2])


def verdicts(found: Counts) -> Iterator[tuple[str, bool]]:
    """Yield each bar in words, and whether it is met.

    Bars are about the domains that are not held out; the figure of the one that is stands beside.
    """
    for mutation in MUTATIONS:
        if mutation.bar is not None:
            (k, n), held = _in_two(found, found["mutants"][mutation.name], "caught")
            yield (
                f"{mutation.name}: at least {mutation.bar:.0%}, is {k}/{n}{held}",
                (k >= mutation.bar * n),
            )
    (k, n), held = _in_two(found, found["untouched"], "flagged")
    yield f"untouched runs flagged: at most 3%, is {k}/{n}{held}", k <= 0.03 * n
    for name, counts in found["declared"].items():
        yield (
            f"{name}: contract and direct comparison agree on {counts['agree']}/{counts['n']}",
            counts["agree"] == counts["n"],
        )
        removed = counts["writes_removed"]
        yield (
            f"{name}: writes removed with a contract, {removed['caught']}/{removed['n']}",
            removed["caught"] == removed["n"],
        )
    mas = found["mas_sim"]
    yield f"MAS-SIM: at least 13 of 15 named, is {mas['named']}/{mas['n']}", mas["named"] >= 13
    yield (
        f"MAS-SIM: at most one category at error, is {mas['most_at_error']}",
        mas["most_at_error"] <= 1,
    )
    hot = found["hotpotqa"]
    ratio = odds_ratio(*_pair(hot["wrong"]), *_pair(hot["right"]))
    yield f"HotpotQA: odds ratio at least 3, is {ratio:.1f}", ratio >= 3
    alarms, plain = hot["right"]["flagged"], hot["right"]["plain"]
    text = f"HotpotQA: fewer alarms on right answers than the plain check ({alarms} and {plain})"
    yield text, alarms < plain


def _in_two(found: Counts, counts: Counts, key: str) -> tuple[tuple[int, int], str]:
    """Return the sums over the domains that are not held out, and what stands beside them."""
    held = [name for name, about in found["domains"].items() if about["held_out"]]
    k, n = _sum((each for name, each in counts.items() if name not in held), key, "n")
    beside = [f"{counts[name][key]}/{counts[name]['n']}" for name in held]
    return (k, n), f" (held out: {', '.join(beside)})" if beside else ""


def _pair(counts: Counts) -> tuple[int, int]:
    return counts["flagged"], counts["n"]


def _sum(items: Iterable[Counts], *keys: str) -> tuple[int, ...]:
    items = list(items)
    return tuple(sum(item[key] for item in items) for key in keys)


def _share(k: int, n: int) -> str:
    if not n:
        return "none"
    interval = wilson(k, n)
    return f"{k}/{n} = {k / n:.0%} [{interval.low:.0%}, {interval.high:.0%}]"


def _table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    yield ""
    yield f"### {title}"
    yield ""
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield "| " + " | ".join(map(str, row)) + " |"


def _mutations() -> Iterator[str]:
    rows = (
        (m.name, m.column, m.what, ", ".join(f"`{rule}`" for rule in m.rules)) for m in MUTATIONS
    )
    yield from _table(
        "Mutations",
        ("mutation", "ledger column", "what is done", "rules that ought to speak"),
        rows,
    )


def _recall(found: Counts) -> Iterator[str]:
    names = list(found["domains"])
    held = {name: " (held out)" * found["domains"][name]["held_out"] for name in names}
    rows = []
    for mutation in MUTATIONS:
        counts = found["mutants"][mutation.name]
        seen = [counts[name] for name in names if not found["domains"][name]["held_out"]]
        k, newly, n = _sum(seen, "caught", "newly", "n")
        cells = [f"{counts[name]['caught']}/{counts[name]['n']}" for name in names]
        bar = "" if mutation.bar is None else f"{mutation.bar:.0%}"
        rows.append((mutation.name, bar, _share(k, n), newly, *cells))
    head = ("mutation", "bar", "caught", "not before", *(f"{name}{held[name]}" for name in names))
    yield from _table("Recall", head, rows)


def _false_alarms(found: Counts) -> Iterator[str]:
    rows = []
    for name, counts in found["untouched"].items():
        rules = ", ".join(f"`{rule}` {k}" for rule, k in counts["by_rule"].items())
        held = " (held out)" * found["domains"][name]["held_out"]
        rows.append((f"{name}{held}", _share(counts["flagged"], counts["n"]), rules or "none"))
    (k, n), _ = _in_two(found, found["untouched"], "flagged")
    rows.append(("all but the one held out", _share(k, n), ""))
    yield from _table("Untouched successful runs", ("domain", "flagged", "by rule"), rows)


def _per_rule(found: Counts) -> Iterator[str]:
    _, n_untouched = _sum(found["untouched"].values(), "flagged", "n")
    rows = []
    for rule in sorted(rule.id for rule in RULES):
        caught = []
        for mutation in MUTATIONS:
            if rule in mutation.rules:
                counts = found["mutants"][mutation.name].values()
                k = sum(each["by_rule"].get(rule, 0) for each in counts)
                n = sum(each["n"] for each in counts)
                if k:
                    caught.append(f"{mutation.name} {_share(k, n)}")
        alarms = sum(each["by_rule"].get(rule, 0) for each in found["untouched"].values())
        rows.append((f"`{rule}`", "; ".join(caught), _share(alarms, n_untouched)))
    yield from _table(
        "By rule (all domains)",
        ("rule", "violated in mutants of its rows", "false alarms in untouched runs"),
        rows,
    )


def _declared(found: Counts) -> Iterator[str]:
    rows = []
    for name, counts in found["declared"].items():
        removed = counts["writes_removed"]
        rows.append(
            (
                name, counts["n"], counts["differ"], counts["violated"],
                f"{counts['agree']}/{counts['n']}", f"{removed['caught']}/{removed['n']}",
            )
        )  # fmt: skip
    yield from _table(
        "Declared writes",
        (
            "domain", "dialogs with expected writes", "differ by direct comparison",
            "contract violated", "agree", "writes removed, caught by the contract",
        ),
        rows,
    )  # fmt: skip


def _real(found: Counts) -> Iterator[str]:
    rows = []
    for name, counts in found["failed"].items():
        rules = ", ".join(f"`{rule}` {k}" for rule, k in counts["by_rule"].items())
        rows.append((f"{name}, reward 0", _share(counts["flagged"], counts["n"]), rules or "none"))
    for category, counts in found["labelled"]["by_category"].items():
        rows.append((f"AgentRx: {category}", _share(counts["flagged"], counts["n"]), ""))
    yield from _table("Real failures", ("runs", "flagged", "by rule"), rows)


def _mas_sim(found: Counts) -> Iterator[str]:
    mas = found["mas_sim"]
    rows = [
        (
            category,
            f"{counts['named']}/{counts['n']}",
            ", ".join(f"`{rule}`" for rule in counts["rules"]) or "none",
        )
        for category, counts in mas["by_category"].items()
    ]
    yield from _table(
        f"MAS-SIM: {mas['named']} of {mas['n']} runs name the injected category",
        ("injected", "named", "findings"),
        rows,
    )
    names: dict[str, list[str]] = {}
    for rule, category in CATEGORY_OF.items():
        names.setdefault(category, []).append(f"`{rule}`")
    yield from _table(
        "Categories of MAS-SIM, and the rules that name them",
        ("category", "rules"),
        ((category, ", ".join(rules)) for category, rules in names.items()),
    )


def _hotpotqa(found: Counts) -> Iterator[str]:
    hot = found["hotpotqa"]
    rows = []
    for check, key in (("spanwitness", "flagged"), ("plain string check", "plain")):
        wrong, right = hot["wrong"], hot["right"]
        ratio = odds_ratio(wrong[key], wrong["n"], right[key], right["n"])
        rows.append(
            (check, _share(wrong[key], wrong["n"]), _share(right[key], right["n"]), f"{ratio:.1f}")
        )
    yield from _table(
        "HotpotQA", ("check", "alarms on wrong answers", "on right answers", "odds ratio"), rows
    )


def _mistakes(found: Counts) -> Iterator[str]:
    rows = (
        (name, _share(counts["flagged"], counts["n"])) for name, counts in found["mistakes"].items()
    )
    yield from _table("BIG-Bench Mistake", ("chains", "flagged"), rows)


def _one_run(found: Counts) -> Iterator[str]:
    one = found["one run a dialog"]
    rows = [
        (mutation.name, _share(counts["caught"], counts["n"]))
        for mutation in MUTATIONS
        for counts in (one["mutants"][mutation.name],)
    ]
    untouched = one["untouched"]
    rows.append(("untouched, flagged", _share(untouched["flagged"], untouched["n"])))
    yield from _table("The same with one run a dialog", ("mutation", "caught"), rows)


def _peers(found: Counts) -> Iterator[str]:
    peers = found["peers"]
    rows = []
    for family in ("untouched", *(mutation.name for mutation in MUTATIONS)):
        cells = []
        for each in peers.values():
            counts = each[family]
            cells.append(f"{counts.get('flagged', 0)}/{counts['n']}")
        rows.append((family, *cells))
    yield from _table("Peers, any finding", ("runs", *peers), rows)
