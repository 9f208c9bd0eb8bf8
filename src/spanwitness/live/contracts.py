"""Contracts as a user gives them: values, or paths of files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.contracts.model import Contract


def load_all(contracts: Sequence[Contract | Path | str]) -> tuple[Contract, ...]:
    """Read those contracts that are given as paths.

    Raises:
        RuleError: A contract cannot be read or is malformed; the file and the place are named.
        TypeError: One path was given where a list of them belongs.
    """
    if isinstance(contracts, str | Path):
        raise TypeError(f"contracts={contracts!r}: give a list, [{str(contracts)!r}]")
    return tuple(_load(c) if isinstance(c, str | Path) else c for c in contracts)


def _load(path: str | Path) -> Contract:
    from spanwitness.contracts import load

    return load(Path(path))
