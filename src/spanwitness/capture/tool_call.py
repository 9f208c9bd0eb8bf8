"""Which call of the model the next tool serves, said by hand."""

from __future__ import annotations

from contextvars import ContextVar

__all__ = ["explicit_call", "tool_call"]


class tool_call:  # noqa: N801  reads as a statement
    """Say which call of the model the next tool serves: `with sw.tool_call(call.id): ...`.

    For hand-written loops whose arguments are changed on the way, or that run a tool under another
    name. The first traced tool in the block takes the id; tools that it calls do not.

    Args:
        call_id: The id of the model's call.
    """

    __slots__ = ("_before", "call_id", "is_taken")

    def __init__(self, call_id: str) -> None:
        self.call_id = call_id
        self.is_taken = False
        self._before: tool_call | None = None

    def __enter__(self) -> tool_call:
        """Offer the id to the next tool."""
        self._before = _explicit.get()
        _explicit.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Withdraw it."""
        if _explicit.get() is self:
            _explicit.set(self._before)


_explicit: ContextVar[tool_call | None] = ContextVar("spanwitness_tool_call", default=None)
explicit_call = _explicit.get
"""Returns the innermost `tool_call` block of this context, or `None`."""
