"""OTLP's `AnyValue`: the typed value of an attribute."""

from __future__ import annotations

from sys import intern
from typing import Any

import msgspec


class ArrayValue(msgspec.Struct, frozen=True, gc=False):
    """A list."""

    values: list[AnyValue] = []


class KeyValueList(msgspec.Struct, frozen=True, gc=False):
    """A map."""

    values: list[KeyValue] = []


class AnyValue(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One of the fields is set; none = a null."""

    string_value: str | None = None
    int_value: int | None = None
    bool_value: bool | None = None
    double_value: float | None = None
    array_value: ArrayValue | None = None
    kvlist_value: KeyValueList | None = None
    bytes_value: str | None = None


class KeyValue(msgspec.Struct, frozen=True, gc=False):
    """An attribute."""

    key: str
    value: AnyValue | None = None


def plain(value: AnyValue | None) -> object:
    """Return the value in plain Python; maps and lists are followed, bytes stay base64 text."""
    if value is None:
        return None
    if (text := value.string_value) is not None:
        return text
    if (number := value.int_value) is not None:
        return number
    if (array := value.array_value) is not None:
        return [plain(item) for item in array.values]
    if value.bool_value is not None:
        return value.bool_value
    if value.double_value is not None:
        return value.double_value
    if value.kvlist_value is not None:
        return {item.key: plain(item.value) for item in value.kvlist_value.values}
    return value.bytes_value


def plain_attributes(attributes: list[KeyValue]) -> dict[str, object]:
    """Return attributes as a dict; of a key that stands twice the last one counts."""
    found: dict[str, object] = {}
    for item in attributes:
        value = item.value
        # One object a key for all spans: half the memory, and later look-ups compare no texts.
        key = intern(item.key)
        # The two common kinds are looked at here: this loop is a third of the time of reading.
        if value is None:
            found[key] = None
        elif (text := value.string_value) is not None:
            found[key] = text
        elif (number := value.int_value) is not None:
            found[key] = number
        else:
            found[key] = plain(value)
    return found


def encoded(value: object) -> dict[str, Any]:
    """Return a plain value as an `AnyValue` in OTLP/JSON; what it cannot hold becomes text."""
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": _double(value)}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": encoded_attributes(value)}}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [encoded(item) for item in value]}}
    return {} if value is None else {"stringValue": str(value)}


def encoded_attributes(attributes: dict[str, object]) -> list[dict[str, Any]]:
    """Return attributes as a list of `KeyValue` in OTLP/JSON."""
    return [{"key": str(key), "value": encoded(value)} for key, value in attributes.items()]


def _double(value: float) -> float | str:
    if value != value:  # noqa: PLR0124
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value
