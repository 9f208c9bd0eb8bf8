"""Several audits side by side: chosen, split and never pooled; each with what is missing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from spanwitness.measure.item_rows import SEPARATE
from spanwitness.measure.result import choose_part, frame_of
from spanwitness.measure.traced_table import JOIN, MissingStep, TracedTable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from spanwitness.measure.table import Table

__all__ = [
    "Audit",
    "Audits",
    "StepAccounting",
    "audit_across",
    "audit_each",
    "choose_rows",
    "numbered_runs",
]

NONE: Final = "none"
"""The word that chooses rows without a value."""
_MAX_LISTED = 8
_MAX_CHARS = 60


class AuditResult(Protocol):
    """What the measure of one audit returns."""

    @property
    def parts(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """Its tables."""
        ...

    def to_dict(self) -> dict[str, object]:
        """Its fixed JSON form."""
        ...


ResultT = TypeVar("ResultT", bound=AuditResult)


@dataclass(frozen=True, kw_only=True, slots=True)
class StepAccounting:
    """What became of the executions that traces hold of a step."""

    n_rows: int
    """Those that were measured: executions of a step, choices, or runs."""
    n_retried: int
    """Those that failed and were tried again in their run, over all steps of the traces."""
    missing: tuple[MissingStep, ...]
    """Those that gave no row; nothing is put in their place."""
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Return it for the JSON forms."""
        return {
            "n_rows": self.n_rows,
            "n_retried": self.n_retried,
            "n_missing": len(self.missing),
            "missing": [each.to_row() for each in self.missing],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit(Generic[ResultT]):
    """One audit: of one step, operation, input configuration, success rule and stack."""

    identity: Mapping[str, str | None]
    """What its rows have in common, by column; what is pooled is not in it."""
    result: ResultT
    accounting: StepAccounting | None
    """`None` where the rows are from a table."""

    def to_dict(self) -> dict[str, object]:
        """Return the fixed form of its measure, with `identity` and, from traces, `accounting`."""
        told = {} if self.accounting is None else {"accounting": self.accounting.to_dict()}
        return {**self.result.to_dict(), "identity": dict(self.identity), **told}


@dataclass(frozen=True, kw_only=True, slots=True)
class Audits(Generic[ResultT]):
    """Audits side by side."""

    audits: tuple[Audit[ResultT], ...]
    is_each: bool
    """Whether each was asked for: then the JSON form is a list, be it of one."""
    pooled: tuple[str, ...]
    """The columns that were pooled on demand."""

    def to_dict(self) -> dict[str, object]:
        """Return the fixed form of the one audit; `{schema, audits}` where each was asked for."""
        if not self.is_each:
            return {**self.audits[0].to_dict(), "pooled": list(self.pooled)}
        return {
            "schema": "spanwitness.audits/1",
            "audits": [audit.to_dict() for audit in self.audits],
            "pooled": list(self.pooled),
        }

    @property
    def parts(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """The tables of the measure, with the columns of the identity before; and `missing`."""
        names = dict.fromkeys(name for audit in self.audits for name in audit.identity)
        found: dict[str, list[dict[str, object]]] = {}
        for audit in self.audits:
            identity = {name: audit.identity.get(name) for name in names}
            for part, rows in audit.result.parts.items():
                found.setdefault(part, []).extend({**identity, **row} for row in rows)
        missing = dict.fromkeys(
            each
            for audit in self.audits
            if audit.accounting is not None
            for each in audit.accounting.missing
        )
        return {
            **{part: _even(rows) for part, rows in found.items()},
            "missing": [each.to_row() for each in missing],
        }

    def to_frame(self, part: str | None = None) -> object:
        """Return one of the tables as a data frame.

        Args:
            part: A name of `parts`; by default the first.

        Raises:
            SettingsError: There is no such part.
            MissingExtraError: Neither pandas nor polars is installed.
        """
        return frame_of(choose_part(self.parts, part))


def _even(rows: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Give all rows the same columns: only some may tell why a rate has no value."""
    columns = dict.fromkeys(name for row in rows for name in row)
    return [{name: row.get(name) for name in columns} for row in rows]


def audit_each(
    given: Table | TracedTable,
    measure: Callable[[Table], ResultT],
    *,
    select: Mapping[str, str] | None = None,
    pool: Collection[str] = (),
    each: bool = False,
) -> Audits[ResultT]:
    """Measure every audit that a table or traces hold, never two together.

    Args:
        given: Rows with columns of `SEPARATE`; from traces, with what is missing.
        measure: Measures the rows of one audit.
        select: Wanted values by column of `SEPARATE`, whole or as a beginning; `none` for rows
            without one.
        pool: Columns whose values may be pooled all the same.
        each: Report all audits; otherwise more than one is refused.

    Raises:
        TableError: A column is not there, nothing was chosen, or more than one audit was.
    """
    traced = given if isinstance(given, TracedTable) else None
    table = given.table if isinstance(given, TracedTable) else given
    table = choose_rows(table, select or {})
    found = _split(table, pool)
    if len(found) > 1 and not each and traced is not None:
        raise table.refuse(_several(found))
    if not each and traced is None:
        found = [(_common(found), table)]  # the measure itself refuses, with the row named
    return Audits(
        audits=tuple(
            Audit(
                identity=identity,
                result=measure(numbered_runs(rows) if traced is not None else rows),
                accounting=None if traced is None else _accounting(traced, identity, rows),
            )
            for identity, rows in found
        ),
        is_each=each,
        pooled=tuple(pool),
    )


def audit_across(
    given: Table | TracedTable,
    measure: Callable[[Table], ResultT],
    *,
    select: Mapping[str, str] | None = None,
    pool: Collection[str] = (),
) -> Audits[ResultT]:
    """Measure all the chosen rows at once, for a measure that compares audits by itself.

    Args:
        given: As of `audit_each`.
        measure: Measures the rows, and refuses what it may not put together.
        select: As of `audit_each`.
        pool: The columns that it was told to pool.

    Raises:
        TableError: A column is not there, or nothing was chosen.
    """
    traced = given if isinstance(given, TracedTable) else None
    table = given.table if isinstance(given, TracedTable) else given
    table = choose_rows(table, select or {})
    accounting = None
    if traced is not None:
        step = None if select is None else select.get("step")
        accounting = _accounting(traced, {"step": step}, table)
    audit = Audit(identity={}, result=measure(table), accounting=accounting)
    return Audits(audits=(audit,), is_each=False, pooled=tuple(pool))


def choose_rows(table: Table, select: Mapping[str, str]) -> Table:
    """Return the rows with the wanted values.

    Args:
        table: The table.
        select: Wanted values by column, whole or as a beginning; `none` for rows without one.

    Raises:
        TableError: A column is not there, or no row has the values.
    """
    for name, wanted in select.items():
        if name not in table.columns:
            raise table.refuse(f"no column {name!r} to choose {wanted!r} by")
        values = {_text(row.get(name)) for row in table.rows}
        chosen = _matching(values, wanted)
        if not chosen:
            there = ", ".join(sorted(map(_shown, values))[:_MAX_LISTED])
            raise table.refuse(f"no row has {name} {wanted!r}; there are {there}")
        table = table.where(_is_among(name, chosen))
    return table


def _is_among(name: str, chosen: set[str | None]) -> Callable[[Mapping[str, object]], bool]:
    return lambda cells: _text(cells.get(name)) in chosen


def _matching(values: set[str | None], wanted: str) -> set[str | None]:
    if wanted in values:
        return {wanted}
    if wanted == NONE:
        return values & {None}
    return {value for value in values if value is not None and value.startswith(wanted)}


def _text(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


def _split(table: Table, pool: Collection[str]) -> list[tuple[dict[str, str | None], Table]]:
    names = [name for name in SEPARATE if name in table.columns and name not in pool]
    keys = dict.fromkeys(tuple(_text(row.get(name)) for name in names) for row in table.rows)
    if len(keys) <= 1:
        return [(dict(zip(names, key, strict=True)), table) for key in keys] or [({}, table)]
    return [(dict(zip(names, key, strict=True)), table.where(_has_key(names, key))) for key in keys]


def _has_key(
    names: Sequence[str], key: tuple[str | None, ...]
) -> Callable[[Mapping[str, object]], bool]:
    return lambda cells: tuple(_text(cells.get(name)) for name in names) == key


def _common(found: Sequence[tuple[dict[str, str | None], Table]]) -> dict[str, str | None]:
    return found[0][0] if len(found) == 1 else {}


def _several(found: Sequence[tuple[dict[str, str | None], Table]]) -> str:
    """Say which audits there are, by what differs between them."""
    differing = [name for name in found[0][0] if len({identity[name] for identity, _ in found}) > 1]
    listed = [
        "(" + ", ".join(f"{name} {_shown(identity[name])}" for name in differing)
        + f": {len(rows)} rows)"
        for identity, rows in found[:_MAX_LISTED]
    ]  # fmt: skip
    if len(found) > _MAX_LISTED:
        listed.append(f"and {len(found) - _MAX_LISTED} more")
    options = "/".join(f"--{name}" for name in differing)
    alike = [name for name in differing if name not in ("step", "rule")]
    pool = f", or, if they may be pooled, say --pool {alike[0]}" if alike else ""
    return (
        f"these are {len(found)} audits, which are never pooled: {', '.join(listed)}. Choose one"
        f" with {options} (a beginning will do), report all with --each{pool}"
    )


def _shown(value: str | None) -> str:
    if value is None:
        return NONE
    return repr(value if len(value) <= _MAX_CHARS else value[:_MAX_CHARS] + "…")


def numbered_runs(table: Table) -> Table:
    """Number the runs of each item in their order, where an item has more than one.

    Args:
        table: Rows of traces, in the order of their runs.
    """
    count: dict[object, int] = {}
    rows = []
    for row in table.rows:
        count[row["item_id"]] = count.get(row["item_id"], 0) + 1
        rows.append({**row, "run": count[row["item_id"]]})
    if max(count.values(), default=1) == 1:
        return table
    return replace(table, rows=rows, columns=(*table.columns, "run"))


def _accounting(
    traced: TracedTable, identity: Mapping[str, str | None], rows: Table
) -> StepAccounting:
    """What is missing may lack its operation and rule: it is told by the name of its step."""
    step = identity.get("step")
    return StepAccounting(
        n_rows=len(set(rows.labels or ())),
        n_retried=traced.n_retried,
        missing=tuple(
            each
            for each in traced.missing
            if step is None or each.step in (step, *step.split(JOIN))
        ),
        notes=traced.notes,
    )
