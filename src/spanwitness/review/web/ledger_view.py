"""The dispatch ledger of a run, with the broken cell marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.review.web.gap import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.model import LedgerRow
    from spanwitness.review.web.gap import Column, Gap

MAX_ROWS: Final = 40
_MAX_SINGLE: Final = 12
"""Beyond so many rows, calls of one tool that went alike stand in one row."""

_TONES: Final = {
    "yes": "good", "span": "good", "messages": "good", "provider": "good", "value": "good",
    "whole": "good", "cache": "weak", "cached": "weak", "empty": "weak", "no": "off",
    "error": "bad", "altered": "bad", "cancelled": "weak", "unknown": "unknown",
    "not_applicable": "off",
}  # fmt: skip
_SHOWN: Final = {"not_applicable": "-", "unknown": "?"}
_SAID: Final = {"not_applicable": "does not apply", "unknown": "this trace does not show it"}


class Cell(msgspec.Struct, frozen=True):
    """One point of one call."""

    column: Column
    word: str
    shown: str
    says: str
    """What the sign means, for a title; empty where the word says it."""
    tone: str
    is_broken: bool


class Row(msgspec.Struct, frozen=True):
    """One call, or a tool that was never called."""

    tool: str
    call_id: str | None
    side: str
    cells: tuple[Cell, ...]
    is_never: bool
    """The tool was offered or configured, and never called."""
    n_calls: int = 1
    """Calls that stand in this row, all of which went alike."""

    @property
    def is_broken(self) -> bool:
        """Whether the account breaks in this row."""
        return any(cell.is_broken for cell in self.cells)


class LedgerView(msgspec.Struct, frozen=True):
    """The ledger as the page shows it."""

    columns: tuple[Column, ...]
    gap: tuple[Column, ...]
    rows: tuple[Row, ...]
    n_hidden: int
    """Rows that are not shown; those where the account breaks come first."""


def ledger_view(
    rows: Sequence[LedgerRow],
    gap: Gap,
    *,
    columns: tuple[Column, ...] = COLUMNS,
    limit: int = MAX_ROWS,
) -> LedgerView:
    """Make the ledger's view.

    Args:
        rows: The ledger.
        gap: What the finding says about it.
        columns: Points that are shown.
        limit: Rows shown at most. Where there are more, those that the finding touches stay.
    """
    made = [_row(row, gap, columns) for row in rows]
    n_rows = len(made)
    if n_rows > _MAX_SINGLE:
        made = _folded(made)
    if len(made) > limit:
        broken = [place for place, row in enumerate(made) if row.is_broken][:limit]
        rest = [place for place in range(len(made)) if place not in set(broken)]
        kept = sorted([*broken, *rest[: limit - len(broken)]])
        shown = tuple(made[place] for place in kept)
    else:
        shown = tuple(made)
    return LedgerView(columns, gap.columns, shown, n_rows - sum(row.n_calls for row in shown))


def _folded(rows: Sequence[Row]) -> list[Row]:
    """Put calls of one tool that went alike into one row, at the place of the first."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.tool, row.side, row.cells), []).append(row)
    return [
        group[0]
        if len(group) == 1
        else msgspec.structs.replace(group[0], call_id=None, n_calls=len(group))
        for group in groups.values()
    ]


def _row(row: LedgerRow, gap: Gap, columns: tuple[Column, ...]) -> Row:
    is_never = row.requested == "no" and row.executed == "no"
    return Row(
        tool=row.tool,
        call_id=row.call_id,
        side=row.side,
        cells=tuple(_cell(row, column, gap) for column in columns),
        is_never=is_never,
    )


def _cell(row: LedgerRow, column: Column, gap: Gap) -> Cell:
    word: str = getattr(row, column)
    return Cell(
        column=column,
        word=word,
        shown=_SHOWN.get(word, word),
        says=_SAID.get(word, ""),
        tone=_TONES.get(word, "off"),
        is_broken=gap.breaks_at(row, column),
    )
