"""From a message of the outbox to what a destination is told."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from spanwitness.errors import SettingsError, UnknownItemError
from spanwitness.model.verdict import SEVERITIES
from spanwitness.review.outbound.verdict import HumanVerdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spanwitness.model.verdict import Severity
    from spanwitness.review.store.queue import Queue
    from spanwitness.review.store.values import Delivery, Event, ItemDetail

__all__ = ["TOPICS", "VERDICT_TOPICS", "is_wanted", "topics_of", "verdict_of", "webhook_data"]

TOPICS: Final = (
    "item.opened", "item.reopened", "item.regressed", "item.resolved", "item.undone",
)  # fmt: skip
VERDICT_TOPICS: Final = ("item.resolved", "item.undone")
"""Those that tell of a verdict, or that one was taken back."""
_LATEST: Final = 3


def topics_of(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the topics that globs name.

    Raises:
        SettingsError: One of them names none.
    """
    wanted: set[str] = set()
    for pattern in patterns:
        found = {topic for topic in TOPICS if fnmatchcase(topic, pattern)}
        if not found:
            raise SettingsError(f"topic {pattern!r} is none of {', '.join(TOPICS)}")
        wanted |= found
    return tuple(topic for topic in TOPICS if topic in wanted)


def is_wanted(delivery: Delivery, threshold: Severity) -> bool:
    """Say whether a message is about an item at or above a severity."""
    severity = delivery.payload.get("severity")
    wanted = SEVERITIES[SEVERITIES.index(threshold) :]
    return severity not in SEVERITIES or severity in wanted


def webhook_data(delivery: Delivery, queue: Queue, *, with_content: bool) -> Mapping[str, object]:
    """Return what a webhook says: the payload, and content only where it was asked for.

    Args:
        delivery: The message.
        queue: Where the item is looked up for its content.
        with_content: Add the reason and the latest evidence of the item.
    """
    if not with_content or delivery.item_id is None:
        return delivery.payload
    try:
        detail = queue.item(delivery.item_id)
    except UnknownItemError:  # pruned since
        return delivery.payload
    evidence = [
        {"trace_id": found.trace_id, "reason": found.reason, "evidence": found.evidence}
        for found in detail.findings[:_LATEST]
    ]
    return {**delivery.payload, "reason": detail.item.reason, "findings": evidence}


def verdict_of(delivery: Delivery, queue: Queue) -> HumanVerdict | None:
    """Return the verdict that a message tells of; `None` = there is none to tell any more.

    The message names the moment, and the item's history what was said then; so a message that is
    delivered late tells its own verdict and not a later one.
    """
    if delivery.item_id is None:
        return None
    try:
        detail = queue.item(delivery.item_id)
    except UnknownItemError:
        return None
    moment = delivery.payload.get("at")
    told = next((e for e in detail.events if e.at.isoformat() == moment and _is_act(e)), None)
    if told is None:
        return None
    if told.action == "verdict":
        return _verdict(detail, told, queue, is_withdrawn=False)
    before = [e for e in detail.events if e.id < told.id and e.action == "verdict"]
    if not before or told.note not in (None, "verdict"):
        return None
    taken_back = before[-1]
    still = [e for e in before[:-1] if _trace_of(e) == _trace_of(taken_back)]
    is_kept = detail.item.verdict is not None and bool(still)
    return _verdict(detail, still[-1] if is_kept else taken_back, queue, is_withdrawn=not is_kept)


def _is_act(event: Event) -> bool:
    return event.action in ("verdict", "undone")


def _trace_of(event: Event) -> object:
    return (event.data or {}).get("trace_id")


def _verdict(
    detail: ItemDetail, event: Event, queue: Queue, *, is_withdrawn: bool
) -> HumanVerdict | None:
    data = event.data or {}
    trace_id = str(data.get("trace_id") or "")
    run_id = next((f.run_id for f in detail.findings if f.trace_id == trace_id), None)
    if run_id is None:
        run_id = next((s.run_id for s in detail.item.samples if s.trace_id == trace_id), "")
    run = queue.run(trace_id, run_id)
    version = data.get("rule_version")
    item = detail.item
    return HumanVerdict(
        item_id=item.id,
        fingerprint=item.fingerprint,
        rule=item.rule,
        rule_version=version if isinstance(version, int) else item.rule_version,
        word=None if is_withdrawn else data.get("verdict"),  # type: ignore[arg-type]
        by=event.actor,
        at=event.at,
        reason=event.note,
        fault=str(data["fault"]) if data.get("fault") else item.fault,
        kind=str(data["kind"]) if data.get("kind") else item.kind,
        trace_id=trace_id,
        run_id=run_id,
        root_span_id=run.root_span_id if run is not None else "",
        service=item.service,
        agent=item.agent,
    )
