"""One scripted provider for the folder; each test starts as a fresh process would."""

from __future__ import annotations

import os

import pytest
from tests.catalogue.kit import Stage

from spanwitness import guard


@pytest.fixture(scope="session")
def shared_stage():
    with Stage() as stage:
        yield stage


@pytest.fixture
def stage(shared_stage, monkeypatch, tmp_path):
    for name in list(os.environ):
        if name.startswith(("OTEL_", "SPANWITNESS_")):
            monkeypatch.delenv(name)
    before = dict(guard.faults())
    guard.set_strict(True)
    shared_stage.directory = tmp_path
    yield shared_stage
    guard.set_strict(False)
    assert dict(guard.faults()) == before
