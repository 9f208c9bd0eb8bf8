"""What we know of the SDK's insides, and how we find out whether it still holds.

The SDK cleans each attribute that a span starts with, at 2 us apiece: a tenth of what a traced call
may cost. Ours need no cleaning, so where nobody looks at them at the start they are put into its
dict right after it. Whoever may look, a sampler or a processor of the user's, finds them there at
the start. With an SDK whose insides have changed everything goes through its public methods.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from opentelemetry import context as otel_context
from opentelemetry.attributes import BoundedAttributes

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

__all__ = ["attach", "bare_type", "forget", "get_context", "held_attributes"]

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

_known: tuple[object, object, type | None] = (None, None, None)
"""The tracer that was looked at last, its processors then, and what was found."""


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
    known_tracer, processors, kind = _known
    if tracer is known_tracer and tracer.span_processor._span_processors is processors:  # type: ignore[attr-defined]
        return kind
    return _look_at(tracer)


def forget() -> None:
    """Forget the tracer that was looked at last."""
    global _known  # noqa: PLW0603
    _known = (None, None, None)


def _look_at(tracer: Tracer) -> type | None:
    global _known  # noqa: PLW0603
    if type(tracer).__module__ != "opentelemetry.sdk.trace":
        return None
    from opentelemetry.sdk import trace as sdk

    combined = getattr(tracer, "span_processor", None)
    processors = getattr(combined, "_span_processors", None)
    if type(combined) is not sdk.SynchronousMultiSpanProcessor or type(processors) is not tuple:
        return None
    kind = getattr(sdk, "_Span", None)
    is_bare = (
        isinstance(kind, type)
        and _ignores(getattr(tracer, "sampler", None))
        and all(_is_quiet(processor) for processor in processors)
        and _may_hold(tracer)
    )
    found = kind if is_bare else None
    _known = (tracer, processors, found)
    return found


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
