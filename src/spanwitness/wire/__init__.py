"""Provider JSON and SSE to model values: pure functions, one file a wire format."""
