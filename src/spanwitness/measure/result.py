"""What every measure returns: the fixed JSON form, rows, a data frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from spanwitness.errors import MissingExtraError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanwitness.stats.intervals import Interval

__all__ = ["MeasureResult", "choose_part", "ends", "frame_of"]


class MeasureResult(Protocol):
    """The result of a measure."""

    @property
    def parts(self) -> Mapping[str, Sequence[Mapping[str, object]]]:
        """Its tables by name, the main one first; every row of a table has the same columns."""
        ...

    def to_dict(self) -> dict[str, object]:
        """Return the fixed JSON form."""
        ...

    def to_frame(self, part: str | None = None) -> object:
        """Return a table as a data frame of pandas, or of polars where pandas is not installed.

        Args:
            part: The table; by default the main one.

        Raises:
            SettingsError: There is no such table.
            MissingExtraError: Neither library is installed.
        """


def choose_part(
    parts: Mapping[str, Sequence[Mapping[str, object]]], part: str | None
) -> Sequence[Mapping[str, object]]:
    """Return one of the tables of a result.

    Args:
        parts: The tables.
        part: Its name; by default the first.

    Raises:
        SettingsError: There is no such table.
    """
    name = next(iter(parts)) if part is None else part
    if name not in parts:
        raise SettingsError(f"no part {name!r}: there are {', '.join(parts)}")
    return parts[name]


def frame_of(rows: Sequence[Mapping[str, object]]) -> object:
    """Return rows as a data frame of pandas, or of polars where pandas is not installed.

    Args:
        rows: Rows with the same columns.

    Raises:
        MissingExtraError: Neither library is installed.
    """
    records = [dict(row) for row in rows]
    try:
        import pandas as pd
    except ImportError:
        try:
            import polars as pl  # pyright: ignore[reportMissingImports]
        except ImportError:
            raise MissingExtraError("pandas", extra="measure") from None
        return pl.DataFrame(records, infer_schema_length=None)
    return pd.DataFrame.from_records(records)


def ends(interval: Interval | None) -> list[float] | None:
    """Return the two ends of an interval, or `None` where there is none.

    Args:
        interval: The interval.
    """
    return None if interval is None else [interval.low, interval.high]
