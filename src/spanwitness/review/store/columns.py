"""What columns hold: moments, JSON and text, alike on SQLite and PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import BigInteger, Text, TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

__all__ = ["CleanText", "Instant", "Json", "clean"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Instant(TypeDecorator[datetime]):
    """A moment, as whole microseconds since the epoch: sorts and compares the same everywhere."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        """Turn a moment with a time zone into microseconds."""
        return None if value is None else (value - _EPOCH) // _MICROSECOND

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Turn microseconds into a moment in UTC."""
        return None if value is None else _EPOCH + value * _MICROSECOND


class CleanText(TypeDecorator[str]):
    """Text of a trace or a person; what a database cannot hold becomes U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Replace NUL (PostgreSQL refuses it) and lone surrogates (UTF-8 has none)."""
        return None if value is None else clean(value)


class Json(TypeDecorator[object]):
    """A JSON value as text: PostgreSQL's own type refuses an escaped NUL."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: object, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Write the value."""
        return None if value is None else _encoded(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> object:  # noqa: ARG002
        """Read the value."""
        return None if value is None else msgspec.json.decode(value)


def clean(text: str) -> str:
    """Return the text with NUL and lone surrogates replaced by U+FFFD."""
    if "\x00" in text:
        text = text.replace("\x00", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _encoded(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):
        import json

        text = json.dumps(value, default=str, ensure_ascii=True)
        # NaN and infinities are no JSON; a value that holds one is told as text.
        return text if _is_json(text) else json.dumps(text)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True
