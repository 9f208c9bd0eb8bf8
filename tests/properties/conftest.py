"""Bounded, repeatable examples, and the scripted provider that the catalogue's recipes use."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from tests.catalogue.conftest import shared_stage, stage

__all__ = ["shared_stage", "stage"]

settings.register_profile(
    "properties",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
