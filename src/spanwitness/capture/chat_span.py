"""One logical model call: the request as it left, its attempts, the end of its reply."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Literal, get_args

from spanwitness.capture import chat_attributes, defaults, deliveries, spans
from spanwitness.capture.chat_content import content_facts, recorded_content
from spanwitness.capture.context import ambient_board, current_run
from spanwitness.capture.operation import note_request
from spanwitness.capture.plain import type_name
from spanwitness.guard import guard
from spanwitness.model.calls import WireFormat
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as sw
from spanwitness.wire import number_reply
from spanwitness.wire.facts import WireRequest
from spanwitness.wire.reading import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from spanwitness.capture.context import Board
    from spanwitness.capture.histories import Histories
    from spanwitness.capture.spans import Attributes
    from spanwitness.capture.stream import BodyCopy, Ending, OnEnd
    from spanwitness.model import ToolRequest
    from spanwitness.wire import Codec
    from spanwitness.wire.facts import WireReply

__all__ = ["ChatSpan", "Target"]

EndingWord = Literal["complete", "abandoned", "cancelled", "error"]

_RETRIED_STATUS = frozenset({408, 409, 429})


_request_guard = guard("capture.chat.request")
_facts_guard = guard("capture.chat.request_facts")
_reply_guard = guard("capture.chat.reply")
_UNREAD = {
    wire: WireRequest(wire=wire, offered=None, error_type="unread_body")
    for wire in get_args(WireFormat)
}
_FORGOTTEN = WireRequest(wire="unknown")


@dataclass(frozen=True, slots=True)
class Target:
    """What is sent where; equal for an attempt and its retry."""

    host: str
    port: int | None
    """`None` = the scheme's own."""
    path: str
    body: bytes | None
    """`None` = still to be produced."""


class ChatSpan:
    """A model call in progress and its span.

    Attempts follow one another; the body of each ends once. A failed attempt that an SDK may retry
    leaves the call waiting; whatever settles it, the span ends exactly once.
    """

    __slots__ = (
        "_attempts", "_board", "_copy", "_end_ns", "_ended_attempt", "_error", "_headers",
        "_histories", "_how", "_is_finished", "_is_waiting", "_lock", "_on_wait", "_request",
        "_status", "_target", "codec", "handle", "policy", "state", "waits_since_s",
    )  # fmt: skip

    def __init__(
        self,
        codec: Codec,
        handle: spans.Handle,
        target: Target,
        request: WireRequest,
        histories: Histories,
        on_wait: Callable[[ChatSpan], None],
    ) -> None:
        state = handle.state
        self.codec = codec
        self.handle = handle
        self.state = state
        self.waits_since_s = 0.0
        """When it began to wait for a retry, on the monotonic clock."""
        self._board: Board = ambient_board if state is None else state.board
        self.policy = defaults.policy() if state is None else state.policy
        self._request = request
        self._target: Target | None = target
        self._histories = histories
        self._on_wait = on_wait
        self._attempts: list[str] = []
        self._ended_attempt = 0
        self._copy: BodyCopy | None = None
        self._headers: Mapping[str, str] = {}
        self._status: int | None = None
        self._error: str | None = None
        self._how: Ending = "dropped"
        self._end_ns: int | None = None
        self._is_waiting = False
        self._is_finished = False
        self._lock = threading.RLock()
        handle.closer = self._close_at_exit

    @classmethod
    def start(
        cls,
        codec: Codec,
        histories: Histories,
        target: Target,
        on_wait: Callable[[ChatSpan], None],
    ) -> ChatSpan | None:
        """Start the span of a call; `None` when nothing is recorded here.

        Args:
            codec: Reads the wire format.
            histories: The memory of the client, which spares re-reading a growing history.
            target: What is sent where.
            on_wait: Called when a failed attempt may be followed by another.
        """
        state = current_run()
        request = _UNREAD[codec.wire]
        body = target.body
        if body is not None:
            with _request_guard:
                request = codec.parse_request(body, histories.requests)
        attributes: Attributes = {
            gen_ai.OPERATION_NAME: gen_ai.CHAT,
            gen_ai.PROVIDER_NAME: chat_attributes.provider_name(target.host, codec.wire),
            gen_ai.SERVER_ADDRESS: target.host,
        }
        name = gen_ai.CHAT
        if request.model is not None:
            attributes[gen_ai.REQUEST_MODEL] = request.model
            name = f"{name} {request.model}"
        handle = spans.start(name, kind="client", attributes=attributes, state=state)
        if state is None and not handle.is_recording:
            handle.end()
            return None
        call = cls(codec, handle, target, request, histories, on_wait)
        with _facts_guard:
            call._describe_request()
        return call

    def _describe_request(self) -> None:
        request = self._request
        target = self._target
        found = self._histories.described(request)
        if target is not None and target.port is not None:
            found[gen_ai.SERVER_PORT] = target.port
        if target is not None and target.body is not None:
            found[sw.REQUEST_BYTES] = len(target.body)
        if request.error_type is None:
            results = deliveries.look(request, self._board)
            if results.call_ids or results.fresh:
                given = chat_attributes.delivered_attributes(results)
                chat_attributes.make_writable(given)
                found |= given
            else:
                found[sw.DELIVERED_IDS] = ()
        elif self.state is not None:
            self.state.mark_incomplete("unread_request")
        self.handle.write(found)
        note_request(request, found)

    # --- attempts

    def responded(
        self,
        status: int,
        copy: BodyCopy,
        *,
        headers: Mapping[str, str],
        should_retry: str | None,
    ) -> OnEnd:
        """Take the head of a response; the returned function takes the end of its body."""
        self._headers = headers
        self._attempts.append(str(status))
        self._status = status
        self._copy = copy
        number = len(self._attempts)
        is_failed = status >= 400
        may_retry = is_failed and (
            should_retry == "true"
            or (should_retry != "false" and (status in _RETRIED_STATUS or status >= 500))
        )
        if self._request.is_streaming and not is_failed:
            self._board.add_peek(self._peek, self.handle.span_id)

        def ended(how: Ending, error: BaseException | None) -> None:
            # A body that dies while the SDK reads it whole is retried as well.
            died = how == "error" and not self._request.is_streaming
            self._attempt_ended(number, how, error, may_retry=may_retry or died)

        return ended

    def failed(self, error: BaseException) -> None:
        """Take an exception that came instead of a response."""
        self._attempts.append(type(error).__name__)
        self._status = None
        self._copy = None
        is_failure = isinstance(error, Exception)
        self._attempt_ended(
            len(self._attempts), "error" if is_failure else "cancelled", error, may_retry=is_failure
        )

    def lost_sight(self) -> None:
        """End here: the response cannot be followed."""
        with self._lock:
            if self._copy is not None:
                self._copy.drop()
        self._finish()

    def _attempt_ended(
        self, number: int, how: Ending, error: BaseException | None, *, may_retry: bool
    ) -> None:
        with self._lock:
            if number <= self._ended_attempt or number < len(self._attempts):
                return
            self._ended_attempt = number
            self._how = how
            # Not the exception itself: its traceback would keep the caller's frames alive.
            self._error = None if error is None else type_name(error)
            if may_retry and not self._is_finished:
                self._end_ns = self.handle.now_ns()
                self.waits_since_s = monotonic()
                self._is_waiting = True
        if self._is_waiting:
            self._on_wait(self)
        else:
            self._finish()

    def asks_the_same(self, target: Target) -> bool:
        """Say whether a request equals this call's."""
        return self._is_waiting and target.body is not None and target == self._target

    def resume(self) -> bool:
        """Go on with another attempt, unless the call has been settled meanwhile."""
        with self._lock:
            was_waiting, self._is_waiting = self._is_waiting, False
            self._end_ns = None
            return was_waiting

    def settle(self) -> None:
        """End a call whose retry did not come, at the time when its last attempt ended."""
        with self._lock:
            was_waiting, self._is_waiting = self._is_waiting, False
        if was_waiting:
            self._finish()

    def _close_at_exit(self) -> None:
        if self._is_waiting:
            self.settle()
            return
        self._how = "dropped"
        self._finish()

    # --- the end

    def _finish(self) -> None:
        with self._lock:
            if self._is_finished:
                return
            self._is_finished = True
        if self._board.peeks:
            self._board.remove_peek(self._peek)
        found: Attributes = {}
        reply: WireReply | None = None
        error_type: str | None = self._error
        with _reply_guard:
            reply = self._copy.reply() if self._copy is not None else None
            if reply is not None:
                reply = number_reply(reply, self._request)
                error_type = error_type or reply.error_type
            self._describe_reply(found, reply)
            for name, value in self.policy.pick_headers(self._headers).items():
                found[f"{gen_ai.HTTP_RESPONSE_HEADER}.{name}"] = (value,)
        ending = self._ending(reply)
        if self._status is not None and self._status >= 400:
            error_type = str(self._status)
        if ending == "error":
            error_type = error_type or "incomplete_stream"
        if ending is not None:
            found[sw.ENDING] = ending
        found[sw.ATTEMPTS] = tuple(self._attempts)
        if error_type is not None:
            found[gen_ai.ERROR_TYPE] = error_type
            self.handle.mark("error", error_type)
        self.handle.write(found)
        self.handle.end(end_ns=self._end_ns)
        self._forget()

    def _ending(self, reply: WireReply | None) -> EndingWord | None:
        """Name how the reply ended: by its terminal event first, then by how reading stopped."""
        if self._status is None or self._status >= 400:
            return "cancelled" if self._how == "cancelled" else "error"
        if reply is not None and reply.is_terminated and self._copy is not None:
            if reply.is_pending:
                return None
            return "error" if reply.error_type is not None else "complete"
        match self._how:
            case "cancelled" | "error":
                return self._how
            case "closed" | "dropped":
                # SDKs close the body when the provider says in the stream that it failed.
                is_told = reply is not None and reply.error_type not in (None, UNREADABLE)
                return "error" if is_told else "abandoned"
            case "eof":
                # Read to its end, but not by us: cut to the cap, or in an unknown encoding.
                return "error" if reply is not None and not reply.is_cut else None

    def _describe_reply(self, found: Attributes, reply: WireReply | None) -> None:
        is_failed = self._status is None or self._status >= 400
        copy = self._copy
        is_answered = copy is not None and copy.first_chunk_ns > 0 and not is_failed
        if copy is not None and is_answered and self._request.is_streaming:
            waited_ns = copy.first_chunk_ns - self.handle.start_ns
            found[gen_ai.RESPONSE_TIME_TO_FIRST_CHUNK] = max(waited_ns, 0) / 1e9
        if reply is None:
            if is_answered:
                self._mark_incomplete("unread_reply")
            if self.handle.is_recording:
                found |= self._recorded_content(None)
            return
        if reply.is_cut:
            self._mark_incomplete("unread_reply")
        if reply.echoed is not None:
            found |= chat_attributes.echoed_attributes(self._request, reply.echoed)
        if not is_failed:
            self._describe_answer(found, reply)
        if found:
            chat_attributes.make_writable(found)
        # Recorded content is JSON whose lone surrogates are escapes already.
        if self.handle.is_recording and self.policy.is_on:
            found |= self._recorded_content(None if is_failed else reply)

    def _describe_answer(self, found: Attributes, reply: WireReply) -> None:
        request = self._request
        texts = chat_attributes.texts_of(reply)
        requests = chat_attributes.text_calls(request, texts)
        found |= chat_attributes.reply_attributes(reply, texts, requests)
        if reply.requested:
            self._board.post(reply.requested, self.handle.span_id)
            deliveries.remember(self._board, reply)
        if not (self.handle.is_recording and self.policy.is_on):
            found |= content_facts(request, reply, texts, has_calls=bool(requests))

    def _recorded_content(self, reply: WireReply | None) -> Attributes:
        return recorded_content(
            self._request, reply, self.policy, self._histories, self._board.name_of
        )

    def _mark_incomplete(self, reason: str) -> None:
        if self.state is not None:
            self.state.mark_incomplete(reason)

    def _forget(self) -> None:
        """Free what is large: the caller's context may hold on to this call."""
        if self._copy is not None:
            self._copy.drop()
        self._copy = None
        self._target = None
        self._request = _FORGOTTEN
        self.handle.closer = None

    def _peek(self) -> Iterable[ToolRequest]:
        """Return the calls that the unfinished reply has asked for so far."""
        with guard("capture.chat.peek"):
            copy = self._copy
            reply = copy.reply() if copy is not None else None
            if reply is None:
                return ()
            reply = number_reply(reply, self._request)
            is_whole = bool(reply.finish_reasons) or reply.is_terminated
            return [
                request
                for request in reply.requested
                # Arguments that are still coming decode to no object, or to an empty one.
                if is_whole or (isinstance(request.arguments, dict) and request.arguments)
            ]
        return ()
