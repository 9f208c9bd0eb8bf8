"""Where spans leave the process: batching, OTLP senders, local files, life cycle, losses."""
