"""The short road into the SDK: what it makes is what the SDK makes, and when it is not taken."""

from __future__ import annotations

import threading

import pytest
from opentelemetry import trace
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    DEFAULT_ON,
    ParentBased,
    Sampler,
    TraceIdRatioBased,
)
from opentelemetry.sdk.util import BoundedList
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags, TraceState

from spanwitness.capture import sdk_insides, spans

_LOCK = type(threading.Lock())


@pytest.fixture(autouse=True)
def _forgotten():
    yield
    spans.use_provider(None)


class Watching(SpanProcessor):
    """Looks at what a span starts with."""

    def __init__(self):
        self.seen = []

    def on_start(self, span, parent_context=None):
        self.seen.append(dict(span.attributes))


class Choosy(Sampler):
    """A sampler of the user's, which decides by attributes."""

    def __init__(self):
        self.seen = []

    def should_sample(self, parent_context, trace_id, name, kind=None, attributes=None, links=None):
        self.seen.append(dict(attributes or {}))
        return DEFAULT_ON.should_sample(parent_context, trace_id, name, kind, attributes, links)

    def get_description(self):
        return "Choosy"


def provider_of(sampler=None, processor=None, **kwargs):
    provider = TracerProvider(sampler=sampler, shutdown_on_exit=False, **kwargs)
    if processor is not None:
        provider.add_span_processor(processor)
    return provider


def plain(value):
    """Return what can be compared of a field of a span."""
    if isinstance(value, BoundedAttributes):
        return (dict(value), value.maxlen, value.max_value_len, value._immutable)
    if isinstance(value, BoundedList):
        return (list(value), value.dropped)
    if isinstance(value, _LOCK):
        return "lock"
    if isinstance(value, SpanContext):
        return (value.trace_id, value.is_remote, int(value.trace_flags), value.trace_state)
    return value


def test_a_child_is_made_as_the_sdk_makes_it():
    provider = provider_of(resource=Resource({"service.name": "s"}))
    tracer = provider.get_tracer("x", "1.0")
    with tracer.start_as_current_span("above"):
        context = sdk_insides.get_context()
        bare = sdk_insides.bare_type(tracer)
        theirs = tracer.start_span("n", context, SpanKind.CLIENT, None, None, 5)
        ours = sdk_insides.start_child(tracer, "n", SpanKind.CLIENT, context, 5)
    assert type(ours) is type(theirs) is bare
    assert {k: plain(v) for k, v in vars(ours).items()} == {
        k: plain(v) for k, v in vars(theirs).items()
    }
    assert ours.context.span_id != theirs.context.span_id
    assert sdk_insides._known.makes_children


@pytest.mark.parametrize("flags", [0, 1, 2, 3])
@pytest.mark.parametrize("is_remote", [False, True])
def test_flags_and_state_of_a_parent_are_inherited_as_by_the_sdk(flags, is_remote):
    state = TraceState([("a", "b")])
    above = SpanContext(1 << 100, 7, is_remote, TraceFlags(flags), state)
    tracer = provider_of().get_tracer("x")
    with trace.use_span(trace.NonRecordingSpan(above)):
        middle = tracer.start_span("middle")
        with trace.use_span(middle):
            context = sdk_insides.get_context()
            assert sdk_insides.bare_type(tracer) is not None
            theirs = tracer.start_span("n", context)
            ours = sdk_insides.start_child(tracer, "n", SpanKind.INTERNAL, context, 5)
    assert type(ours) is type(theirs)
    assert plain(ours.get_span_context()) == plain(theirs.get_span_context())


def test_a_sampler_and_a_processor_of_the_users_see_attributes_at_the_start():
    sampler, processor = Choosy(), Watching()
    for provider in (provider_of(sampler), provider_of(None, processor)):
        spans.use_provider(provider)
        spans.start("n", attributes={"gen_ai.tool.name": "t"}, state=None).end()
    nested = provider_of(ParentBased(sampler))
    spans.use_provider(nested)
    spans.start("n", attributes={"gen_ai.tool.name": "t"}, state=None).end()
    assert sampler.seen == [{"gen_ai.tool.name": "t"}] * 2
    assert processor.seen == [{"gen_ai.tool.name": "t"}]


def test_a_processor_that_is_added_later_sees_attributes_at_the_start():
    provider = provider_of()
    spans.use_provider(provider)
    spans.start("n", attributes={"a": 1}, state=None).end()
    assert sdk_insides.bare_type(provider.get_tracer("y")) is not None
    processor = Watching()
    provider.add_span_processor(processor)
    spans.start("n", attributes={"a": 2}, state=None).end()
    assert processor.seen == [{"a": 2}]


def test_a_start_span_that_somebody_replaced_is_called(monkeypatch):
    provider = provider_of()
    spans.use_provider(provider)
    spans.start("n", attributes={}, state=None).end()
    kind = type(provider.get_tracer("x"))
    inner, seen = kind.start_span, []

    def patched(self, name, *args, **kwargs):
        seen.append(name)
        return inner(self, name, *args, **kwargs)

    monkeypatch.setattr(kind, "start_span", patched)
    above = spans.start("above", attributes={}, state=None)
    before = above.enter()
    spans.start("below", attributes={}, state=None).end()
    above.leave(before)
    above.end()
    assert seen == ["above", "below"]


@pytest.mark.parametrize(
    ("sampler", "makes"),
    [
        (ALWAYS_ON, True),
        (DEFAULT_ON, True),
        (ALWAYS_OFF, False),
        (TraceIdRatioBased(0.5), False),
        (ParentBased(TraceIdRatioBased(0.0)), True),
        (ParentBased(ALWAYS_ON, local_parent_sampled=ALWAYS_OFF), False),
    ],
)
def test_only_a_sampler_that_takes_every_child_is_not_asked(sampler, makes):
    tracer = provider_of(sampler).get_tracer("x")
    assert sdk_insides.bare_type(tracer) is not None
    assert sdk_insides._known.makes_children is makes


def test_a_tracer_that_was_switched_off_makes_no_span():
    tracer = provider_of().get_tracer("x")
    with tracer.start_as_current_span("above"):
        context = sdk_insides.get_context()
        assert sdk_insides.bare_type(tracer) is not None
        tracer._tracer_config.is_enabled = False
        child = sdk_insides.start_child(tracer, "n", SpanKind.INTERNAL, context, 5)
    assert not child.is_recording()


@pytest.mark.parametrize(
    "limits",
    [SpanLimits(max_span_attribute_length=8), SpanLimits(max_span_attributes=2)],
)
def test_limits_of_the_users_are_applied_by_the_sdk(limits):
    processor = Watching()
    provider = provider_of(None, processor, span_limits=limits)
    tracer = provider.get_tracer("x")
    assert sdk_insides.bare_type(tracer) is None
    spans.use_provider(provider)
    spans.start("n", attributes={"a": "0123456789", "b": 1, "c": 2}, state=None).end()
    (seen,) = processor.seen
    assert len(seen) == 2 or seen["a"] == "01234567"


def test_values_that_the_sdk_would_change_are_changed_by_it():
    spans.use_provider(provider_of())
    handle = spans.start("n", attributes={"a": [1, 2], "b": {"c": [3]}}, state=None)
    assert dict(handle.otel.attributes) == {"a": (1, 2), "b": {"c": (3,)}}
    handle.end()


def test_the_current_context_is_the_one_that_the_api_says():
    fresh = Context({"k": 1})
    token = sdk_insides.attach(fresh)
    assert trace.context_api.get_current() is fresh
    assert sdk_insides.get_context() is fresh
    trace.context_api.detach(token)
