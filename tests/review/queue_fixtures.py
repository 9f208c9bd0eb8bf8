"""Fixtures over any engine: `queue_url` says which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.review.judged_runs import Clock

from spanwitness.review import Queue

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(queue_url: str, clock: Clock) -> Iterator[Queue]:
    opened = Queue.open(queue_url, now=clock)
    yield opened
    opened.close()
