"""`measure stability`: how much repeated runs of an item disagree."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from spanwitness.measure.result import choose_part, ends, frame_of
from spanwitness.measure.table import as_table
from spanwitness.stats.bootstrap import N_RESAMPLES, SEED
from spanwitness.stats.reliability import SplitHalf, Transfer, split_half, transfer
from spanwitness.stats.stability import (
    AgreedAgainstLabel,
    ConfigurationStability,
    Contrast,
    ItemStability,
    SuccessBand,
    UnstablePairs,
    agreed_against_label,
    configuration_stability,
    contrast,
    equal_runs,
    item_stability,
    success_band,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from spanwitness.measure.table import Row, Table

__all__ = ["SCHEMA", "ConfigurationResult", "StabilityResult", "measure_stability"]

SCHEMA: Final = "spanwitness.stability/1"

_Answers = dict[str, list[str | None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfigurationResult:
    """One configuration."""

    configuration: str
    stability: ConfigurationStability
    band: SuccessBand | None
    """Where the labelled items' success rates lie; `None` without labels."""
    split_half: SplitHalf | None
    """Split-half reliability of success; `None` without labels or with fewer than 2 runs or 3
    items."""

    def to_dict(self) -> dict[str, object]:
        """Return the row of the fixed JSON form."""
        found, band, halves = self.stability, self.band, self.split_half
        return {
            "configuration": self.configuration,
            "n_items": found.n_items,
            "n_runs": found.n_runs,
            "n_unstable": found.n_unstable,
            "wobble": found.wobble,
            "ci_low": found.interval.low,
            "ci_high": found.interval.high,
            "dispersion": found.dispersion,
            "accuracy": found.accuracy,
            "n_labelled": found.n_labelled,
            "n_unparsed": found.n_unparsed,
            "n_runs_dropped": found.n_runs_dropped,
            "share_in_observable_band": None if band is None else band.share_in_band,
            "share_always_right": None if band is None else band.share_always_right,
            "split_half_reliability": None if halves is None else halves.reliability,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class StabilityResult:
    """Stability by configuration, and of flagged against clean items."""

    configurations: tuple[ConfigurationResult, ...]
    contrast: Contrast | None
    """`None` without a `flagged` column."""
    against_label: tuple[AgreedAgainstLabel, ...]
    """Items on which all configurations agree against the label: for review."""
    dispersion: Mapping[str, Mapping[str, float]]
    """By configuration, by item: the share of runs that disagree with the modal answer."""
    level: float
    n_resamples: int
    seed: int
    transferred: Transfer | None = None
    """How far instability transfers; `None` = not asked for."""

    def transfer(self, k: int) -> Transfer:
        """Return how far instability transfers between the configurations.

        Args:
            k: Length of the lists of least stable items that are compared.

        Raises:
            CountError: There are fewer than two configurations, or k cannot be used.
        """
        return transfer(
            self.dispersion, k=k, n_resamples=self.n_resamples, seed=self.seed, level=self.level
        )

    def to_dict(self) -> dict[str, object]:
        """Return the form `spanwitness.stability/1`."""
        found = self.contrast
        return {
            "schema": SCHEMA,
            "configurations": [each.to_dict() for each in self.configurations],
            "contrast": None
            if found is None
            else {
                "flagged": _pairs_json(found.flagged),
                "clean": _pairs_json(found.clean),
                "difference": found.difference,
                "ci_newcombe": ends(found.newcombe),
                "ci_item_bootstrap": ends(found.item_bootstrap),
            },
            "agreed_against_label": [
                {"item_id": each.item_id, "label": each.label, "answer": each.answer}
                for each in self.against_label
            ],
            "transfer": None if self.transferred is None else _transfer_json(self.transferred),
            "level": self.level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
        }

    @property
    def parts(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """Three tables: `configurations`, `items`, `agreed_against_label`."""
        return {
            "configurations": [each.to_dict() for each in self.configurations],
            "items": [
                {"configuration": name, "item_id": item, "dispersion": value}
                for name, items in self.dispersion.items()
                for item, value in items.items()
            ],
            "agreed_against_label": [
                {"item_id": each.item_id, "label": each.label, "answer": each.answer}
                for each in self.against_label
            ],
        }

    def to_frame(self, part: str | None = None) -> object:
        """Return one of the tables as a data frame.

        Args:
            part: A name of `parts`; by default `configurations`.

        Raises:
            SettingsError: There is no such part.
            MissingExtraError: Neither pandas nor polars is installed.
        """
        return frame_of(choose_part(self.parts, part))


def measure_stability(
    table: Table | Path | str | Iterable[Mapping[str, object]],
    *,
    unequal: Literal["refuse", "rarefy"] = "refuse",
    transfer_k: int | None = None,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> StabilityResult:
    """Measure how much repeated runs of an item disagree, from a table with a row a run.

    Columns: `configuration`, `item_id`, `run`, `answer` (empty: none was parsed, which counts as
    an answer of its own kind and is told), optionally `label` and `flagged` (0 or 1), both the
    same in every row of an item, and `success` (0 or 1) of the run. Accuracy is the share of
    successes where that is told, else of answers that equal the label.

    Args:
        table: A table, its path, or rows.
        unequal: What to do when items or configurations have unequal numbers of runs: `refuse`,
            or `rarefy` all to the smallest number, by a seeded draw.
        transfer_k: Also tell how far instability transfers between configurations, over lists of
            that many least stable items.
        level: Probability inside the intervals.
        n_resamples: Resamples of the items.
        seed: Seed of the draws.

    Raises:
        TableError: (configuration, item, run) comes twice; runs are unequal; a flag is missing or
            no bit; label or flag differ within an item.
        CountError: The level or `transfer_k` cannot be used.
        MissingExtraError: The extra `measure` is not installed.
    """
    source = as_table(table)
    source.require("configuration", "item_id", "run", "answer")
    read = _Runs(source)
    answers = read.equal(unequal=unequal, seed=seed)
    successes = read.successes_of(answers, seed=seed)
    stabilities = {
        name: {item: item_stability(runs) for item, runs in items.items()}
        for name, items in answers.items()
    }
    found = StabilityResult(
        configurations=tuple(
            _configuration(read, name, items, successes.get(name, {}), level=level, seed=seed)
            for name, items in answers.items()
        ),
        contrast=_contrast(read, stabilities, level=level, n_resamples=n_resamples, seed=seed)
        if read.has_flags
        else None,
        against_label=_against_label(read, stabilities),
        dispersion={
            name: {item: each.dispersion for item, each in items.items()}
            for name, items in stabilities.items()
        },
        level=level,
        n_resamples=n_resamples,
        seed=seed,
    )
    return found if transfer_k is None else replace(found, transferred=found.transfer(transfer_k))


class _Runs:
    """The rows of the table, by configuration and item."""

    def __init__(self, table: Table) -> None:
        self.labels: dict[str, str] = {}
        self.flags: dict[str, bool] = {}
        self._labelled: set[str] = set()
        self.has_flags = "flagged" in table.columns
        self.answers: dict[str, _Answers] = {}
        self._successes: dict[str, _Answers] = {}
        has_success = "success" in table.columns
        self._last_row: dict[tuple[str, str], Row] = {}
        has_labels = "label" in table.columns
        seen: dict[tuple[str, str, str], str] = {}
        for row in table:
            name, item, run = row.text("configuration"), row.text("item_id"), row.text("run")
            if (name, item, run) in seen:
                raise row.refuse(
                    f"item {item!r} in run {run!r} of {name!r} was in "
                    f"{seen[name, item, run]} already"
                )
            seen[name, item, run] = row.name
            self._last_row[name, item] = row
            runs = self.answers.setdefault(name, {}).setdefault(item, [])
            runs.append(row.optional_text("answer"))
            if has_success:
                bits = self._successes.setdefault(name, {}).setdefault(item, [])
                bits.append(str(int(row.bit("success"))))
            if has_labels:
                self._take_label(row, item)
            if self.has_flags:
                self._take_flag(row, item)

    def _take_label(self, row: Row, item: str) -> None:
        label = row.optional_text("label")
        is_first = item not in self._labelled
        self._labelled.add(item)
        if is_first and label is not None:
            self.labels[item] = label
        elif self.labels.get(item) != label:
            raise row.refuse(
                f"'label' of item {item!r} is {label!r} here and {self.labels.get(item)!r} before"
            )

    def _take_flag(self, row: Row, item: str) -> None:
        flag = row.bit("flagged")
        if self.flags.setdefault(item, flag) is not flag:
            raise row.refuse(f"'flagged' of item {item!r} differs from the rows before")

    def equal(self, *, unequal: Literal["refuse", "rarefy"], seed: int) -> dict[str, _Answers]:
        """Return the answers with one number of runs throughout."""
        numbers = {
            (name, item): len(runs)
            for name, items in self.answers.items()
            for item, runs in items.items()
        }
        few, many = min(numbers.values()), max(numbers.values())
        if few == many:
            return self.answers
        if unequal == "refuse":
            name, item = next(key for key, n in numbers.items() if n == few)
            raise self._last_row[name, item].refuse(
                f"item {item!r} of {name!r} has {few} runs where others have up to {many}: wobble "
                "depends on the number of runs; complete them, or rarefy to the smallest number"
            )
        return _rarefied(self.answers, seed)

    def successes_of(
        self, answers: Mapping[str, _Answers], *, seed: int
    ) -> dict[str, dict[str, list[float]]]:
        """Return the success of each run by configuration and item; items without any are absent.

        Args:
            answers: The answers with one number of runs throughout, of which labels tell.
            seed: As of `equal`: of success bits the same runs are drawn.
        """
        if self._successes:
            return {
                name: {item: [float(bit == "1") for bit in bits] for item, bits in items.items()}
                for name, items in _rarefied(self._successes, seed).items()
            }
        return {
            name: {
                item: [float(answer == self.labels[item]) for answer in runs]
                for item, runs in items.items()
                if item in self.labels
            }
            for name, items in answers.items()
        }


def _rarefied(runs: Mapping[str, _Answers], seed: int) -> dict[str, _Answers]:
    """Draw as many runs of each item as the item with the fewest has; which, the key decides."""
    drawn = equal_runs(
        {
            json.dumps([name, item]): values
            for name, items in runs.items()
            for item, values in items.items()
        },
        unequal="rarefy",
        seed=seed,
    )
    return {
        name: {item: drawn[json.dumps([name, item])] for item in items}
        for name, items in runs.items()
    }


def _configuration(
    read: _Runs,
    name: str,
    items: _Answers,
    successes: Mapping[str, list[float]],
    *,
    level: float,
    seed: int,
) -> ConfigurationResult:
    found = configuration_stability(items, level=level)
    n_before = sum(map(len, read.answers[name].values()))
    n_scored = sum(map(len, successes.values()))
    can_split = len(successes) >= 3 and found.n_runs >= 2
    return ConfigurationResult(
        configuration=name,
        stability=replace(
            found,
            n_runs_dropped=n_before - found.n_items * found.n_runs,
            n_labelled=len(successes),
            accuracy=sum(map(sum, successes.values())) / n_scored if n_scored else None,
        ),
        band=success_band(sum(bits) / len(bits) for bits in successes.values())
        if successes
        else None,
        split_half=split_half(successes, seed=seed) if can_split else None,
    )


def _contrast(
    read: _Runs,
    stabilities: Mapping[str, Mapping[str, ItemStability]],
    *,
    level: float,
    n_resamples: int,
    seed: int,
) -> Contrast:
    groups: dict[bool, dict[str, tuple[int, int]]] = {True: {}, False: {}}
    for item, flag in read.flags.items():
        found = [items[item].is_unstable for items in stabilities.values() if item in items]
        groups[flag][item] = (sum(found), len(found))
    return contrast(groups[True], groups[False], level=level, n_resamples=n_resamples, seed=seed)


def _against_label(
    read: _Runs, stabilities: Mapping[str, Mapping[str, ItemStability]]
) -> tuple[AgreedAgainstLabel, ...]:
    """A tie is no answer that a configuration stands for: it agrees with none."""
    modal: dict[str, dict[str, str | None]] = {}
    for name, items in stabilities.items():
        for item, each in items.items():
            answer = None if each.is_modal_tied else each.modal_answer
            modal.setdefault(item, {})[name] = answer
    return agreed_against_label(modal, read.labels)


def _pairs_json(pairs: UnstablePairs) -> dict[str, object]:
    low, high = ends(pairs.interval) or (None, None)
    return {
        "n_items": pairs.n_items,
        "n_pairs": pairs.n_pairs,
        "n_unstable": pairs.n_unstable,
        "wobble": pairs.wobble,
        "ci_low": low,
        "ci_high": high,
    }


def _transfer_json(found: Transfer) -> dict[str, object]:
    told: dict[str, object] = {name: getattr(found, name) for name in found.__slots__}
    told["ci"] = ends(found.interval)
    del told["interval"]
    return told
