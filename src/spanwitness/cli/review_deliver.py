"""`spanwitness review deliver`: messages to webhooks and backends, without a server."""

from __future__ import annotations

import json
from pathlib import Path  # noqa: TC003  typer evaluates the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from spanwitness.cli.review_options import Format, QueueUrl, login, opened
from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from spanwitness.review import Queue
    from spanwitness.review.store.values import Delivery


def deliver(
    *,
    queue: QueueUrl = None,
    outbound: Annotated[
        Path | None, typer.Option(help="File of webhooks and backends that get verdicts.")
    ] = None,
    undeliverable: Annotated[
        bool, typer.Option("--undeliverable", help="List what was given up, and deliver nothing.")
    ] = False,
    redeliver: Annotated[
        list[int] | None,
        typer.Option(metavar="ID", help="Send a given-up message again; may be repeated."),
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print.")] = Format.text,  # noqa: A002
) -> None:
    """Deliver what is due now, once; for cron, where no `serve --outbound` runs.

    Exit status: 1 when a message was given up, else 0.
    """
    with opened(queue) as held:
        if undeliverable:
            _print_undeliverable(held, format)
            return
        for number in redeliver or ():
            held.outbox.redeliver(number)
            held.record(login(), "redelivered", data={"delivery_id": number})
        if outbound is None:
            if redeliver:
                return
            raise SettingsError("deliver needs --outbound FILE: where messages go")
        raise typer.Exit(_deliver(held, outbound, format))


def _deliver(queue: Queue, path: Path, form: Format) -> int:
    import asyncio
    from dataclasses import asdict

    from spanwitness.review.outbound.deliverer import deliverer_of
    from spanwitness.review.outbound.settings import read_outbound

    deliverer = deliverer_of(queue, read_outbound(path))
    tally = asyncio.run(deliverer.run_once())
    if form is Format.json:
        print(json.dumps({**asdict(tally), "disabled": sorted(deliverer.disabled)}))
    else:
        print(
            f"{tally.delivered} delivered, {tally.retried} to be tried again, {tally.dead} given "
            f"up, {tally.passed_over} not wanted"
        )
        for name in sorted(deliverer.disabled):
            print(f"{name}: disabled, it answered 410; --redeliver its message to try again")
    return int(tally.dead > 0)


def _print_undeliverable(queue: Queue, form: Format) -> None:
    dead = queue.outbox.undeliverable(limit=1000)
    if form is Format.json:
        print(json.dumps([_row(each) for each in dead]))
        return
    for each in dead:
        print(
            f"{each.id}\t{each.destination}\t{each.topic}\titem {each.item_id}\t"
            f"{each.attempts} attempts\t{each.last_error or ''}"
        )
    if not dead:
        print("nothing was given up")


def _row(delivery: Delivery) -> dict[str, object]:
    return {
        "id": delivery.id,
        "message_id": delivery.message_id,
        "destination": delivery.destination,
        "topic": delivery.topic,
        "item_id": delivery.item_id,
        "attempts": delivery.attempts,
        "last_status": delivery.last_status,
        "last_error": delivery.last_error,
        "created_at": delivery.created_at.isoformat(),
    }
