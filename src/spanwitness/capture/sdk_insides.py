"""What we know of the SDK's insides, and how we find out whether it still holds.

The SDK cleans each attribute that a span starts with, at 2 us apiece: a tenth of what a traced call
may cost. Ours need no cleaning, so where nobody looks at them at the start they are put into its
dict right after it. Whoever may look, a sampler or a processor of the user's, finds them there at
the start. With an SDK whose insides have changed everything goes through its public methods.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry import context as otel_context
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext
from opentelemetry.trace.propagation import _SPAN_KEY

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.trace import Span, SpanKind, Tracer

__all__ = [
    "attach",
    "bare_type",
    "forget",
    "get_context",
    "held_attributes",
    "start_child",
    "with_span",
]

_MANY: Final = 64
_SAMPLERS: Final = "opentelemetry.sdk.trace.sampling"
_QUIET: Final = "ignores_start_attributes"
"""An attribute of our processors: they do not look at the attributes of a span that starts."""

get_context: Callable[[], Context] = otel_context.get_current
"""Returns the current OTel context."""
attach: Callable[[Context], object] = otel_context.attach
"""Makes an OTel context current."""
_runtime = getattr(otel_context, "_RUNTIME_CONTEXT", None)
if type(_runtime).__name__ == "ContextVarsRuntimeContext":
    # The variable itself: each of the two Python calls around it costs as much as it does.
    get_context = getattr(_runtime, "_current_context").get  # noqa: B009  private to its class
    attach = getattr(_runtime, "_current_context").set  # noqa: B009


class _Known(NamedTuple):
    """What was found about one tracer."""

    tracer: object = None
    processors: object = None
    """Those that it had then."""
    start_span: object = None
    """Its method then; others may put theirs in its place."""
    bare: type | None = None
    """Class of its spans, when they may start without attributes."""
    makes_children: bool = False
    """Its sampler takes every child of a local parent that was sampled, and its spans are made as
    `start_child` makes them."""


_known = _Known()


def held_attributes(otel: Span) -> dict[str, object] | None:
    """Return the dict in which the SDK keeps a span's attributes; `None`: it may not be used.

    Not with a cap on length or a low cap on count, which the SDK must apply, and not with an SDK
    whose insides have changed.
    """
    bounded = getattr(otel, "_attributes", None)
    if type(bounded) is not BoundedAttributes or bounded.max_value_len is not None:
        return None
    if bounded.maxlen is not None and bounded.maxlen < _MANY:
        return None
    held = bounded.__dict__.get("_dict")
    return held if type(held) is dict else None


def bare_type(tracer: Tracer) -> type | None:
    """Return the class of this tracer's spans if they may start without attributes, else `None`.

    A span of just this class keeps them in `_attributes._dict`, and is recorded.
    """
    known = _known
    if (
        tracer is known[0]
        and tracer.span_processor._span_processors is known[1]  # type: ignore[attr-defined]
        and type(tracer).start_span is known[2]
    ):
        return known[3]
    return _look_at(tracer)


def start_child(tracer: Tracer, name: str, kind: SpanKind, parent: Context, at: int) -> Span:
    """Start a span without attributes, of a tracer that has a `bare_type`.

    What `start_span` does, without asking a sampler whose answer is known: the SDK looks the parent
    up three times, which costs an eighth of a traced call.

    Args:
        tracer: Makes it.
        name: Its name.
        kind: Its kind.
        parent: The context with its parent.
        at: When it started, in nanoseconds since the epoch.
    """
    known = _known
    kind_made: Any = known[3]
    above: Any = parent.get(_SPAN_KEY)
    maker: Any = tracer
    # Another thread may have looked at another tracer meanwhile.
    if type(above) is kind_made and known[4] and known[0] is tracer:
        context = above._context
        trace_id, _, _, flags, state, is_valid = context
        if is_valid and flags in _TAKEN_FLAGS and maker._tracer_config.is_enabled:
            own = SpanContext(trace_id, maker.id_generator.generate_span_id(), False, flags, state)
            otel: Span = kind_made(
                name=name,
                context=own,
                parent=context,
                sampler=maker.sampler,
                resource=maker.resource,
                attributes=None,
                span_processor=maker.span_processor,
                kind=kind,
                links=(),
                instrumentation_info=maker.instrumentation_info,
                record_exception=True,
                set_status_on_exception=True,
                limits=maker._span_limits,
                instrumentation_scope=maker._instrumentation_scope,
                record_end_metrics=maker._tracer_metrics.start_span(context, _taken),
            )
            otel.start(at, parent)  # type: ignore[attr-defined]
            return otel
    return tracer.start_span(name, parent, kind, None, None, at)


_MADE_OF: Final = frozenset({
    "self", "name", "context", "parent", "sampler", "trace_config", "resource", "attributes",
    "events", "links", "kind", "span_processor", "instrumentation_info", "record_exception",
    "set_status_on_exception", "limits", "instrumentation_scope", "record_end_metrics",
})  # fmt: skip
"""Parameters of the SDK's span; with others, `start_child` does not make it."""
_TRACER_HAS: Final = (
    "_span_limits", "_instrumentation_scope", "_tracer_metrics", "_tracer_config", "id_generator",
    "instrumentation_info", "resource", "sampler",
)  # fmt: skip
_TAKEN_FLAGS: Final[tuple[int, ...]] = (1, 3)
"""Sampled; sampled, with a random trace id. With others `start_child` lets the SDK decide."""
_taken: object = None
"""The SDK's word for: recorded and sampled."""


def with_span(parent: Context, otel: Span) -> Context:
    """Return a context in which a span is current; `set_span_in_context` with one copy less."""
    return Context({**parent, _SPAN_KEY: otel})


def forget() -> None:
    """Forget the tracer that was looked at last."""
    global _known  # noqa: PLW0603
    _known = _Known()


def _look_at(tracer: Tracer) -> type | None:
    global _known, _taken  # noqa: PLW0603
    if type(tracer).__module__ != "opentelemetry.sdk.trace":
        return None
    from opentelemetry.sdk import trace as sdk
    from opentelemetry.sdk.trace.sampling import Decision

    combined = getattr(tracer, "span_processor", None)
    processors = getattr(combined, "_span_processors", None)
    kind = getattr(sdk, "_Span", None)
    if type(combined) is not sdk.SynchronousMultiSpanProcessor or type(processors) is not tuple:
        return None
    sampler = getattr(tracer, "sampler", None)
    start_span = type(tracer).start_span
    if not (
        isinstance(kind, type)
        and _ignores(sampler)
        and all(_is_quiet(processor) for processor in processors)
        and _may_hold(tracer)
    ):
        kind = None
    _taken = Decision.RECORD_AND_SAMPLE
    makes_children = (
        kind is not None
        and type(tracer) is sdk.Tracer
        and "start_span" not in vars(tracer)
        and getattr(start_span, "__module__", "") == sdk.__name__
        and not hasattr(start_span, "__wrapped__")
        and all(hasattr(tracer, name) for name in _TRACER_HAS)
        and hasattr(tracer._tracer_config, "is_enabled")
        and set(inspect.signature(sdk.Span.__init__).parameters) == _MADE_OF
        and _takes_children(sampler)
    )
    _known = _Known(tracer, processors, start_span, kind, makes_children)
    return kind


def _takes_children(sampler: object) -> bool:
    """Say whether a sampler of the SDK's takes each child of a local parent that was sampled."""
    from opentelemetry.sdk.trace.sampling import Decision, ParentBased, StaticSampler

    if isinstance(sampler, ParentBased):
        return _takes_children(getattr(sampler, "_local_parent_sampled", None))
    return (
        isinstance(sampler, StaticSampler)
        and getattr(sampler, "_decision", None) is Decision.RECORD_AND_SAMPLE
    )


def _ignores(sampler: object) -> bool:
    """Say whether a sampler, and all it delegates to, is of the SDK: none of those looks."""
    from opentelemetry.sdk.trace.sampling import Sampler

    if not isinstance(sampler, Sampler) or type(sampler).__module__ != _SAMPLERS:
        return False
    return all(_ignores(own) for own in vars(sampler).values() if isinstance(own, Sampler))


def _is_quiet(processor: object) -> bool:
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

    kind = type(processor)
    if getattr(kind, "on_start", None) is SpanProcessor.on_start:
        return "on_start" not in vars(processor)
    if kind in (BatchSpanProcessor, SimpleSpanProcessor):
        return True
    return getattr(processor, _QUIET, None) is True


def _may_hold(tracer: Tracer) -> bool:
    """Say whether the limits of a tracer's spans leave their attributes as they are."""
    limits = getattr(tracer, "_span_limits", None)
    if getattr(limits, "max_span_attribute_length", 0) is not None:
        return False
    most = getattr(limits, "max_span_attributes", 0)
    if most is not None and most < _MANY:
        return False
    probe = BoundedAttributes(most, {"a": 1}, immutable=False)
    return probe.__dict__.get("_dict") == {"a": 1}
