"""What every test gets: no contained fault of ours goes unnoticed, no user state is touched."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from spanwitness import guard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SWITCHES = (
    "SPANWITNESS_CONTENT",
    "SPANWITNESS_QUEUE",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT",
    "OTEL_SDK_DISABLED",
    "OTEL_SERVICE_NAME",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
)


@pytest.fixture(autouse=True)
def _own_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Keep the settings of whoever runs the tests, and their state folder, out of them."""
    for name in _SWITCHES:
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path_factory.getbasetemp() / "state"
    monkeypatch.setenv("SPANWITNESS_STATE_DIR", str(folder))
    return folder


@pytest.fixture(autouse=True)
def _no_contained_fault(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test in which a fault of ours was contained, unless it is marked `contains_faults`."""
    before = guard.faults()
    yield
    after = guard.faults()
    # Counted for the whole process: what a test makes on purpose is no fault of the next.
    guard._counts.clear()
    guard._counts.update(before)
    if request.node.get_closest_marker("contains_faults") is None:
        fresh = {site: n - before.get(site, 0) for site, n in after.items()}
        assert not any(fresh.values()), f"contained faults of ours: {fresh}"


@pytest.fixture(autouse=True)
def _own_board() -> Iterator[None]:
    """Keep calls that a model asked for outside every run within their test."""
    yield
    board = sys.modules.get("spanwitness.capture.board")
    if board is not None:
        board.ambient_board.clear()
