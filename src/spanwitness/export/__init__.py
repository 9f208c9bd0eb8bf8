"""Where spans leave the process: batching, OTLP senders, local files, process life cycle, loss counts."""
