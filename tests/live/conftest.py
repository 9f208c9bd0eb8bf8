"""Each test starts as a fresh process would: no global providers, no variables, its own folder."""

from __future__ import annotations

import os

import pytest
from opentelemetry import metrics, trace
from opentelemetry.metrics import _internal as metrics_internal
from opentelemetry.util._once import Once
from tests.live.agents import CLIENTS

from spanwitness import guard
from spanwitness.live import configure as configuring


@pytest.fixture(autouse=True)
def fresh(monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("OTEL_", "SPANWITNESS_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SPANWITNESS_STATE_DIR", str(tmp_path / "state"))
    guard.set_strict(True)
    counts = guard._counts
    before = sum(counts.values())
    yield
    guard.set_strict(False)
    while CLIENTS:
        CLIENTS.pop().close()
    current = configuring._current
    if current is not None:
        current[1].shutdown()
    configuring._current = None
    _forget_global_providers()
    assert sum(counts.values()) == before, counts


@pytest.fixture
def lenient(monkeypatch):
    """For tests that provoke faults of ours: contained as in real life, and not held against us."""
    guard.set_strict(False)
    monkeypatch.setattr(guard, "_counts", type(guard._counts)())


def _forget_global_providers():
    found = trace._TRACER_PROVIDER
    if hasattr(found, "shutdown"):
        found.shutdown()
    trace._TRACER_PROVIDER = None
    trace._TRACER_PROVIDER_SET_ONCE = Once()
    found = metrics_internal._METER_PROVIDER
    if hasattr(found, "shutdown"):
        found.shutdown()
    metrics_internal._METER_PROVIDER = None
    metrics_internal._METER_PROVIDER_SET_ONCE = Once()
    assert metrics.get_meter_provider() is not None
