"""What one `spanwitness serve` process holds together, and its beginning and end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spanwitness.guard import guard
from spanwitness.serve.counters import Counters
from spanwitness.serve.forward import Forwarder, VerdictSpanSink
from spanwitness.serve.grpc_receiver import GrpcReceiver
from spanwitness.serve.holder import HoldLimits, TraceHolder
from spanwitness.serve.intake import Intake
from spanwitness.serve.judge import Judge
from spanwitness.serve.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from spanwitness.contracts.model import Contract
    from spanwitness.export.destination import ExportSettings
    from spanwitness.findings.accepted import Accepted
    from spanwitness.serve.judge import RunSink

__all__ = ["ServeSettings", "Service"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ServeSettings:
    """What a server is to do, as plain values."""

    limits: HoldLimits = field(default_factory=HoldLimits)
    spool: Path | None = None
    """Folder where requests are written before they are answered; `None` = memory only."""
    forward: ExportSettings | None = None
    """Where received spans go besides; `endpoint` is the full URL of the traces signal."""
    host: str = "127.0.0.1"
    grpc_port: int | None = None
    """`None` = no gRPC; 0 = a free one."""


class Service:
    """Receives spans, holds them, judges their runs and tells the sinks.

    Args:
        settings: What to do.
        contracts: Contracts that runs are judged by, beside the rules.
        accepted: Marks findings that do not count; `None` = all do.
        sinks: Told of every judged run.
        may_send: Asked with a request's `authorization`; `None` = everybody may send spans.

    Raises:
        SettingsError: The spool, the endpoint or the port cannot be used.
    """

    def __init__(
        self,
        settings: ServeSettings,
        *,
        contracts: Sequence[Contract] = (),
        accepted: Accepted | None = None,
        sinks: Sequence[RunSink] = (),
        may_send: Callable[[str | None], bool] | None = None,
    ) -> None:
        self.counters = Counters()
        self.holder = TraceHolder(settings.limits)
        self.spool = None if settings.spool is None else Spool(settings.spool)
        self.forwarder = None if settings.forward is None else Forwarder(settings.forward)
        self.intake = Intake(
            self.holder, spool=self.spool, relay=self.forwarder, counters=self.counters
        )
        told = list(sinks)
        if self.forwarder is not None:
            told.append(VerdictSpanSink(self.forwarder))
        self.judge = Judge(
            self.holder,
            contracts=contracts,
            accepted=accepted,
            sinks=told,
            counters=self.counters,
            spool=self.spool,
        )
        self.may_send = may_send
        self.grpc = (
            None
            if settings.grpc_port is None
            else GrpcReceiver(
                self.intake, host=settings.host, port=settings.grpc_port, is_allowed=may_send
            )
        )
        self.n_replayed = 0
        """Requests found in the spool when it started."""

    def start(self) -> None:
        """Read what an earlier process left, then take and judge spans."""
        if self.spool is not None:
            self.n_replayed = self.spool.replay(self.intake.replay)
        if self.forwarder is not None:
            self.forwarder.start()
        self.judge.start()
        if self.grpc is not None:
            self.grpc.start()

    def stop(self, timeout_s: float = 10.0) -> None:
        """Refuse new spans, judge what is held, and send what waits to be forwarded.

        Args:
            timeout_s: For what is to be forwarded; the judging takes what it takes.
        """
        self.intake.close()
        if self.grpc is not None:
            with guard("serve.stop"):
                self.grpc.stop()
        with guard("serve.stop"):
            self.judge.stop()
        if self.forwarder is not None:
            with guard("serve.stop"):
                self.forwarder.stop(timeout_s)
        if self.spool is not None:
            self.spool.close()
