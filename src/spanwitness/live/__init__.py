"""Capture, rules and findings joined in one process."""
