"""Agent tracing middleware with silent-failure detection."""
