"""A server that takes OTLP, judges the runs in it and keeps the review queue."""
