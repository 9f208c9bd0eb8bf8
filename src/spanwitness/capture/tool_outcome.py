"""How the result of a tool reads, and how it is written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanwitness.capture.marks import Mark
from spanwitness.capture.results import Outcome, is_empty, returned_error
from spanwitness.guard import guard
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.capture.content import Encoded
    from spanwitness.capture.spans import Attributes
    from spanwitness.capture.tool_span import ToolSpan
    from spanwitness.capture.traced_tool import TracedTool

__all__ = ["ARGUMENTS", "RESULT", "Classified", "classify", "put"]


class Classified(NamedTuple):
    """How a result reads."""

    outcome: Outcome
    error_text: str | None
    """Text of a returned error."""


def classify(
    tool: TracedTool,
    value: object,
    cache_before: Any,  # noqa: ANN401  functools has no public type
    *,
    is_cached: bool,
) -> Classified:
    """Say whether a result is a value, empty, from a cache, or an error that was returned."""
    options = tool.options
    text = returned_error(value)
    if text is None and options.error_when is not None and _says(options.error_when, value):
        text = value if type(value) is str else ""
    if text is not None:
        return Classified("error", text)
    if is_cached or (options.cached_when is not None and _says(options.cached_when, value)):
        return Classified("cached", None)
    if cache_before is not None and tool.cache_info is not None:
        after = tool.cache_info()
        if after.misses == cache_before.misses and after.hits > cache_before.hits:
            return Classified("cached", None)
    return Classified("empty" if is_empty(value) else "value", None)


def _says(predicate: Callable[[Any], bool], value: object) -> bool:
    """Ask the caller's predicate; one that raises says no, and is counted."""
    said = False
    with guard("capture.tool.predicate"):
        said = bool(predicate(value))
    return said


class Keys(NamedTuple):
    text: str
    digest: str
    chars: str


ARGUMENTS: Final = Keys(gen_ai.TOOL_CALL_ARGUMENTS, own.TOOL_ARGUMENTS_DIGEST, "")
RESULT: Final = Keys(gen_ai.TOOL_CALL_RESULT, own.TOOL_RESULT_DIGEST, own.TOOL_RESULT_CHARS)


def put(span: ToolSpan, into: Attributes, keys: Keys, encoded: Encoded) -> None:
    """Write a text, or its length and digest; remember what was done to it."""
    if encoded.text is not None:
        into[keys.text] = encoded.text
        if not (encoded.is_truncated or encoded.is_repaired):
            return
        span.marked = (*span.marked, Mark(keys.text, encoded))
    if keys.chars:
        into[keys.chars] = encoded.chars
    if encoded.digest:
        into[keys.digest] = encoded.digest
