"""Spans at rest: reading and writing OTLP JSON."""
