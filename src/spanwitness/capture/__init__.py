"""Where a span is born: decorators, steps, the provider transport, the content policy."""
