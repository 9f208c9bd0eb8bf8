"""The contract language: what is expected of a run."""
