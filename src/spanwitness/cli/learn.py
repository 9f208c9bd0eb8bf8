"""`spanwitness learn`: a contract from clean runs, and the bound of its false alarms."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwitness.contracts.learning import HeldOut, Learned, LearnedContract
    from spanwitness.model import Run

SCHEMA = "spanwitness.learn/1"


class _Format(StrEnum):
    text = "text"
    json = "json"


class _Unit(StrEnum):
    conversation = "conversation"
    run = "run"
    item = "item"


def learn(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Trace files, folders of them, or - for stdin."),
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the contract here; several agents get a file each, beside it."),
    ] = None,
    baseline_out: Annotated[
        Path | None,
        typer.Option(help="Also write what clean runs of each stack did, for below_baseline."),
    ] = None,
    held_out: Annotated[
        float, typer.Option(help="Share of the units that is kept to bound the false alarms.")
    ] = 0.5,
    seed: Annotated[int, typer.Option(help="Seed of the split.")] = 0,
    unit: Annotated[
        _Unit | None,
        typer.Option(
            help="What is independent of one another. Without it the item, else the conversation,"
            " where every run names one; else the run."
        ),
    ] = None,
    format: Annotated[_Format, typer.Option(help="How to print.")] = _Format.text,  # noqa: A002
) -> None:
    """Derive a contract from clean runs: on one part of them, with its false alarms on the other.

    Only complete runs that no rule flags are learned from. Needs the extra 'measure' (SciPy).
    Exit status: 2 when an input was unusable, or there are fewer than 20 held-out units.
    """
    from spanwitness.contracts import learning
    from spanwitness.rules.engine import judge_clauses

    runs, left_out, problems = _clean_runs(paths)
    learned = learning.learn(
        runs,
        judge=judge_clauses,
        unit=unit.value if unit is not None else None,
        held_out=held_out,
        seed=seed,
        with_baseline=baseline_out is not None,
    )
    if baseline_out is not None:
        baseline_out.write_text(learned.baseline.as_text(), encoding="utf-8")
    texts = {
        _file_of(one, out, n_all=len(learned.contracts)): _yaml(one, learned, out, baseline_out)
        for one in learned.contracts
    }
    if out is not None:
        for file, text in texts.items():
            file.write_text(text, encoding="utf-8")
    if format is _Format.json:
        print(json.dumps(_report(learned, len(runs), left_out, list(texts)), indent=1))
    else:
        _print(learned, len(runs), left_out, texts, is_written=out is not None)
    if problems:
        raise typer.Exit(2)


def _clean_runs(paths: Sequence[Path]) -> tuple[list[Run], Counter[str], list[str]]:
    from spanwitness.archive import TraceReader
    from spanwitness.contracts.learning import why_left_out
    from spanwitness.normalize import build_runs
    from spanwitness.rules.engine import evaluate

    runs: list[Run] = []
    left_out: Counter[str] = Counter()
    reader = TraceReader(paths)
    for spans in reader:
        for run in build_runs(spans):
            why = why_left_out(run, is_flagged=evaluate(run).is_flagged)
            if why is None:
                runs.append(run)
            else:
                left_out[why] += 1
    problems = [str(problem) for problem in reader.problems]
    for problem in problems:
        print(f"spanwitness: {problem}", file=sys.stderr)
    return runs, left_out, problems


def _file_of(one: LearnedContract, out: Path | None, *, n_all: int) -> Path:
    path = out or Path(f"{one.contract.name}.yaml")
    if n_all == 1 or out is None:
        return path
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", one.agent or "unnamed")
    return path.with_name(f"{path.stem}.{name}{path.suffix}")


def _yaml(one: LearnedContract, learned: Learned, out: Path | None, baseline: Path | None) -> str:
    import yaml

    from spanwitness.cli.terminal import visible

    value = one.contract.as_json()
    if baseline is not None:
        # The file holds its path, relative to the contract's.
        folder = (out or Path("contract.yaml")).parent.resolve()
        file = baseline.resolve()
        is_below = file.is_relative_to(folder)
        value["baseline"] = str(file.relative_to(folder) if is_below else file)
    # Names come from traces: one with a line end must not leave the comment.
    head = "".join(f"# {visible(line)}\n" for line in _told(one, learned))
    return head + yaml.safe_dump(value, sort_keys=False, width=100, allow_unicode=True)


def _told(one: LearnedContract, learned: Learned) -> Iterator[str]:
    stacks = f", {len(one.stacks)} stacks" if len(one.stacks) > 1 else ""
    yield (
        f"{one.contract.name}: {len(one.support)} clauses from {one.n_runs} clean runs"
        f" ({one.n_units} units: {learned.unit}{stacks})"
    )
    yield _bound(one.held_out)
    if one.held_out.fired_by_rule:
        fired = ", ".join(f"{rule} in {k}" for rule, k in one.held_out.fired_by_rule.items())
        yield f"fired: {fired}"
    if one.held_out.n_not_assessed:
        yield f"{one.held_out.n_not_assessed} held-out units could not be assessed"


def _bound(held_out: HeldOut) -> str:
    return (
        f"false alarms: {held_out.n_fired} of {held_out.n_units} held-out units fired a clause;"
        f" at most {held_out.bound:.1%} of clean units do"
        f" (one-sided {held_out.level:.0%} Clopper-Pearson bound)"
    )


def _print(
    learned: Learned,
    n_runs: int,
    left_out: Counter[str],
    texts: dict[Path, str],
    *,
    is_written: bool,
) -> None:
    from spanwitness.cli.terminal import visible

    # Without --out the text is itself a contract: all but the contract stands in comments.
    mark = "" if is_written else "# "
    reasons = ", ".join(f"{n} {why}" for why, n in sorted(left_out.items()))
    print(f"{mark}{n_runs} clean runs; left out: {reasons or 'none'}")
    for note in learned.notes:
        print(f"{mark}note: {visible(note)}")
    for place, (one, (file, text)) in enumerate(zip(learned.contracts, texts.items(), strict=True)):
        if is_written:
            for line in _told(one, learned):
                print(visible(line))
            print(f"written: {file}")
        else:
            print("---\n" if place else "", text, sep="", end="")


def _report(
    learned: Learned, n_runs: int, left_out: Counter[str], files: Sequence[Path]
) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "unit": learned.unit,
        "clean_runs": n_runs,
        "left_out": dict(sorted(left_out.items())),
        "notes": list(learned.notes),
        "contracts": [
            _entry(one, file) for one, file in zip(learned.contracts, files, strict=True)
        ],
    }


def _entry(one: LearnedContract, file: Path) -> dict[str, object]:
    held = one.held_out
    return {
        "agent": one.agent,
        "file": str(file),
        "units": one.n_units,
        "runs": one.n_runs,
        "stacks": list(one.stacks),
        "clauses": [
            {"rule": s.clause.rule, "subject": s.clause.subject, "units": s.n_units}
            for s in one.support
        ],
        "held_out": {
            "units": held.n_units,
            "fired": held.n_fired,
            "bound": held.bound,
            "level": held.level,
            "method": "clopper_pearson",
            "not_assessed": held.n_not_assessed,
            "fired_by_rule": held.fired_by_rule,
        },
        "contract": one.contract.as_json(),
    }
