"""The errors that spanwitness raises, all at set-up or from a command, never on the traced path.

::

    SpanwitnessError
    ├── SettingsError        a setting, an argument of `configure` or a decorator cannot be used
    ├── TraceFormatError     a stored trace cannot be read (file, line and reason are named)
    ├── RuleError            a rule or a contract is malformed
    ├── ReviewError          the review queue cannot do what was asked
    │   ├── UnknownItemError     it holds no such item
    │   └── ConflictError        the item is not as the caller believed it to be
    └── MissingExtraError    an optional dependency is not installed
"""

from __future__ import annotations

__all__ = [
    "ConflictError",
    "MissingExtraError",
    "PhaseError",
    "ReviewError",
    "RuleError",
    "SettingsError",
    "SpanwitnessError",
    "TraceFormatError",
    "UnknownItemError",
]


class SpanwitnessError(Exception):
    """Root of all errors of this package."""


class SettingsError(SpanwitnessError, ValueError):
    """A setting, or an argument given at set-up, cannot be used."""


class TraceFormatError(SpanwitnessError, ValueError):
    """A stored trace cannot be read.

    Args:
        message: What is wrong and what would be right.
        path: The file, or `-` for standard input.
        line: The 1-based line, or `None` when the whole file is meant.
    """

    def __init__(self, message: str, *, path: str, line: int | None = None) -> None:
        self.path = path
        self.line = line
        self.reason = message
        super().__init__(f"{path}:{line}: {message}" if line is not None else f"{path}: {message}")


class RuleError(SpanwitnessError, ValueError):
    """A rule or a contract is malformed."""


class PhaseError(SpanwitnessError, RuntimeError):
    """A tool was refused because its phase is over or not begun.

    The only error of ours that reaches a running agent, and only where the user asked for refusal
    with `on_violation="refuse"`.
    """


class ReviewError(SpanwitnessError):
    """The review queue cannot do what was asked: a bad address, argument, or state of an item."""


class UnknownItemError(ReviewError, LookupError):
    """The queue holds no such item."""


class ConflictError(ReviewError):
    """An item is not as the caller believed: somebody changed it or holds it.

    Args:
        message: What stands against it.
        current: The item as it is now.
    """

    def __init__(self, message: str, *, current: object) -> None:
        self.current = current
        super().__init__(message)


class MissingExtraError(SpanwitnessError, ImportError):
    """An optional dependency is not installed.

    Args:
        package: The package that could not be imported.
        extra: The extra of spanwitness that brings it.
    """

    def __init__(self, package: str, *, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{package!r} is not installed: pip install 'spanwitness[{extra}]'")
