"""Spans at rest: reading stored traces and writing them."""

from __future__ import annotations

from spanwitness.archive.read import TraceReader, read_traces

__all__ = ["TraceReader", "read_traces"]
