"""Module-level decorated callables: what pickles by name must stand in an importable module."""

from __future__ import annotations

from spanwitness.capture.tool import tool


@tool
def double(n: int) -> int:
    return 2 * n


@tool(effect="read")
async def double_later(n: int) -> int:
    return 2 * n


class Adder:
    """A callable object."""

    def __init__(self, step: int) -> None:
        self.step = step

    def __call__(self, n: int) -> int:
        return n + self.step

    @tool
    def add(self, n: int) -> int:
        return n + self.step


add_three = tool(Adder(3))
