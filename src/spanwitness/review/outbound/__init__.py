"""What leaves the queue: webhooks to others, verdicts back to where the traces are."""
