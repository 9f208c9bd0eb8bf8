"""What a client's conversations have in common from turn to turn, so that it is not done again."""

from __future__ import annotations

from operator import attrgetter, is_
from typing import TYPE_CHECKING, Final

from spanwitness.capture.chat_attributes import (
    make_writable,
    offered_attributes,
    request_attributes,
)
from spanwitness.capture.redact import redact_secrets
from spanwitness.normalize.messages import encode_definitions, encode_messages
from spanwitness.semconv import spanwitness as sw
from spanwitness.wire import RequestCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.capture.spans import Attributes
    from spanwitness.model import Message, ToolDefinition
    from spanwitness.wire.facts import WireRequest

__all__ = ["Histories", "Offer", "shared_prefix"]

_SLOTS: Final = 4
_MAX_KEPT_CHARS: Final = 1_048_576


def shared_prefix(before: Sequence[Message], now: Sequence[Message]) -> int:
    """Return how many messages of `before` begin `now`, if all do; else 0.

    The request cache gives the same objects for the same history, so identity is enough.
    """
    size = len(before)
    return size if 0 < size <= len(now) and all(map(is_, before, now)) else 0


class Offer:
    """A set of tools on offer and what is said about it."""

    __slots__ = ("_definitions", "attributes", "tools")

    def __init__(self, tools: tuple[ToolDefinition, ...] | None) -> None:
        self.tools = tools
        self.attributes = offered_attributes(tools)
        self._definitions: str | None = None

    def definitions(self) -> str:
        """Return the tools as JSON."""
        if self._definitions is None:
            self._definitions = encode_definitions(self.tools or ())
        return self._definitions


class _Described:
    """A request's settings and what is said about them."""

    __slots__ = ("_parts", "attributes")

    def __init__(self, request: WireRequest, attributes: Attributes) -> None:
        self._parts = _settings(request)
        self.attributes = attributes

    def fits(self, request: WireRequest) -> bool:
        return all(map(is_, self._parts, _settings(request)))


_settings = attrgetter(
    "wire", "is_streaming", "offered", "tool_choice", "output_format", "max_tokens", "temperature",
    "top_p", "seed", "reasoning_mode", "has_server_state",
)  # fmt: skip


class Histories:
    """The memory of one client: what its last conversations sent, decoded and encoded."""

    __slots__ = ("_described", "_offers", "_texts", "requests")

    def __init__(self) -> None:
        self.requests = RequestCache(_SLOTS)
        self._offers: tuple[Offer, ...] = ()
        self._described: _Described | None = None
        self._texts: list[tuple[Sequence[Message], str, bool]] = []

    def offer(self, tools: tuple[ToolDefinition, ...] | None) -> Offer:
        """Return what is to be said about a set of tools; it seldom changes between requests."""
        for known in self._offers:
            if known.tools == tools:
                return known
        made = Offer(tools)
        self._offers = (made, *self._offers[: _SLOTS - 1])
        return made

    def described(self, request: WireRequest) -> Attributes:
        """Return what is to be said about a request beside its messages; the dict is the caller's.

        Requests with one frame share these parts of it, so identity is enough.
        """
        described = self._described
        if described is None or not described.fits(request):
            found = request_attributes(request, self.offer(request.offered).attributes)
            found[sw.WIRE] = request.wire
            make_writable(found)
            self._described = described = _Described(request, found)
        return described.attributes.copy()

    def encode(self, messages: Sequence[Message], *, is_redacted: bool) -> str:
        """Encode messages as JSON, with what looks like a credential replaced if asked for.

        Only the messages that were added since an earlier request are encoded anew.
        """
        best = 0
        text = "[]"
        found = None
        for entry in self._texts:
            if entry[2] is is_redacted and len(entry[0]) > best:
                shared = shared_prefix(entry[0], messages)
                if shared:
                    best, text, found = shared, entry[1], entry
        added = messages[best:]
        if found is not None and not added:
            return text
        if added:
            rest = encode_messages(added)
            if is_redacted:
                rest = redact_secrets(rest)
            text = f"{text[:-1]},{rest[1:]}" if best else rest
        if len(text) <= _MAX_KEPT_CHARS:
            # Replaced as a whole: another thread may be reading the list.
            kept = [entry for entry in self._texts if entry is not found]
            self._texts = [*kept[-_SLOTS + 1 :], (messages, text, is_redacted)]
        return text
