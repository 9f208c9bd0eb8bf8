"""Each test starts as a fresh process would; see `tests/live/conftest.py`."""

from __future__ import annotations

from tests.live.conftest import fresh, lenient

__all__ = ["fresh", "lenient"]
