"""Queues in a file of the test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.review.queue_fixtures import clock, queue

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["clock", "queue"]


@pytest.fixture
def queue_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/queue.db"
