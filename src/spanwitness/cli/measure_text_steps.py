"""How measures of several steps or choices look in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from spanwitness.cli.measure_cells import ends_text, grid, rate_text, share_text
from spanwitness.cli.terminal import visible

if TYPE_CHECKING:
    from rich.console import Console

    from spanwitness.measure import ComparisonResult, CompositionResult, SelectionResult

__all__ = ["print_comparison", "print_composition", "print_selection"]


def print_comparison(console: Console, result: ComparisonResult) -> None:
    """Print two rates on the same items.

    Args:
        console: Where to.
        result: The result.
    """
    found = result.comparison
    table = grid(visible(result.by, limit=40), result.event, "only here")
    table.add_row(visible(result.first, limit=60), rate_text(found.first, raw=True),
                  str(found.table.n_first_only))  # fmt: skip
    table.add_row(visible(result.second, limit=60), rate_text(found.second, raw=True),
                  str(found.table.n_second_only))  # fmt: skip
    console.print(table)
    console.print(
        Text(
            f"difference {found.difference:+.3f} {ends_text(found.interval)} on"
            f" {found.table.n_items} items, McNemar p={found.mcnemar_p_value:.3g}"
        )
    )
    if result.n_not_at_risk:
        console.print(f"{result.n_not_at_risk} items were not at risk under both")
    if result.unmatched:
        console.print(
            f"{len(result.unmatched)} items were tried under one of the two only and are in neither"
            " rate (--format csv --part unmatched)"
        )


def print_selection(console: Console, result: SelectionResult) -> None:
    """Print what the order of presentation does to a choice.

    Args:
        console: Where to.
        result: The result.
    """
    has_groups = result.group_column is not None
    names = [visible(result.group_column or "", limit=40)] if has_groups else []
    table = grid(*names, "order", "items", "before", "after", "first chosen", "anchor if right",
                 "anchor if wrong", "oracle", "headroom")  # fmt: skip
    for each in result.audits:
        audit = each.audit
        group = [Text(visible(each.group or "all", limit=40))] if has_groups else []
        table.add_row(
            *group,
            Text(visible(each.order, limit=40)),
            str(audit.counts.n_pairs),
            share_text(audit.counts.p_before),
            share_text(audit.counts.p_after),
            rate_text(audit.first_chosen, raw=True),
            rate_text(audit.anchor_chosen_if_right, raw=True),
            rate_text(audit.anchor_chosen_if_wrong, raw=True),
            share_text(audit.oracle.raw),
            share_text(audit.headroom),
        )
    console.print(table)
    strata = grid("order", "stratum", "items", "corrected", "corrupted", "after")
    for each in result.audits:
        if each.group is None:
            for stratum, found in each.audit.strata.items():
                counts = found.counts
                strata.add_row(
                    Text(visible(each.order, limit=40)),
                    stratum.value.replace("_", " "),
                    str(counts.n_pairs),
                    f"{counts.n_corrected}/{counts.n_wrong_before}",
                    f"{counts.n_corrupted}/{counts.n_right_before}",
                    share_text(counts.p_after),
                )
    console.print(strata)
    for change in result.changes:
        comparison = change.comparison
        told = "" if not change.n_unmatched else f", {change.n_unmatched} items in one order only"
        console.print(
            Text(
                f"{change.measure}: {visible(change.second)} minus {visible(change.first)}"
                f" {comparison.difference:+.3f} {ends_text(comparison.interval)} on"
                f" {comparison.table.n_items} items, McNemar"
                f" p={comparison.mcnemar_p_value:.3g}{told}"
            )
        )


def print_composition(console: Console, result: CompositionResult) -> None:
    """Print how far chained transitions are from direct ones.

    Args:
        console: Where to.
        result: The result.
    """
    console.print(
        Text(
            f"{visible(' > '.join(result.stages), limit=120)}: {result.n_pairs} sequences of"
            f" {result.n_items} items"
        )
    )
    table = grid("gap", "sequences", "mean", "max", "support-weighted", "mean, raw rates")
    for gap in result.gaps:
        name = "all, within"
        if gap.group is not None:
            name = f"{result.group_column} {gap.group}, within"
        elif gap.fold is not None:
            name = f"{gap.fold}, held out"
        found = gap.jeffreys
        table.add_row(
            Text(visible(name, limit=60)),
            str(found.n_items),
            _known(found.mean),
            _known(found.max),
            _known(found.support_weighted),
            _known(gap.raw.mean),
        )
    console.print(table)
    pooled, own = result.mean_residual("pooled"), result.mean_residual("conditioned")
    console.print(
        Text(
            f"final success, held out, mean absolute residual: pooled {_known(pooled)},"
            f" by group {_known(own)} (--format csv --part residuals)"
        )
    )
    for each in result.tests:
        test = each.test
        p_value = "no p value" if test.p_value is None else f"p={test.p_value:.3g} ({test.method})"
        console.print(
            Text(
                f"{visible(each.stages[2])} given {visible(each.stages[1])}, by"
                f" {visible(each.stages[0])}: {_signed(test.effect_if_wrong)} where wrong between,"
                f" {_signed(test.effect_if_right)} where right; {p_value}, {test.n_items} items"
            )
        )
        console.print(Text(f"  {test.words}", style="dim"))


def _known(value: float | None) -> str:
    return "not at risk" if value is None else f"{value:.4f}"


def _signed(value: float | None) -> str:
    return "no items" if value is None else f"{value:+.3f}"
