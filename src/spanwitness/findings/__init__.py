"""Where a finding goes: span attributes and events, metrics, the log."""
