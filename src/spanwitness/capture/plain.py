"""Any Python value as JSON-able builtins, within a budget, without running the value's own code."""

from __future__ import annotations

import datetime
import decimal
import fractions
import ipaddress
import pathlib
import re
import uuid
from collections import deque
from enum import Enum
from itertools import islice
from math import isfinite, isnan
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_MAX_DEPTH: Final = 48
_LONG: Final = 256
_HIDDEN: Final = "[hidden]"
_MAX_INT_BITS: Final = 4096
_BIG_INT: Final = 1 << 63
_SURROGATE = re.compile("[\ud800-\udfff]")

_SPEAKING: Final[dict[type, Callable[[object], str]]] = {
    datetime.datetime: datetime.datetime.isoformat,  # type: ignore[dict-item]
    datetime.date: datetime.date.isoformat,  # type: ignore[dict-item]
    datetime.time: datetime.time.isoformat,  # type: ignore[dict-item]
    datetime.timedelta: str,
    decimal.Decimal: str,
    fractions.Fraction: str,
    uuid.UUID: str,
    complex: str,
    pathlib.PosixPath: str,
    pathlib.WindowsPath: str,
    pathlib.PurePosixPath: str,
    pathlib.PureWindowsPath: str,
    ipaddress.IPv4Address: str,
    ipaddress.IPv6Address: str,
}
"""Types of the standard library whose text is their value. Exact types only: no code of others."""


def type_name(value: object) -> str:
    """Return the type's dotted name, whatever the object pretends to be."""
    kind = type(value)
    module = kind.__module__
    name = kind.__qualname__
    return name if module == "builtins" else f"{module}.{name}"


def join_surrogates(text: str) -> str:
    """Join surrogate pairs to the character they mean; a lone one becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean(text: str) -> str:
    """Return a text that can be written in UTF-8: lone surrogates become U+FFFD."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text if type(text) is str else str.__str__(text)
    return join_surrogates(text)


class Plainer:
    """Convert one value; afterwards `is_cut` and `is_repaired` say what was done to it.

    Args:
        budget: Characters that may be used, roughly; the caller checks the exact length.
        scrub: Applied to every text and key.
        scrub_numbers: Apply it to numbers, as text, too; a changed one becomes text.
        margin: Characters beyond a cut that `scrub` may see.
        measure: Returns what is left of a budget after a plain JSON value, negative if none is or
            it is not plain. Plain items of containers are then taken as they are, not scrubbed.
    """

    __slots__ = (
        "_margin",
        "_measure",
        "_path",
        "_scrub",
        "_scrub_numbers",
        "is_cut",
        "is_repaired",
        "left",
    )

    def __init__(
        self,
        budget: int,
        *,
        scrub: Callable[[str], str] | None = None,
        scrub_numbers: bool = False,
        margin: int = 0,
        measure: Callable[[object, int], int] | None = None,
    ) -> None:
        self.left = budget
        self.is_cut = False
        self.is_repaired = False
        self._scrub = scrub
        self._scrub_numbers = scrub_numbers
        self._margin = margin
        self._measure = measure
        self._path: set[int] = set()

    def convert(self, value: object, depth: int = 0) -> object:
        """Return the value as builtins that JSON can hold. Never raises."""
        try:
            return self._convert(value, depth)
        except Exception:  # noqa: BLE001  the caller's objects may raise anything
            return {"$type": _safe_type_name(value)}

    def _convert(self, value: object, depth: int) -> object:
        if value is None or value is True or value is False:
            self.left -= 5
            return value
        kind = type(value)
        if kind is str:
            return self._text(value, depth)  # type: ignore[arg-type]
        if kind is int:
            return self._int(value)  # type: ignore[arg-type]
        if kind is float:
            return self._float(value)  # type: ignore[arg-type]
        if depth > _MAX_DEPTH:
            self.is_cut = True
            return {"$cut": "depth"}
        if id(value) in self._path:
            self.left -= 16
            return {"$ref": "cycle"}
        self._path.add(id(value))
        try:
            return self._compound(value, kind, depth)
        finally:
            self._path.discard(id(value))

    def _compound(self, value: object, kind: type, depth: int) -> object:
        if isinstance(value, dict) and issubclass(kind, dict):
            return self._pairs(dict.items(value), dict.__len__(value), depth)
        if issubclass(kind, tuple):
            return self._tuple(value, kind, depth)  # type: ignore[arg-type]
        if issubclass(kind, list):
            return self._items(list.__iter__(value), list.__len__(value), depth)  # type: ignore[arg-type]
        if issubclass(kind, set | frozenset | deque):
            items: list[object] = list(islice(value, max(self.left, 0) + 1))  # type: ignore[call-overload]
            if all(type(item) is str for item in items) and not issubclass(kind, deque):
                items.sort(key=str)
            return self._items(iter(items), len(value), depth)  # type: ignore[arg-type]
        speak = _SPEAKING.get(kind)
        if speak is not None:
            return self._text(speak(value), depth)
        if issubclass(kind, Enum):
            return self.convert(object.__getattribute__(value, "_value_"), depth + 1)
        if issubclass(kind, bytes | bytearray | memoryview):
            self.left -= 20
            size = value.nbytes if isinstance(value, memoryview) else len(value)  # type: ignore[arg-type]
            return {"$bytes": size}
        return self._subclass_or_object(value, kind, depth)

    def _subclass_or_object(self, value: object, kind: type, depth: int) -> object:
        if issubclass(kind, str):
            return self._text(value, depth)  # type: ignore[arg-type]
        if issubclass(kind, int):
            return self._int(int.__index__(value))  # type: ignore[arg-type]
        if issubclass(kind, float) and not _is_numpy(kind):
            return self._float(float.__float__(value))  # type: ignore[arg-type]
        if issubclass(kind, BaseException):
            from spanwitness.capture.content import exception_text

            return {"$error": type_name(value), "message": self._text(exception_text(value), depth)}  # type: ignore[arg-type]
        if _is_numpy(kind):
            return self._numpy(value, depth)
        fields = _fields(value, kind)
        if fields is not None:
            return self._pairs(iter(fields), len(fields), depth)
        name = type_name(value)
        self.left -= len(name) + 12
        return {"$type": name}

    def _text(self, value: str, depth: int) -> str:
        room = max(self.left, 0) if depth == 0 else max(self.left * 7 // 8, 0)
        length = str.__len__(value)
        is_long = length > room
        text = (
            str.__getitem__(value, slice(0, room + self._margin)) if is_long else str.__str__(value)
        )
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                text = join_surrogates(text)
                self.is_repaired = True
        if self._scrub is not None:
            text = self._scrub(text)
        if is_long:
            self.is_cut = True
        if len(text) > room:
            self.is_cut = True
            text = text[:room]
        self.left -= len(text) + 3
        return text

    def _number_text(self, text: str) -> str | None:
        if not self._scrub_numbers or self._scrub is None:
            return None
        scrubbed = self._scrub(text)
        return scrubbed if scrubbed != text else None

    def _int(self, value: int) -> object:
        if not -_BIG_INT <= value < 2 * _BIG_INT:
            bits = value.bit_length()
            if bits > _MAX_INT_BITS:
                self.is_cut = True
                return {"$int_bits": bits}
        text = str(value)
        self.left -= len(text) + 1
        changed = self._number_text(text)
        if changed is not None:
            return changed
        return value if -_BIG_INT <= value < 2 * _BIG_INT else msgspec.Raw(text.encode())

    def _float(self, value: float) -> object:
        self.left -= 8
        if not isfinite(value):
            name = "NaN" if isnan(value) else "Infinity" if value > 0 else "-Infinity"
            return {"$float": name}
        changed = self._number_text(repr(value)) if self._scrub_numbers else None
        return value if changed is None else changed

    def _tuple(self, value: tuple[object, ...], kind: type, depth: int) -> object:
        names = getattr(kind, "_fields", None)
        if type(names) is tuple and len(names) == tuple.__len__(value):
            return self._pairs(zip(names, value, strict=True), len(names), depth)
        return self._items(tuple.__iter__(value), tuple.__len__(value), depth)

    def _items(self, items: Iterable[object], size: int, depth: int) -> list[object]:
        out: list[object] = []
        self.left -= 2
        for item in items:
            if self.left <= 0:
                self.is_cut = True
                out.append({"$cut": size - len(out)})
                break
            out.append(self._item(item, depth))
            self.left -= 1
        return out

    def _pairs(self, pairs: Iterable[tuple[object, object]], size: int, depth: int) -> object:
        out: dict[str, object] = {}
        self.left -= 2
        for key, item in pairs:
            if self.left <= 0:
                self.is_cut = True
                out["$cut"] = size - len(out)
                break
            name = self._key(key, depth)
            while name in out:
                name += "'"
            out[name] = self._item(item, depth)
            self.left -= 2
        return out

    def _item(self, item: object, depth: int) -> object:
        # A long list seldom fits: it is measured item by item as it is converted, not twice.
        if self._measure is not None and not (type(item) is list and len(item) > _LONG):
            left = self._measure(item, self.left)
            if left >= 0:
                self.left = left
                return item
        return self.convert(item, depth + 1)

    def _key(self, key: object, depth: int) -> str:
        if isinstance(key, str) and issubclass(type(key), str):
            return self._text(key, depth + 1)
        if key is None or isinstance(key, bool | int | float):
            return self._text(str(msgspec.json.encode(self.convert(key)).decode()), depth + 1)
        if type(key) in _SPEAKING:
            return self._text(_SPEAKING[type(key)](key), depth + 1)
        if isinstance(key, Enum) and isinstance(key._value_, str):
            return self._text(key._value_, depth + 1)
        self.left -= 8
        return f"$key:{type_name(key)}"

    def _numpy(self, value: object, depth: int) -> object:
        if type(value).__name__ != "ndarray":
            return self.convert(value.item(), depth + 1)  # type: ignore[attr-defined]
        shape = list(value.shape)  # type: ignore[attr-defined]
        size = int(value.size)  # type: ignore[attr-defined]
        room = max(self.left // 2, 1)
        if size <= room:
            return self.convert(value.tolist(), depth + 1)  # type: ignore[attr-defined]
        self.is_cut = True
        head = value.reshape(-1)[: min(room, 64)].tolist()  # type: ignore[attr-defined]
        return {"$array": shape, "head": self.convert(head, depth + 1)}


def _is_numpy(kind: type) -> bool:
    return kind.__module__ == "numpy" and (
        kind.__name__ == "ndarray" or any(base.__name__ == "generic" for base in kind.__mro__)
    )


def _safe_type_name(value: object) -> str:
    try:
        return type_name(value)
    except Exception:  # noqa: BLE001  a metaclass may lie and raise
        return "?"


def _fields(value: object, kind: type) -> list[tuple[str, object]] | None:
    """Fields of a pydantic model, dataclass, msgspec struct or attrs class; `None` for others."""
    names: list[tuple[str, bool]]
    if issubclass(kind, msgspec.Struct):
        names = [(name, True) for name in kind.__struct_fields__]
    elif isinstance(found := _of_type(kind, "__pydantic_fields__"), dict):
        names = [(str(name), getattr(f, "repr", True) is not False) for name, f in found.items()]
        extra = object.__getattribute__(value, "__pydantic_extra__")
        if isinstance(extra, dict):
            return [*_read(value, names), *dict.items(extra)]
    elif isinstance(found := _of_type(kind, "__dataclass_fields__"), dict):
        names = [
            (str(name), f.repr is not False)
            for name, f in found.items()
            if "ClassVar" not in str(getattr(f, "_field_type", ""))
        ]
    elif isinstance(found := _of_type(kind, "__attrs_attrs__"), tuple):
        names = [(str(f.name), f.repr is not False) for f in found]
    else:
        return None
    return _read(value, names)


def _of_type(kind: type, name: str) -> object:
    """Read from the classes themselves, so that no instance or metaclass can answer for them."""
    for base in kind.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def _read(value: object, names: list[tuple[str, bool]]) -> list[tuple[str, object]]:
    """Read fields without properties or `__getattr__`; a field hidden from `repr` stays hidden."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    missing = object()
    out: list[tuple[str, object]] = []
    for name, is_shown in names:
        found = own.get(name, missing)
        if found is missing:
            found = _slot(value, name, missing)
        if found is not missing:
            out.append((name, found if is_shown else _HIDDEN))
    return out


def _slot(value: object, name: str, missing: object) -> object:
    descriptor = _of_type(type(value), name)
    if type(descriptor).__name__ not in ("member_descriptor", "Member"):
        return missing
    try:
        return object.__getattribute__(value, name)
    except AttributeError:
        return missing
