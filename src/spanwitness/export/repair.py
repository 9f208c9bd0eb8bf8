"""Spans that every wire format can hold: lone surrogates and huge integers are replaced, and told.

A protobuf string must be valid UTF-8. OpenTelemetry's encoder drops an attribute that is not, and a
span *name* that is not makes the whole batch fail. So text is looked at first (ASCII text, nearly
all of it, costs a flag test) and only a span that needs it is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Link, Status

from spanwitness.capture.plain import clean
from spanwitness.semconv.spanwitness import REPAIRED

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue

__all__ = ["attributes_of", "repaired"]

_INT_MIN: Final = -(2**63)
_INT_MAX: Final = 2**63 - 1
_NO_ATTRIBUTES: Final[Mapping[str, object]] = {}


def attributes_of(owner: object) -> Mapping[str, object]:
    """Return the attributes of a span, event, link or resource, by the shortest way.

    The SDK wraps a bounded mapping in a proxy, and iterating that costs four times the dict inside.
    """
    held = getattr(owner, "_attributes", None)
    if held is None:
        held = getattr(owner, "attributes", None)
    inner = getattr(held, "_dict", None)
    if isinstance(inner, dict):
        return inner
    return held if isinstance(held, Mapping) else _NO_ATTRIBUTES


def repaired(span: ReadableSpan) -> ReadableSpan:
    """Return the span itself when it can be encoded, else a marked copy that can."""
    marks = [
        key for key, value in attributes_of(span).items() if not _fits(key) or not _fits(value)
    ]
    marks += ["name"] if not _fits(span.name) else []
    marks += ["status"] if not _fits(span.status.description) else []
    marks += ["events"] if not all(_fits_all(e, e.name) for e in span.events) else []
    marks += ["links"] if not all(_fits_all(link, "") for link in span.links) else []
    marks += ["resource"] if not _fits_all(span.resource, "") else []
    return _Repaired(span, marks) if marks else span


def _fits_all(owner: object, name: str) -> bool:
    return _fits(name) and all(_fits(k) and _fits(v) for k, v in attributes_of(owner).items())


def _fits(value: object) -> bool:
    if isinstance(value, str):
        return value.isascii() or _is_utf8(value)
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, int):
        return _INT_MIN <= value <= _INT_MAX
    if isinstance(value, Mapping):
        return all(isinstance(k, str) and _fits(k) and _fits(v) for k, v in value.items())
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return all(map(_fits, value))
    return isinstance(value, float | bytes)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _value(value: object) -> object:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if _INT_MIN <= value <= _INT_MAX else str(value)
    if isinstance(value, Mapping):
        return {clean(str(k)): _value(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return tuple(map(_value, value))
    return value if isinstance(value, float | bytes) else f"<{type(value).__name__}>"


def _mapping(owner: object) -> dict[str, AttributeValue]:
    return {clean(str(k)): _value(v) for k, v in attributes_of(owner).items()}  # type: ignore[misc]


class _Repaired(ReadableSpan):
    """A copy of a span in which every value can be encoded; drop counts are kept."""

    def __init__(self, span: ReadableSpan, marks: Sequence[str]) -> None:
        attributes = _mapping(span)
        attributes[REPAIRED] = tuple(map(clean, marks))
        super().__init__(
            name=clean(span.name),
            context=span.get_span_context(),
            parent=span.parent,
            resource=Resource(_mapping(span.resource), span.resource.schema_url),
            attributes=attributes,
            events=[Event(clean(e.name), _mapping(e), e.timestamp) for e in span.events],
            links=[Link(link.context, _mapping(link)) for link in span.links],
            kind=span.kind,
            status=Status(
                span.status.status_code,
                None if span.status.description is None else clean(span.status.description),
            ),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )
        self._drops = (span.dropped_attributes, span.dropped_events, span.dropped_links)

    @property
    def dropped_attributes(self) -> int:
        return self._drops[0]

    @property
    def dropped_events(self) -> int:
        return self._drops[1]

    @property
    def dropped_links(self) -> int:
        return self._drops[2]
