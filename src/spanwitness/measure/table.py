"""Tables of outcomes: read from CSV, JSONL or Parquet, or given as rows; bad ones are refused.

A refusal names the row. Nothing is imputed: an empty cell, a null and a NaN are no value.
"""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spanwitness.errors import SpanwitnessError
from spanwitness.model.shapeless import spelled_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

__all__ = ["Row", "Table", "TableError", "as_table", "read_table"]

_TRUE: Final = frozenset({"1", "1.0", "true"})
_FALSE: Final = frozenset({"0", "0.0", "false"})
_BITS: Final[Mapping[str, bool]] = dict.fromkeys(_TRUE, True) | dict.fromkeys(_FALSE, False)


class TableError(SpanwitnessError, ValueError):
    """A table cannot be measured.

    Args:
        message: What is wrong and what would be right.
        source: The file, or what stands for it.
        row: The row, 1 being the first below the header; `None` when the whole table is meant.
        name: What the row is called, where it is from a trace: the span and its run.
    """

    def __init__(
        self, message: str, *, source: str, row: int | None = None, name: str | None = None
    ) -> None:
        self.source = source
        self.row = row
        self.reason = message
        where = name if name is not None else None if row is None else f"row {row}"
        place = source if where is None else f"{source}: {where}"
        # Names of spans and cells are anybody's text: a terminal must not act on it.
        super().__init__(spelled_out(f"{place}: {message}".replace("\n", "\\n")))


@dataclass(frozen=True, slots=True)
class Row:
    """One row, with what it takes to name it in a refusal."""

    source: str
    number: int
    """1 is the first row below the header."""
    cells: Mapping[str, object]
    label: str | None = None
    """Where the row is from a trace: its span and run."""

    @property
    def name(self) -> str:
        """What it is called in a refusal: `row 3`, or its span and run."""
        return self.label or f"row {self.number}"

    def refuse(self, message: str) -> TableError:
        """Return the error that names this row.

        Args:
            message: What is wrong and what would be right.
        """
        return TableError(message, source=self.source, row=self.number, name=self.label)

    def value(self, column: str) -> object | None:
        """Return a cell; `None` where it is empty, null or absent.

        Args:
            column: Its name.

        Raises:
            TableError: It is NaN, an infinity, or a list or an object.
        """
        cell = self.cells.get(column)
        if cell is None or cell == "":
            return None
        if isinstance(cell, str):
            if cell.strip() == "":
                return None
            return cell
        if isinstance(cell, float) and not math.isfinite(cell):
            raise self.refuse(
                f"{column!r} is {cell!r}: leave a missing value empty, or drop the row"
            )
        if isinstance(cell, (list, dict)):
            raise self.refuse(f"{column!r} holds {type(cell).__name__}, not one value")
        return cell

    def text(self, column: str) -> str:
        """Return a cell that must have a value, as text; whole numbers without a point.

        Args:
            column: Its name.

        Raises:
            TableError: It has none.
        """
        found = self.optional_text(column)
        if found is None:
            raise self.refuse(f"{column!r} is missing")
        return found

    def optional_text(self, column: str) -> str | None:
        """Return a cell as text, or `None` where it is empty.

        Args:
            column: Its name.

        Raises:
            TableError: It is NaN, a list or an object.
        """
        cell = self.value(column)
        if cell is None:
            return None
        if isinstance(cell, float) and cell.is_integer():
            return str(int(cell))
        return cell if isinstance(cell, str) else str(cell)

    def bit(self, column: str) -> bool:
        """Return a cell that must be 0 or 1.

        Args:
            column: Its name.

        Raises:
            TableError: It is missing, NaN, or anything else.
        """
        found = self.optional_bit(column)
        if found is None:
            raise self.refuse(f"{column!r} is missing: it must be 0 or 1, and nothing is imputed")
        return found

    def optional_bit(self, column: str) -> bool | None:
        """Return a cell that is 0 or 1, or `None` where it is empty.

        Args:
            column: Its name.

        Raises:
            TableError: It is NaN, or anything else.
        """
        cell = self.cells.get(column)
        if cell is True or cell is False:
            return cell
        cell = self.value(column)
        if cell is None:
            return None
        found = _BITS.get(str(cell).strip().lower())
        if found is None:
            raise self.refuse(f"{column!r} is {cell!r}: it must be 0 or 1")
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """A table in memory."""

    source: str
    """The file it is from, or what stands for it."""
    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, object]]
    numbers: Sequence[int] | None = None
    """Of the rows in the whole table; `None` = from 1."""
    labels: Sequence[str] | None = None
    """Where the rows are from traces: the span and run of each."""

    def __iter__(self) -> Iterator[Row]:
        numbers, labels = self.numbers, self.labels
        for at, cells in enumerate(self.rows):
            yield Row(
                self.source,
                at + 1 if numbers is None else numbers[at],
                cells,
                None if labels is None else labels[at],
            )

    def where(self, wanted: Callable[[Mapping[str, object]], bool]) -> Table:
        """Return the rows that are wanted; the others stay out of every count.

        Args:
            wanted: Says so of the cells of a row.
        """
        kept = [at for at, row in enumerate(self.rows) if wanted(row)]
        numbers, labels = self.numbers, self.labels
        return replace(
            self,
            rows=[self.rows[at] for at in kept],
            numbers=[at + 1 if numbers is None else numbers[at] for at in kept],
            labels=None if labels is None else [labels[at] for at in kept],
        )

    def __len__(self) -> int:
        return len(self.rows)

    def refuse(self, message: str) -> TableError:
        """Return the error that means the whole table.

        Args:
            message: What is wrong and what would be right.
        """
        return TableError(message, source=self.source)

    def require(self, *columns: str) -> None:
        """Refuse a table without rows or without some columns.

        Args:
            columns: Names that must be there.

        Raises:
            TableError: One is not there, or there are no rows.
        """
        absent = [name for name in columns if name not in self.columns]
        if absent:
            there = ", ".join(self.columns) or "none"
            raise self.refuse(f"no column {', '.join(map(repr, absent))}; there are {there}")
        if not self.rows:
            raise self.refuse("the table has no rows")


def as_table(rows: Table | Path | str | Iterable[Mapping[str, object]]) -> Table:
    """Return a table from a table, a path, or rows.

    Args:
        rows: A `Table`; the path of a file; or mappings from column to value. A pandas frame goes
            in as `frame.to_dict("records")`.

    Raises:
        TableError: It cannot be read.
    """
    if isinstance(rows, Table):
        return rows
    if isinstance(rows, (str, Path)):
        return read_table(Path(rows))
    kept = [dict(row) for row in rows]
    columns = dict.fromkeys(name for row in kept for name in row)
    return Table(source="rows", columns=tuple(columns), rows=kept)


def read_table(path: Path) -> Table:
    """Read a table; the suffix tells the format (.csv, .tsv, .jsonl, .ndjson, .parquet).

    Args:
        path: The file.

    Raises:
        TableError: The file cannot be read as its suffix says, or is Parquet without pyarrow.
    """
    suffix = path.suffix.lower()
    reader = _READERS.get(suffix)
    if reader is None:
        known = ", ".join(_READERS)
        raise TableError(f"a table ends in one of {known}, not in {suffix!r}", source=str(path))
    try:
        return reader(path)
    except OSError as error:
        raise TableError(error.strerror or str(error), source=str(path)) from None
    except UnicodeDecodeError as error:
        raise TableError(f"no UTF-8 at byte {error.start}", source=str(path)) from None


def _read_csv(path: Path) -> Table:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    rows: list[Mapping[str, object]] = []
    number = 0
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        try:
            header = [name.strip() for name in next(reader, [])]
            _check_header(header, path)
            for number, cells in enumerate(filter(None, reader), start=1):
                if len(cells) != len(header):
                    raise TableError(
                        f"{len(cells)} cells under {len(header)} columns",
                        source=str(path),
                        row=number,
                    )
                rows.append(dict(zip(header, cells, strict=True)))
        except csv.Error as error:
            raise TableError(f"no CSV: {error}", source=str(path), row=number + 1) from None
    return Table(source=str(path), columns=tuple(header), rows=rows)


def _check_header(header: Sequence[str], path: Path) -> None:
    if not header:
        raise TableError("the file is empty", source=str(path))
    twice = [name for name in header if header.count(name) > 1]
    if twice:
        raise TableError(f"column {twice[0]!r} comes twice", source=str(path))


def _read_jsonl(path: Path) -> Table:
    rows: list[Mapping[str, object]] = []
    columns: dict[str, None] = {}
    with path.open(encoding="utf-8-sig") as file:
        lines = (line for line in file if line.strip())
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise TableError(f"no JSON: {error}", source=str(path), row=number) from None
            if not isinstance(row, dict):
                raise TableError("a row is a JSON object", source=str(path), row=number)
            if "resourceSpans" in row:
                raise TableError("this is a trace, not a table", source=str(path), row=number)
            rows.append(row)
            columns.update(dict.fromkeys(row))
    return Table(source=str(path), columns=tuple(columns), rows=rows)


def _read_parquet(path: Path) -> Table:
    try:
        from pyarrow import ArrowException  # pyright: ignore[reportMissingImports]
        from pyarrow.parquet import (  # pyright: ignore[reportMissingImports]
            read_table as read_arrow,
        )
    except ImportError:
        raise TableError("Parquet needs pyarrow: pip install pyarrow", source=str(path)) from None
    try:
        arrow = read_arrow(path)
    except ArrowException as error:
        raise TableError(f"no Parquet: {error}", source=str(path)) from None
    return Table(source=str(path), columns=tuple(arrow.column_names), rows=arrow.to_pylist())


_READERS = {
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".parquet": _read_parquet,
}
