"""Does the bound that `learn` prints hold? 200 random splits of real runs with the right outcome.

The units are the dialogs of the tau and tau2 retail agents whose final state was the right one and
that no rule flags. In each split a contract is learned from about 3 of 10 units, bounded by as many
others, and its true rate is taken over all units that it was not learned from. Drawn without
replacement from so few, the bounded units make up 4 of 10 of that, so it holds a little more often
than it would for new units; `tests/contracts/test_learning.py` has a population with a known rate.
"""

from __future__ import annotations

import random
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Final

import msgspec

from benchmarks.detection.dialogs import DOMAINS, load
from benchmarks.detection.spans import spans_of
from benchmarks.table import Row
from spanwitness.contracts.learning import learn, why_left_out
from spanwitness.normalize import build_runs
from spanwitness.rules.engine import evaluate, judge_clauses

if TYPE_CHECKING:
    from spanwitness.model import Run

__all__ = ["clean_runs", "measure", "rows"]

DATA: Final = Path(__file__).parents[2] / "shared" / "data"
_N_SPLITS: Final = 200
_LEARNED_SHARE: Final = 0.6
_BAR: Final = 0.93


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What the splits gave."""

    n_splits: int
    n_held: int
    """Splits whose true rate lies at or below the printed bound."""
    n_units: int
    mean_rate: float
    mean_bound: float
    mean_clauses: float


def clean_runs(data: Path = DATA) -> list[Run]:
    """Return the clean runs of the retail dialogs with the right outcome, one unit each."""
    found: list[Run] = []
    for domain in DOMAINS:
        if not domain.name.endswith("retail"):
            continue
        for dialog in load(data, domain):
            if not dialog.is_right:
                continue
            for run in build_runs(spans_of(dialog, "dialog")):
                if why_left_out(run, is_flagged=evaluate(run).is_flagged) is None:
                    item = f"{domain.name} {dialog.task}"
                    found.append(msgspec.structs.replace(run, item_id=item, agent="retail"))
    return found


def measure(runs: list[Run], *, n_splits: int = _N_SPLITS) -> Bounds:
    """Learn from random splits, and compare each bound with the rate on all units left."""
    units = sorted({run.item_id or "" for run in runs})
    rates: list[float] = []
    bounds: list[float] = []
    clauses: list[int] = []
    for seed in range(n_splits):
        draw = random.Random(seed)
        drawn = set(draw.sample(units, round(_LEARNED_SHARE * len(units))))
        (one,) = learn(
            [run for run in runs if run.item_id in drawn],
            judge=judge_clauses,
            unit="item",
            seed=seed,
        ).contracts
        # What was learned from never fires, so the units that fire are not among it.
        fired = {r.item_id for r in runs if "violated" in judge_clauses(r, one.contract)}
        rates.append(len(fired) / (len(units) - one.n_units))
        bounds.append(one.held_out.bound)
        clauses.append(len(one.support))
    return Bounds(
        n_splits=n_splits,
        n_held=sum(rate <= bound for rate, bound in zip(rates, bounds, strict=True)),
        n_units=len(units),
        mean_rate=mean(rates),
        mean_bound=mean(bounds),
        mean_clauses=mean(clauses),
    )


def rows(*, is_full: bool = False) -> list[Row]:  # noqa: ARG001  nothing here takes minutes
    """Measure on the data beside the repository; without it there is nothing to show."""
    if not DATA.is_dir():
        return [Row(what="bound of a learned contract", figure="no data beside the repository")]
    found = measure(clean_runs())
    return [
        Row(
            what=f"learned bound holds ({found.n_splits} splits of {found.n_units} real dialogs)",
            figure=f"{found.n_held / found.n_splits:.1%}",
            bar=f">= {_BAR:.0%}",
            is_met=found.n_held >= _BAR * found.n_splits,
        ),
        Row(what="  mean false alarms of the contracts", figure=f"{found.mean_rate:.1%}"),
        Row(what="  mean bound", figure=f"{found.mean_bound:.1%}"),
        Row(what="  mean number of clauses", figure=f"{found.mean_clauses:.1f}"),
    ]
