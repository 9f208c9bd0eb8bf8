"""What a scripted provider says: parts of a reply, and how the reply is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Say:
    """Visible text."""

    text: str


@dataclass(frozen=True)
class Think:
    """Reasoning, in the place the wire format has for it."""

    text: str
    signature: str = "c2lnbmF0dXJl"


@dataclass(frozen=True)
class Call:
    """A tool call that the model asks for."""

    name: str
    arguments: Mapping[str, object] | str = field(default_factory=dict)
    """A string is sent as it stands (broken JSON included)."""
    id: str | None = None
    """`None` = the provider makes one (Gemini: sends none)."""


@dataclass(frozen=True)
class Item:
    """One output item, content block or part in the wire format's own JSON, sent as it stands."""

    value: Mapping[str, object]


Part: TypeAlias = Say | Think | Call | Item


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One reply and how it is sent."""

    parts: tuple[Part, ...] = ()
    finish_reason: str | None = None
    """Spelled as the wire format spells it; `None` = what fits the parts. For the Responses API a
    reason other than `completed` makes the response `incomplete` with that reason."""
    model: str | None = None
    """The response model; `None` = the one that was asked for."""
    input_tokens: int | None = None
    """`None` = a quarter of the request's bytes."""
    output_tokens: int | None = None
    """`None` = a quarter of the reply's characters."""
    with_usage: bool = True
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent instead of what the parts would give; a stream's body is sent event by event."""
    dies_after: int | None = None
    """Events after which the connection breaks; 0 = right after the headers."""
    delay_s: float = 0.0
    """Seconds before each event of a stream, or before the body of a whole reply."""
    chunk_bytes: int | None = None
    """Cut the stream's bytes into pieces of this size instead of one piece an event."""
    gzip: bool = False
    """Compress the body, whether or not the client said that it accepts that."""


@dataclass(frozen=True, kw_only=True)
class SeenRequest:
    """A request as the provider saw it."""

    method: str
    path: str
    """Without the query."""
    query: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        """The decoded body; an empty dict when there is none.

        Raises:
            ValueError: The body is no JSON object.
        """
        if not self.body:
            return {}
        value = json.loads(self.body)
        if not isinstance(value, dict):
            raise ValueError(f"the body of {self.method} {self.path} is no JSON object")  # noqa: TRY004
        return value


Scripted: TypeAlias = Part | Reply | Iterable[Part]
"""One turn of a script."""
Script: TypeAlias = Iterable[Scripted] | Callable[[SeenRequest], Scripted]
"""Turns in order, or a function that answers each request."""


def text(content: str, /) -> Say:
    """Say something visible."""
    return Say(content)


def think(content: str, /, *, signature: str = "c2lnbmF0dXJl") -> Think:
    """Reason, with a signature where the wire format has one."""
    return Think(content, signature)


def call(
    name: str,
    arguments: Mapping[str, object] | str | None = None,
    /,
    *,
    id: str | None = None,  # noqa: A002  the word of every wire format
) -> Call:
    """Ask for a tool call.

    Args:
        name: The tool's name.
        arguments: The arguments, or a string that is sent as it stands.
        id: The call id; `None` = the provider makes one.
    """
    return Call(name, {} if arguments is None else arguments, id)


def item(value: Mapping[str, object], /) -> Item:
    """Send an output item, content block or part as it stands: hosted tools, unknown kinds."""
    return Item(value)


def reply(  # noqa: PLR0913  one keyword per property of a reply
    *parts: Part,
    finish_reason: str | None = None,
    model: str | None = None,
    input_tokens: int | None = None,
    output_tokens: int | None = None,
    with_usage: bool = True,
    headers: Mapping[str, str] | None = None,
    dies_after: int | None = None,
    delay_s: float = 0.0,
    chunk_bytes: int | None = None,
    gzip: bool = False,
) -> Reply:
    """Combine parts into one reply and say how it is sent; arguments as the fields of `Reply`."""
    return Reply(
        parts=parts,
        finish_reason=finish_reason,
        model=model,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        with_usage=with_usage,
        headers=headers or {},
        dies_after=dies_after,
        delay_s=delay_s,
        chunk_bytes=chunk_bytes,
        gzip=gzip,
    )


def error(
    status: int,
    message: str = "scripted failure",
    /,
    *,
    kind: str = "server_error",
    headers: Mapping[str, str] | None = None,
) -> Reply:
    """Fail with an HTTP status and an error body that every SDK can read.

    Args:
        status: The HTTP status, such as 500 or 429.
        message: The error's message.
        kind: The error's `type`.
        headers: More headers, such as `{"retry-after": "1"}`.
    """
    detail = {"type": kind, "message": message, "code": status, "status": kind.upper()}
    body = json.dumps({"type": "error", "error": detail}).encode()
    return Reply(status=status, headers=headers or {}, body=body)


def raw(
    body: bytes | str,
    /,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    dies_after: int | None = None,
    chunk_bytes: int | None = None,
    gzip: bool = False,
) -> Reply:
    """Send a body as it stands (recorded traffic); arguments as the fields of `Reply`."""
    data = body.encode() if isinstance(body, str) else body
    return Reply(
        status=status,
        headers=headers or {},
        body=data,
        dies_after=dies_after,
        chunk_bytes=chunk_bytes,
        gzip=gzip,
    )


def as_reply(turn: Scripted, /) -> Reply:
    """Give one turn of a script the form of a reply.

    Raises:
        TypeError: It is neither a part, a reply nor an iterable of parts.
    """
    if isinstance(turn, Reply):
        return turn
    if isinstance(turn, Say | Think | Call | Item):
        return Reply(parts=(turn,))
    parts = tuple(turn)
    for part in parts:
        if not isinstance(part, Say | Think | Call | Item):
            raise TypeError(f"{part!r} is no part of a reply: use text, call, think or item")
    return Reply(parts=parts)
