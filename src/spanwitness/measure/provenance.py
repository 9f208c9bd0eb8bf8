"""`measure provenance`: whether the evidence for a label is in the text a model was shown.

Two readings of the same record, side by side. By the quote: is the quoted passage in the window?
By the label: are the label's values in the window, or can they be had from two numbers of it? A
label can be in a window by chance, most of all a short number; a quote can be absent because it was
copied with other wording. Where the two differ, both are told.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from spanwitness.errors import SettingsError
from spanwitness.measure.registered import CheckedPrediction, check_registered
from spanwitness.measure.result import choose_part, ends, frame_of
from spanwitness.measure.table import as_table
from spanwitness.normalize.values import find_values, missing
from spanwitness.stats.bootstrap import N_RESAMPLES, SEED
from spanwitness.stats.counts import Rate, rate
from spanwitness.stats.stability import Contrast, contrast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from spanwitness.measure.table import Row, Table

__all__ = [
    "SCHEMA",
    "Provenance",
    "ProvenanceResult",
    "RecordProvenance",
    "measure_provenance",
    "provenance_of",
    "rewindow",
]

SCHEMA: Final = "spanwitness.provenance/1"


class Provenance(StrEnum):
    """Where the evidence for a label is."""

    in_window = "in_window"
    derivable = "derivable"
    """Not stated, but had from two numbers in the window."""
    absent = "absent"
    """The record quotes evidence, and the window holds neither it nor the label."""
    untraceable = "untraceable"
    """The record itself has no evidence for the label."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordProvenance:
    """One record of a benchmark."""

    item_id: str
    provenance: Provenance
    """Both readings together: in the window by either, else derivable, else as the quote says."""
    by_quote: Provenance
    by_label: Provenance
    outcome: bool | None
    """The record's `outcome` bit, for instance whether runs of it disagree."""

    @property
    def is_flagged(self) -> bool:
        """Whether the window does not contain what the label needs."""
        return self.provenance in (Provenance.absent, Provenance.untraceable)

    @property
    def readings_agree(self) -> bool:
        """Whether quote and label tell the same."""
        return self.by_quote == self.by_label


@dataclass(frozen=True, kw_only=True, slots=True)
class ProvenanceResult:
    """The records of a benchmark, and their outcomes by provenance."""

    records: tuple[RecordProvenance, ...]
    contrast: Contrast | None
    """Outcome rate of flagged minus clean records; `None` without an `outcome` column."""
    level: float
    n_resamples: int
    seed: int
    prediction: CheckedPrediction | None = None
    """What became of a registered prediction; `None` = none was given."""

    def share(self, provenance: Provenance, *, reading: str = "provenance") -> Rate:
        """Return the share of the records with a provenance.

        Args:
            provenance: Which.
            reading: `provenance`, `by_quote` or `by_label`.
        """
        found = [getattr(record, reading) for record in self.records]
        return rate(found.count(provenance), len(found), level=self.level)

    def to_dict(self) -> dict[str, object]:
        """Return the form `spanwitness.provenance/1`."""
        found = self.contrast
        return {
            "schema": SCHEMA,
            "n_records": len(self.records),
            "classes": self.parts["classes"],
            "n_readings_differ": sum(not record.readings_agree for record in self.records),
            "readings": self.parts["readings"],
            "contrast": None
            if found is None
            else {
                "flagged": _group_json(found, "flagged"),
                "clean": _group_json(found, "clean"),
                "difference": found.difference,
                "ci_newcombe": ends(found.newcombe),
                "ci_item_bootstrap": ends(found.item_bootstrap),
            },
            "prediction": None if self.prediction is None else self.prediction.to_dict(),
            "level": self.level,
            "n_resamples": self.n_resamples,
            "seed": self.seed,
        }

    @property
    def parts(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """Three tables: `classes`, `records`, and `readings` (by quotation against by label)."""
        readings = Counter((record.by_quote, record.by_label) for record in self.records)
        return {
            "classes": [self._class_row(provenance) for provenance in Provenance],
            "records": [
                {
                    "item_id": record.item_id,
                    "provenance": record.provenance.value,
                    "by_quote": record.by_quote.value,
                    "by_label": record.by_label.value,
                    "outcome": record.outcome,
                }
                for record in self.records
            ],
            "readings": [
                {"by_quote": quote.value, "by_label": label.value, "n": readings[quote, label]}
                for quote in Provenance
                for label in Provenance
                if readings[quote, label]
            ],
        }

    def _class_row(self, provenance: Provenance) -> dict[str, object]:
        found = self.share(provenance)
        low, high = ends(found.interval) or (None, None)
        return {
            "provenance": provenance.value,
            "n": found.k,
            "share": found.raw,
            "ci_low": low,
            "ci_high": high,
            "n_by_quote": self.share(provenance, reading="by_quote").k,
            "n_by_label": self.share(provenance, reading="by_label").k,
        }

    def to_frame(self, part: str | None = None) -> object:
        """Return one of the tables as a data frame.

        Args:
            part: A name of `parts`; by default `classes`.

        Raises:
            SettingsError: There is no such part.
            MissingExtraError: Neither pandas nor polars is installed.
        """
        return frame_of(choose_part(self.parts, part))


def measure_provenance(
    table: Table | Path | str | Iterable[Mapping[str, object]],
    *,
    after: Table | Path | str | Iterable[Mapping[str, object]] | None = None,
    threshold: float | None = None,
    level: float = 0.95,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
) -> ProvenanceResult:
    """Audit where the evidence for the labels of a document benchmark is.

    Columns: `window`, `label`, `quote` (may be empty), optionally `item_id`, `question`, and
    `outcome` (0 or 1), whose rate is contrasted between flagged and clean records.

    Args:
        table: A table, its path (JSONL as a rule), or rows.
        after: With `threshold`: `item_id` and `outcome` of the same items after what was to make
            the outcome rate of the flagged ones fall, such as windows cut anew by `rewindow`.
        threshold: The rate that they would fall to, registered before. The prediction can fail.
        level: Probability inside the intervals.
        n_resamples: Resamples of the records.
        seed: Seed of the resampling.

    Raises:
        TableError: A window, a label or an outcome is missing, or an item comes twice; a flagged
            item is not in `after`.
        SettingsError: Only one of `after` and `threshold` is given.
        CountError: The level cannot be used.
        MissingExtraError: The extra `measure` is not installed.
    """
    if (after is None) is not (threshold is None):
        raise SettingsError("a registered prediction is a threshold and a table after: give both")
    source = as_table(table)
    source.require("window", "label", "quote")
    has_outcome = "outcome" in source.columns
    seen: dict[str, str] = {}
    records = []
    for row in source:
        item = _item(row, seen)
        records.append(
            provenance_of(
                window=row.text("window"),
                label=row.text("label"),
                quote=row.optional_text("quote"),
                item_id=item,
                outcome=row.bit("outcome") if has_outcome else None,
            )
        )
    groups: dict[bool, dict[str, tuple[int, int]]] = {True: {}, False: {}}
    for record in records:
        groups[record.is_flagged][record.item_id] = (int(record.outcome or False), 1)
    return ProvenanceResult(
        records=tuple(records),
        contrast=contrast(
            groups[True], groups[False], level=level, n_resamples=n_resamples, seed=seed
        )
        if has_outcome
        else None,
        level=level,
        n_resamples=n_resamples,
        seed=seed,
        prediction=None
        if after is None or threshold is None
        else check_registered(records, after, threshold=threshold, level=level),
    )


def _item(row: Row, seen: dict[str, str]) -> str:
    item = row.optional_text("item_id") or str(row.number)
    if item in seen:
        raise row.refuse(f"item {item!r} was in {seen[item]} already")
    seen[item] = row.name
    return item


def provenance_of(
    *,
    window: str,
    label: str,
    quote: str | None,
    item_id: str = "",
    outcome: bool | None = None,
) -> RecordProvenance:
    """Tell where the evidence for one label is.

    Args:
        window: The text that a model is shown.
        label: The right answer.
        quote: The passage the record gives as evidence; `None` or empty: it gives none.
        item_id: Name of the record.
        outcome: A bit of the record to contrast, where there is one.
    """
    by_quote = _by_quote(window, label, quote)
    by_label = _by_label(window, label, quote)
    readings = (by_quote, by_label)
    if Provenance.in_window in readings:
        provenance = Provenance.in_window
    elif Provenance.derivable in readings:
        provenance = Provenance.derivable
    else:
        provenance = by_quote
    return RecordProvenance(
        item_id=item_id,
        provenance=provenance,
        by_quote=by_quote,
        by_label=by_label,
        outcome=outcome,
    )


def _by_quote(window: str, label: str, quote: str | None) -> Provenance:
    """In the window if the quote is, and the quote supports the label by stating or deriving it."""
    if not quote or not _fold(quote) or _in_text(label, quote) is None:
        return Provenance.untraceable
    return Provenance.in_window if _fold(quote) in _fold(window) else Provenance.absent


def _by_label(window: str, label: str, quote: str | None) -> Provenance:
    found = _in_text(label, window)
    if found is not None:
        return found
    supported = bool(quote) and _in_text(label, quote or "") is not None
    return Provenance.absent if supported else Provenance.untraceable


def _in_text(label: str, text: str) -> Provenance | None:
    """Say whether a text states a label, or two of its numbers give it."""
    folded = _fold(label)
    if folded and f" {folded} " in f" {_fold(text)} ":
        return Provenance.in_window
    values = find_values(json.dumps([label]))
    if not values:
        return None
    left = missing(values, [text])
    if not left:
        return Provenance.in_window
    numbers = [value for value in left if value.startswith("number:")]
    if len(numbers) < len(left):
        return None
    given = _numbers(text)
    wanted = [_number(value) for value in numbers]
    return Provenance.derivable if all(_derives(value, given) for value in wanted) else None


_MAX_NUMBERS: Final = 200
"""With more numbers than these in a text nothing counts as derived: two of them give anything."""


def _numbers(text: str) -> list[float]:
    found = (value for value in find_values(json.dumps([text])) if value.startswith("number:"))
    numbers = sorted({_number(value) for value in found})
    return numbers if len(numbers) <= _MAX_NUMBERS else []


def _number(value: str) -> float:
    return float(value.removeprefix("number:").removesuffix("%"))


def _derives(wanted: float, given: Sequence[float]) -> bool:
    """Say whether two numbers give a third: sum, difference, product, ratio, change in percent."""
    return any(
        _close(wanted, result)
        for at, one in enumerate(given)
        for two in given[at + 1 :]
        for result in _combinations(one, two)
    )


def _combinations(one: float, two: float) -> Iterable[float]:
    yield from (one + two, one - two, two - one, one * two)
    for top, bottom in ((one, two), (two, one)):
        if bottom:
            yield from (top / bottom, 100 * top / bottom, 100 * (top - bottom) / bottom)


def _close(wanted: float, result: float) -> bool:
    """Equal, or equal when rounded to as many places as the label has."""
    places = len(repr(wanted).partition(".")[2]) if not float(wanted).is_integer() else 0
    is_whole = places == 0 and not float(result).is_integer()
    tolerance = 1e-9 * max(1.0, abs(wanted)) if places == 0 else 0.5 * 10.0**-places
    return not is_whole and abs(wanted - result) <= tolerance + 1e-12


def rewindow(document: str, quote: str, *, n_chars: int) -> str | None:
    """Return a window of a document that holds a quote, with text on both sides of it.

    Args:
        document: The whole text.
        quote: The passage to hold, as it stands in the document up to spacing and case.
        n_chars: Length of the window in characters; a longer quote is returned whole.

    Returns:
        The window, or `None` where the document does not hold the quote.
    """
    words = [re.escape(word) for word in quote.split()]
    found = re.search(r"\s+".join(words), document, re.IGNORECASE) if words else None
    if found is None:
        return None
    spare = max(0, n_chars - (found.end() - found.start()))
    start = max(0, min(found.start() - spare // 2, len(document) - n_chars))
    start = min(start, found.start())
    return document[start : max(start + n_chars, found.end())]


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    return re.sub(r"[^\w.%+\-]+", " ", re.sub(r"[.,;:](?=\s|$)", " ", folded)).strip()


def _group_json(found: Contrast, name: str) -> dict[str, object]:
    group = getattr(found, name)
    low, high = ends(group.interval) or (None, None)
    return {
        "n": group.n_items,
        "n_outcome": group.n_unstable,
        "rate": group.wobble,
        "ci_low": low,
        "ci_high": high,
    }
