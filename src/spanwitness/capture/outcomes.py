"""Ground truth that arrives later, perhaps in another process, joined by item or run."""

from __future__ import annotations

from opentelemetry.context import Context

from spanwitness.capture import spans
from spanwitness.errors import SettingsError
from spanwitness.guard import guard
from spanwitness.semconv import spanwitness as own

__all__ = ["record_outcome"]

_SPAN_NAME = "spanwitness.outcome"


def record_outcome(
    *,
    success: bool,
    item_id: str | None = None,
    run_id: str | None = None,
    checkpoint: str = "final",
) -> None:
    """Record whether an answer was right, once it is known; days later is fine.

    A span of its own trace is sent, which readers join with the run by `run_id`, or with all runs
    of the item by `item_id`.

    Args:
        success: Whether it was right.
        item_id: The item of work, as given to `run`.
        run_id: The run, as `run.id` gave it.
        checkpoint: At which point: `final`, `after_review`, ...; low cardinality.

    Raises:
        SettingsError: Neither id is given, or `success` is no bool.
    """
    if item_id is None and run_id is None:
        raise SettingsError("record_outcome needs item_id or run_id")
    if type(success) is not bool:
        raise SettingsError(f"record_outcome: success must be True or False, not {success!r}")
    if not spans.is_on:
        return
    with guard("capture.outcomes"):
        attributes: spans.Attributes = {
            own.OUTCOME_CHECKPOINT: checkpoint,
            own.OUTCOME_SUCCESS: success,
        }
        if item_id is not None:
            attributes[own.ITEM_ID] = item_id
        if run_id is not None:
            attributes[own.RUN_ID] = run_id
        spans.start(
            _SPAN_NAME, attributes=spans.cleaned(attributes), state=None, parent=Context()
        ).end()
