"""Asking the caller's function for a yes or no; what is neither is no answer, never a yes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

__all__ = ["Judge", "as_bool", "judged"]

Judge: TypeAlias = Callable[[Any], "bool | None"]


def as_bool(value: object) -> bool | None:
    """Return a bool, NumPy's too; `None` for everything else, so that no word passes for a yes."""
    if type(value) is bool:
        return value
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"):
        return bool(value)
    return None


def judged(judge: Judge, value: object) -> bool | None:
    """Ask the caller's function; what is no bool, and an exception, is `None`: not readable.

    Args:
        judge: The function.
        value: What it judges.
    """
    said: bool | None = None
    try:
        said = as_bool(judge(value))
    except Exception:  # noqa: BLE001  the caller's function; no verdict is the honest answer
        return None
    return said
