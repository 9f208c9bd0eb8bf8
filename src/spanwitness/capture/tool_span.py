"""The span of one call of a decorated tool: its result, or how it failed.

The road of every traced call, so it takes few Python calls: each costs a percent of a plain
OpenTelemetry span.
"""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Final

from spanwitness.capture import open_spans, spans
from spanwitness.capture.board import SMALL, OpenCall
from spanwitness.capture.content import (
    Encoded,
    digest_content,
    encode,
    encode_large,
    encode_small,
    encode_text,
    exception_text,
)
from spanwitness.capture.context import NO_CLAIM, CallClaim
from spanwitness.capture.error_text import encode_error
from spanwitness.capture.marks import Mark, marks
from spanwitness.capture.results import Outcome, hold, is_cancel, is_plain_value
from spanwitness.capture.sdk_insides import attach, get_context
from spanwitness.capture.tool_outcome import RESULT, Classified, classify, put
from spanwitness.capture.tool_wrappers import MAX_ITEMS
from spanwitness.guard import guard
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from spanwitness.capture.content import ContentPolicy
    from spanwitness.capture.spans import Attributes
    from spanwitness.capture.traced_tool import TracedTool

__all__ = ["ToolSpan"]

_ERROR_CHARS: Final = 512
_TOOL_ERROR: Final = "tool_error"
_end_guard = guard("capture.tool.end")


class ToolSpan(spans.Handle):
    """The span of one tool call."""

    tool: TracedTool
    claim: CallClaim = NO_CLAIM
    policy: ContentPolicy | None = None
    cache_before: Any = None
    is_cached: bool = False
    is_special: bool = False
    """The result must be looked at: a cache or a predicate decides how it reads."""
    marked: tuple[Mark, ...] = ()
    items: list[object] | None = None
    n_items: int = 0

    def resume(self) -> None:
        """Become current again."""
        if self.context is not None:
            self.before = get_context()
            attach(self.context)

    def pause(self) -> None:
        """Stop being current."""
        if self.before is not None and get_context() is self.context:
            attach(self.before)

    def returned(self, value: object) -> None:
        """Stop being current, record the result and end."""
        try:
            before = self.before
            if before is not None and get_context() is self.context:
                attach(before)
            policy = self.policy
            if policy is None:
                last: Attributes = {own.TOOL_OUTCOME: self._classify(value).outcome}
            elif (
                not self.is_special
                and is_plain_value(value)
                and (text := encode_small(value, policy)) is not None
            ):
                last = {own.TOOL_OUTCOME: "value", gen_ai.TOOL_CALL_RESULT: text}
                claim = self.claim
                if type(claim) is OpenCall and len(text) <= SMALL:
                    claim.value = value
                elif claim.call_id is not None:
                    self._hold(Encoded(None, len(text)), value, "value")
            else:
                last = self._result(value, policy)
            if self.marked:
                self.write(marks(self.marked))
            if self.held is not None and self.otel.is_recording():  # type: ignore[union-attr]
                self.held.update(last)
                # As `end`, without its other cases.
                if not self.is_ended and self.generation == open_spans.generation:
                    self.is_ended = True
                    open_spans.open_handles.pop(id(self), None)
                    if self.state is not None:
                        next(self.state.end_counter)
                    self.otel.end(self.start_ns + monotonic_ns() - self.start_mono)  # type: ignore[union-attr]
                return
            self.write(last)
        except Exception:
            with _end_guard:  # entered in this case only
                raise
        self.end()

    def _result(self, value: object, policy: ContentPolicy) -> Attributes:
        outcome, error_text = self._classify(value)
        last: Attributes = {own.TOOL_OUTCOME: outcome}
        # A value that is neither special nor small has been tried as a small one already.
        is_tried = not self.is_special and is_plain_value(value)
        encoded = encode_large(value, policy) if is_tried else encode(value, policy)
        put(self, last, RESULT, encoded)
        self._hold(encoded, value, outcome)
        if error_text is not None:
            last[gen_ai.ERROR_TYPE] = _TOOL_ERROR
            self.mark("error", encode_error(error_text, policy, max_chars=_ERROR_CHARS) or "")
            if error_text:
                last[own.TOOL_ERROR_DIGEST] = digest_content(error_text, policy)
        return last

    def _hold(self, encoded: Encoded, value: object, outcome: Outcome) -> None:
        call_id = self.claim.call_id
        if call_id is not None:
            board = self.claim.board if self.state is None else self.state.board
            hold(board, call_id, self.tool.name, value, encoded, outcome)

    def raised(self, error: BaseException) -> None:
        """Stop being current, record the exception and end."""
        self.pause()
        with _end_guard:
            policy = self.policy or self.tool.policy_for(self.state)
            cancelled = is_cancel(error)
            self.fail(error, policy, is_error=not isinstance(error, GeneratorExit))
            if self.marked:
                self.write(marks(self.marked))
            self.write({own.TOOL_OUTCOME: "cancelled" if cancelled else "error"})
            if not cancelled and self.is_recording:
                text = exception_text(error)
                self.write({own.TOOL_ERROR_DIGEST: digest_content(text, policy)})
                self._hold(encode_text(text, policy), text, "error")
        self.end()

    def yielded(self, item: object) -> None:
        """Keep an item of a generator, up to a bound."""
        self.n_items += 1
        if self.policy is None:
            return
        items = self.items
        if items is None:
            self.items = [item]
        elif len(items) < MAX_ITEMS:
            items.append(item)

    def exhausted(self, value: object) -> None:
        """Record what the generator gave: its items, or its return value when it gave none."""
        if self.n_items:
            self._finish_items()
        else:
            self.returned([] if value is None else value)

    def closed(self) -> None:
        """The consumer had enough: what it took was returned; nothing taken is a cancelled call."""
        if self.n_items and not self.is_ended:
            self._finish_items()
            return
        self.pause()
        self.write({own.TOOL_OUTCOME: "cancelled"})
        self.end()

    def _finish_items(self) -> None:
        if self.policy is not None:
            self.returned(self.items)
            return
        self.pause()
        self.write({own.TOOL_OUTCOME: "value"})
        self.end()

    def _classify(self, value: object) -> Classified:
        return classify(self.tool, value, self.cache_before, is_cached=self.is_cached)
