"""Starting to witness a process, once."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from spanwitness import settings as environment
from spanwitness.errors import SettingsError
from spanwitness.live.exporting import (
    AgenticOnly,
    ExporterSender,
    make_meters,
    read_export_settings,
)
from spanwitness.live.outlet import processors_of
from spanwitness.semconv import gen_ai

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.sdk.trace.sampling import Sampler

    from spanwitness.capture.content import ContentPolicy
    from spanwitness.contracts.model import Contract
    from spanwitness.export.destination import ExportSettings
    from spanwitness.export.losses import Losses
    from spanwitness.export.parcel import Sender
    from spanwitness.export.processor import ExportProcessor
    from spanwitness.findings.judged import Sink
    from spanwitness.live.detector import Detector
    from spanwitness.live.witness import Witness
    from spanwitness.settings import ContentWord, Settings

__all__ = ["configure"]

_lock = threading.Lock()
_current: tuple[_Wishes, Witness] | None = None


@dataclass(frozen=True, kw_only=True)
class _Wishes:
    """The arguments of `configure`, to be compared with those of another call."""

    service_name: str | None
    contracts: tuple[Contract | Path | str, ...]
    content: ContentWord | ContentPolicy | None
    endpoint: str | None
    protocol: str | None
    headers: Mapping[str, str] | None = field(repr=False)
    exporter: SpanExporter | None
    provider: TracerProvider | None
    set_global: bool
    sampler: Sampler | None
    meter_provider: MeterProvider | None
    sinks: tuple[Sink, ...]
    queue: str | None = field(repr=False)
    sigterm: bool
    state_dir: Path | None
    grace_s: float
    step_group: str | None

    def differing(self, other: _Wishes) -> list[str]:
        return [name for name, value in vars(self).items() if vars(other)[name] != value]


def configure(  # noqa: PLR0913  one keyword per thing that can be chosen
    service_name: str | None = None,
    *,
    contracts: Sequence[Contract | Path | str] = (),
    content: ContentWord | ContentPolicy | None = None,
    endpoint: str | None = None,
    protocol: str | None = None,
    headers: Mapping[str, str] | None = None,
    exporter: SpanExporter | None = None,
    provider: TracerProvider | None = None,
    set_global: bool = False,
    sampler: Sampler | None = None,
    meter_provider: MeterProvider | None = None,
    sinks: Iterable[Sink] = (),
    queue: str | None = None,
    sigterm: bool = False,
    state_dir: Path | str | None = None,
    grace_s: float = 2.0,
    step_group: str | None = None,
) -> Witness:
    """Start to witness the agents of this process.

    An existing global tracer provider is never replaced: a detector is attached to it, and an
    exporter only if one is asked for here (it then sends the spans of agents, models and tools and
    no others). Without one, spanwitness makes a provider of its own that the rest of the
    application does not see. Spans then go to `endpoint`, else to where `OTEL_EXPORTER_OTLP_*`
    says, else to files below `state_dir`, beside a file of findings.

    A second call with the same arguments changes nothing and returns the same object; with other
    arguments it is an error, unless the first one was shut down.

    Args:
        service_name: The application's `service.name`; `None` = as `OTEL_SERVICE_NAME` or
            `OTEL_RESOURCE_ATTRIBUTES` say. It has no effect on a provider that exists.
        contracts: Contracts, paths of contract files, or ready-made packs (`pack:NAME`).
        content: `"on"`, `"off"`, `"digests"` or a policy; `None` = as the environment says, else
            `"on"` with credentials redacted.
        endpoint: URL of an OTLP receiver, with or without the path of the traces signal.
        protocol: `"http/protobuf"`, `"http/json"` or `"grpc"`; `None` = as the environment says,
            else `grpc` for port 4317 and `http/protobuf` for others.
        headers: Sent with each request to the endpoint. Never logged.
        exporter: An exporter of your own in place of ours; batching, bounds and loss counts stay.
        provider: Attach to this tracer provider instead of the global one.
        set_global: Make a provider made here the global one. An error when there is one already.
        sampler: For a provider made here; `None` = as `OTEL_TRACES_SAMPLER` says.
        meter_provider: Where findings are counted; `None` = the global one if there is one, else
            one that exports to the endpoint.
        sinks: Further takers of judged runs.
        queue: Address of a review queue that judged runs go into, `sqlite:///PATH` or
            `postgresql://…`; it needs the extra `review`. `None` = none.
        sigterm: Also flush on SIGTERM (installs a signal handler that calls the one before it).
        state_dir: Folder for local files; `None` = `SPANWITNESS_STATE_DIR`, else the user's state
            folder.
        grace_s: Seconds to wait for open spans below another instrumentation's agent that ended.
        step_group: What the running counts of steps are grouped by: `condition`, `inputs`, `agent`,
            `workflow`, `service`, ... or `tag:NAME`; `None` = no groups. Few different values.

    Returns:
        What flushes, shuts down and tells of losses.

    Raises:
        SettingsError: An argument or a variable cannot be used, or arguments contradict each other.
        RuleError: A contract cannot be read.
    """
    global _current  # noqa: PLW0603
    wishes = _Wishes(
        service_name=service_name,
        contracts=_listed(contracts),
        content=content,
        endpoint=endpoint,
        protocol=protocol,
        headers=dict(headers) if headers is not None else None,
        exporter=exporter,
        provider=provider,
        set_global=set_global,
        sampler=sampler,
        meter_provider=meter_provider,
        sinks=tuple(sinks),
        queue=queue,
        sigterm=sigterm,
        state_dir=Path(state_dir) if state_dir is not None else None,
        grace_s=grace_s,
        step_group=step_group,
    )
    with _lock:
        if _current is not None and not _current[1].is_shut_down:
            differing = _current[0].differing(wishes)
            if differing:
                raise SettingsError(
                    f"configure() was called before with another {', '.join(differing)}: call it"
                    " once in a process, or call shutdown() on what it returned first"
                )
            return _current[1]
        witness = _start(wishes, environment.read())
        _current = (wishes, witness)
        return witness


def _listed(contracts: Sequence[Contract | Path | str]) -> tuple[Contract | Path | str, ...]:
    if isinstance(contracts, str | Path):
        raise SettingsError(f"contracts={contracts!r}: give a list, [{str(contracts)!r}]")
    return tuple(str(c) if isinstance(c, Path) else c for c in contracts)


def _start(wishes: _Wishes, settings: Settings) -> Witness:
    from opentelemetry import trace

    from spanwitness.capture import defaults, spans
    from spanwitness.export.losses import Losses
    from spanwitness.findings.file import FileSink
    from spanwitness.findings.step_counts import check_group
    from spanwitness.live.contracts import load_all
    from spanwitness.live.detector import Detector
    from spanwitness.live.witness import Witness

    # Everything that can be refused comes first: a call that fails has changed nothing.
    policy = _policy(wishes.content, settings)
    contracts = load_all(wishes.contracts)
    check_group(wishes.step_group)
    existing = _existing_provider(wishes)
    sinks = wishes.sinks
    if wishes.queue is not None:
        from spanwitness.review.sink import QueueSink

        sinks = (*sinks, QueueSink(wishes.queue, content=policy))
    if settings.is_disabled:
        spans.set_enabled(False)
        return Witness(provider=None, detector=None)
    losses = Losses()
    way = _way_out(wishes, settings, losses, is_attached=existing is not None)
    provider = existing if existing is not None else _make_provider(wishes)
    meters = make_meters(
        wishes.meter_provider, settings, way.settings, provider.resource, endpoint=wishes.endpoint
    )
    detector = Detector(
        contracts,
        sinks=sinks,
        grace_s=wishes.grace_s,
        step_group=wishes.step_group,
        meter_provider=None if meters is None else meters.provider,
        losses=losses,
    )
    if way.directory is not None:
        detector.outlet.inline.append(FileSink(way.directory.parent))
    _attach(provider, detector, way, is_ours=existing is None)
    spans.use_provider(provider)
    defaults.use(policy=policy, agent=wishes.service_name)
    if wishes.set_global:
        trace.set_tracer_provider(provider)
    witness = Witness(
        provider=provider,
        detector=detector,
        losses=losses,
        processor=way.processor,
        meters=meters,
        trace_dir=way.directory,
        is_provider_ours=existing is None,
    )
    witness.install(sigterm=wishes.sigterm)
    return witness


def _policy(content: ContentWord | ContentPolicy | None, settings: Settings) -> ContentPolicy:
    from spanwitness.capture.content import ContentPolicy

    if isinstance(content, ContentPolicy):
        return content
    word = content if content is not None else settings.content
    return ContentPolicy() if word is None else ContentPolicy(mode=word)


def _existing_provider(wishes: _Wishes) -> TracerProvider | None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider

    if wishes.provider is not None:
        if not hasattr(wishes.provider, "add_span_processor"):
            raise SettingsError(
                f"provider={wishes.provider!r} takes no span processors: give an SDK TracerProvider"
            )
        existing = wishes.provider
    else:
        found = trace.get_tracer_provider()
        if not isinstance(found, TracerProvider):
            return None
        existing = found
    for name in ("set_global", "sampler"):
        if getattr(wishes, name):
            raise SettingsError(
                f"{name}={getattr(wishes, name)!r} is for a tracer provider that spanwitness makes,"
                " and there is one already: leave it out"
            )
    return existing


def _make_provider(wishes: _Wishes) -> TracerProvider:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    named = {} if wishes.service_name is None else {gen_ai.SERVICE_NAME: wishes.service_name}
    # The process's end is handled by our own exit hook, which ends open spans first.
    return TracerProvider(
        sampler=wishes.sampler, resource=Resource.create(named), shutdown_on_exit=False
    )


@dataclass(frozen=True, kw_only=True)
class _WayOut:
    """How spans leave; all `None` when they leave by somebody else's exporter, or not at all."""

    settings: ExportSettings | None = None
    processor: ExportProcessor | None = None
    directory: Path | None = None
    """Folder of local trace files."""


def _way_out(wishes: _Wishes, settings: Settings, losses: Losses, *, is_attached: bool) -> _WayOut:
    from spanwitness.export.processor import ExportProcessor
    from spanwitness.export.senders import make_sender

    if wishes.exporter is not None and wishes.endpoint is not None:
        raise SettingsError("give an exporter or an endpoint, not both")
    is_wanted = wishes.endpoint is not None or wishes.exporter is not None
    if not is_wanted and (is_attached or settings.traces_exporter == "none"):
        return _WayOut()
    export = read_export_settings(
        settings,
        endpoint=wishes.endpoint,
        protocol=wishes.protocol,
        headers=wishes.headers,
        directory=(wishes.state_dir or settings.state_dir) / "traces",
    )
    given = wishes.exporter
    sender: Sender = make_sender(export) if given is None else ExporterSender(given)
    is_local = wishes.exporter is None and export.endpoint is None
    return _WayOut(
        settings=export,
        processor=ExportProcessor(sender, losses, export),
        directory=export.directory if is_local else None,
    )


def _attach(provider: TracerProvider, detector: Detector, way: _WayOut, *, is_ours: bool) -> None:
    # The detector goes first, so that its last verdict spans find the export still open.
    provider.add_span_processor(detector)
    processors = processors_of(provider)
    if processors is not None:
        detector.outlet.bind(processors, provider.resource)
    if way.processor is not None:
        provider.add_span_processor(way.processor if is_ours else AgenticOnly(way.processor))
