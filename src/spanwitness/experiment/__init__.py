"""Experiments on your own pipeline: degrade the evidence of a stage, repeat the runs of an item.

What was done is recorded on the spans, so that `spanwitness measure evidence` and `measure
stability` read the result from the traces.
"""

from spanwitness.experiment.interventions import CONDITIONS, Condition, Degraded, degrade
from spanwitness.experiment.repeat import RepeatedRun, repeat

__all__ = ["CONDITIONS", "Condition", "Degraded", "RepeatedRun", "degrade", "repeat"]
