"""The shape of OTLP/JSON trace requests, as far as spans need it, for typed decoding.

Unknown fields are skipped without making objects. `Raw` leaves a part undecoded: it is only moved.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw

from spanwitness.archive.any_value import KeyValue  # noqa: TC001  msgspec reads the annotations


class Status(msgspec.Struct, frozen=True, gc=False):
    """Status of a span."""

    code: int | str = 0
    message: str = ""


class Event(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An event of a span."""

    name: str = ""
    time_unix_nano: int = 0
    attributes: list[KeyValue] = []


class Span(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A span."""

    trace_id: str
    span_id: str
    parent_span_id: str | None = None
    name: str = ""
    start_time_unix_nano: int = 0
    end_time_unix_nano: int = 0
    attributes: list[KeyValue] = []
    events: list[Event] = []
    status: Status | None = None
    dropped_attributes_count: int = 0


class Scope(msgspec.Struct, frozen=True, gc=False):
    """Instrumentation scope."""

    name: str = ""


class Resource(msgspec.Struct, frozen=True, gc=False):
    """Resource."""

    attributes: list[KeyValue] = []


class ScopeSpans(msgspec.Struct, frozen=True, gc=False):
    """Spans of one scope."""

    scope: Scope | None = None
    instrumentation_library: Scope | None = msgspec.field(
        default=None, name="instrumentationLibrary"
    )
    spans: list[Span] = []


class ResourceSpans(msgspec.Struct, frozen=True, gc=False):
    """Spans of one resource."""

    resource: Resource | None = None
    scope_spans: list[ScopeSpans] = msgspec.field(default_factory=list, name="scopeSpans")
    library_spans: list[ScopeSpans] = msgspec.field(
        default_factory=list, name="instrumentationLibrarySpans"
    )
    """What the field was called before 2022."""


class Request(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An `ExportTraceServiceRequest`; logs, metrics and lines of findings are only noticed."""

    resource_spans: list[ResourceSpans] | None = None
    resource_logs: Raw = Raw(b"")
    resource_metrics: Raw = Raw(b"")
    schema: Raw = Raw(b"")


class RawScopeSpans(msgspec.Struct, frozen=True, gc=False):
    """Spans of one scope, undecoded."""

    scope: Raw = Raw(b"")
    instrumentation_library: Raw = msgspec.field(default=Raw(b""), name="instrumentationLibrary")
    spans: list[Raw] = []


class RawResourceSpans(msgspec.Struct, frozen=True, gc=False):
    """Spans of one resource, undecoded."""

    resource: Raw = Raw(b"")
    scope_spans: list[RawScopeSpans] = msgspec.field(default_factory=list, name="scopeSpans")
    library_spans: list[RawScopeSpans] = msgspec.field(
        default_factory=list, name="instrumentationLibrarySpans"
    )


class RawRequest(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An `ExportTraceServiceRequest` with its spans undecoded."""

    resource_spans: list[RawResourceSpans] = []
