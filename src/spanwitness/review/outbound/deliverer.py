"""Takes messages from the outbox to their destinations, and says what became of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Final

from spanwitness.guard import guard
from spanwitness.review.outbound.feedback import make_backend
from spanwitness.review.outbound.messages import (
    VERDICT_TOPICS,
    is_wanted,
    topics_of,
    verdict_of,
    webhook_data,
)
from spanwitness.review.outbound.retry import Answer, RetryPolicy
from spanwitness.review.outbound.webhook import Webhook
from spanwitness.review.store.queue import utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from spanwitness.review.outbound.feedback import Backend
    from spanwitness.review.outbound.settings import OutboundSettings
    from spanwitness.review.store.queue import Queue
    from spanwitness.review.store.values import Delivery

__all__ = ["Deliverer", "Destination", "Tally", "deliverer_of", "destinations_of"]

_GONE: Final = 410
_BATCH: Final = 20
_LOOK_AGAIN_S: Final = 30.0
_MAX_UNDELIVERABLE: Final = 10_000


@dataclass(slots=True)
class Tally:
    """How many attempts ended how."""

    delivered: int = 0
    retried: int = 0
    dead: int = 0
    passed_over: int = 0
    """Not wanted by the destination, such as below its severity."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.delivered + self.retried + self.dead + self.passed_over


class Destination:
    """Where messages go: a webhook, or a backend that takes verdicts.

    Args:
        target: One of the two.
        topics: What it is told of.
    """

    def __init__(self, target: Webhook | Backend, topics: Sequence[str]) -> None:
        self._target = target
        self.name = target.name
        self.topics = tuple(topics)

    @property
    def timeout_s(self) -> float:
        """Bound on one attempt."""
        return self._target.timeout_s

    async def send(self, delivery: Delivery, queue: Queue) -> Answer | None:
        """Try once; `None` = there is nothing to tell."""
        target = self._target
        if isinstance(target, Webhook):
            if not is_wanted(delivery, target.settings.min_severity):
                return None
            data = await asyncio.to_thread(
                webhook_data, delivery, queue, with_content=target.settings.content
            )
            return await target.send(delivery, data)
        verdict = await asyncio.to_thread(verdict_of, delivery, queue)
        return None if verdict is None else await target.send(verdict)


def destinations_of(settings: OutboundSettings) -> list[Destination]:
    """Make the destinations that the settings name.

    Raises:
        SettingsError: A URL, secret or topic cannot be used.
    """
    found = [Destination(Webhook(each), topics_of(each.topics)) for each in settings.webhooks]
    found += [Destination(make_backend(each), VERDICT_TOPICS) for each in settings.feedback]
    return found


class Deliverer:
    """Delivers what is due, each destination by itself, in the order of its messages.

    A message is delivered at least once: a deliverer that dies between the answer and the note of
    it sends it again, under the same id. A destination that answers 410 is called no more until the
    message it refused is sent again by hand (`redeliver`).

    Args:
        queue: Whose outbox it is.
        destinations: Where messages go.
        policy: When they are tried again.
        now: The clock of the queue.
    """

    def __init__(
        self,
        queue: Queue,
        destinations: Sequence[Destination],
        *,
        policy: RetryPolicy | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._queue = queue
        self._destinations = tuple(destinations)
        self._policy = policy or RetryPolicy()
        self._now = now
        self._gone: set[str] = set()
        self._looked_at: float | None = None
        self.totals = Tally()
        """Since it was made."""

    @property
    def disabled(self) -> frozenset[str]:
        """Destinations that do not want any more."""
        return frozenset(self._gone)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all destinations."""
        return tuple(each.name for each in self._destinations)

    def backlog_s(self) -> dict[str, float]:
        """Return how long the message that is due longest has waited, by destination."""
        found: dict[str, float] = {}
        for name in self.names:
            due = self._queue.outbox.next_due(name)
            waited_s = 0.0 if due is None else (self._now() - due).total_seconds()
            found[name] = max(0.0, waited_s)
        return found

    async def run_once(self) -> Tally:
        """Try everything that is due now; return what became of it."""
        await self._look_for_gone()
        tally = Tally()
        async with asyncio.TaskGroup() as group:
            for destination in self._destinations:
                if destination.name not in self._gone:
                    group.create_task(self._serve(destination, tally))
        for name in Tally.__slots__:
            setattr(self.totals, name, getattr(self.totals, name) + getattr(tally, name))
        return tally

    async def run(self, stop: asyncio.Event, *, every_s: float = 2.0) -> None:
        """Deliver until told to stop.

        Args:
            stop: Set it to end; an attempt in progress is finished.
            every_s: Pause between looks at the outbox.
        """
        while not stop.is_set():
            with guard("review.deliver"):
                await self.run_once()
            try:
                async with asyncio.timeout(every_s):
                    await stop.wait()
            except TimeoutError:
                continue

    async def _look_for_gone(self) -> None:
        """Read which destinations are called no more: another process may have changed that."""
        now = monotonic()
        if self._looked_at is not None and now - self._looked_at < _LOOK_AGAIN_S:
            return
        dead = await asyncio.to_thread(self._queue.outbox.undeliverable, limit=_MAX_UNDELIVERABLE)
        self._gone = {each.destination for each in dead if each.last_status == _GONE}
        self._looked_at = now

    async def _serve(self, destination: Destination, tally: Tally) -> None:
        # Whoever else delivers may take what is not settled in this time.
        lease_s = _BATCH * destination.timeout_s + 30.0
        while destination.name not in self._gone:
            taken = await asyncio.to_thread(
                self._queue.outbox.take,
                destination.name,
                limit=_BATCH,
                lease_s=lease_s,
                topics=destination.topics,
            )
            for place, delivery in enumerate(taken):
                answer: Answer | None = Answer(word="retry", error="internal error")
                with guard("review.deliver.send"):
                    answer = await destination.send(delivery, self._queue)
                await asyncio.to_thread(self._settle, delivery, answer, tally)
                if answer is not None and answer.word == "gone":
                    self._gone.add(destination.name)
                    for left in taken[place + 1 :]:
                        await asyncio.to_thread(self._give_back, left)
                    break
            if len(taken) < _BATCH:
                return

    def _settle(self, delivery: Delivery, answer: Answer | None, tally: Tally) -> None:
        outbox = self._queue.outbox
        if answer is None:
            outbox.settle(delivery.id, "delivered")
            tally.passed_over += 1
            return
        if answer.word == "delivered":
            outbox.settle(delivery.id, "delivered", status=answer.status)
            tally.delivered += 1
            return
        now = self._now()
        next_at = self._policy.next_at(answer, attempts=delivery.attempts, now=now)
        if next_at is None:
            outbox.settle(delivery.id, "dead", status=answer.status, error=answer.error)
            tally.dead += 1
        else:
            outbox.settle(
                delivery.id, "retry", next_at=next_at, status=answer.status, error=answer.error
            )
            tally.retried += 1

    def _give_back(self, delivery: Delivery) -> None:
        """Leave a message that was taken and not tried for the time when it is wanted again."""
        self._queue.outbox.settle(
            delivery.id,
            "retry",
            next_at=self._now(),
            status=delivery.last_status,
            error="the destination answered 410 to another message",
        )


def deliverer_of(queue: Queue, outbound: OutboundSettings) -> Deliverer:
    """Make what takes the messages of a queue to the destinations of a file.

    Raises:
        SettingsError: A destination cannot be used.
    """
    policy = RetryPolicy(**outbound.retry.model_dump())
    return Deliverer(queue, destinations_of(outbound), policy=policy)
