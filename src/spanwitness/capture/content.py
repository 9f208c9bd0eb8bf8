"""What of the caller's values may leave, and as which text. Sizes are decided before serialising.

Values become JSON text. What JSON cannot say is written with one-key objects, so that a reader can
tell it from the data: `{"$float": "NaN"}` (`Infinity`, `-Infinity`), `{"$bytes": 12}`,
`{"$type": "io.TextIOWrapper"}` for an object that is not looked into (its `repr` is never called),
`{"$ref": "cycle"}`, and `{"$cut": 990}` where that many items were left out. Lone surrogates become
U+FFFD.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import blake2b
from math import isfinite
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from spanwitness.capture.plain import Plainer, clean, type_name
from spanwitness.capture.policy import ALLOWED_HEADERS, ContentMode, ContentPolicy
from spanwitness.capture.redact import MARGIN, redact_secrets
from spanwitness.model.digest import digest_text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "ALLOWED_HEADERS",
    "ContentMode",
    "ContentPolicy",
    "Encoded",
    "clean",
    "content_key",
    "digest_bytes",
    "digest_content",
    "digest_value",
    "encode",
    "encode_large",
    "encode_small",
    "encode_text",
    "exception_text",
    "measure",
]

_DIGEST_CHARS: Final = 32_768
"""Longer texts are not digested on the caller's path: a digest takes 1 ms a megabyte."""
_FREEZE_CHARS: Final = 262_144
_BIG_INT: Final = 1 << 64
NOT_PLAIN: Final = -(1 << 60)


_json = msgspec.json.Encoder().encode
_key: Final = os.urandom(32)


def content_key() -> bytes:
    """Return this process's random key for digests of content.

    It never leaves the process, so a short value (an amount, a yes) cannot be found by trying. A
    forked child keeps its parent's key: their spans may belong to one run.
    """
    return _key


class Encoded(msgspec.Struct, frozen=True, gc=False):
    """A value made ready to leave."""

    text: str | None
    """The text; `None` when the policy keeps content in."""
    chars: int
    """Length of the whole text before any cut; -1 = too large to be measured on the way."""
    digest: str = ""
    """Keyed digest of the whole text before redaction and cut; "" = not needed, or too large."""
    is_truncated: bool = False
    is_repaired: bool = False
    """Characters that cannot be written in UTF-8 were replaced."""


def encode(value: object, policy: ContentPolicy, *, max_chars: int | None = None) -> Encoded:
    """Make a value ready to leave, as JSON text. Never raises, never runs the value's own code.

    Args:
        value: Anything. Iterators are not consumed; unknown objects are named, not looked into.
        policy: What may leave.
        max_chars: Another cap than the policy's.

    Returns:
        The text (valid JSON even when cut), or lengths and digests only. The five falsy values
        `None`, `{}`, `0`, `[]` and `""` stay apart.
    """
    cap = policy.max_chars if max_chars is None else max_chars
    if cap >= policy.max_chars:
        small = encode_small(value, policy)
        if small is not None:
            return Encoded(small, len(small))
    return encode_large(value, policy, cap)


def encode_large(value: object, policy: ContentPolicy, cap: int | None = None) -> Encoded:
    """Make a value ready to leave that `encode_small` gave back; else as `encode`."""
    if not policy.is_on:
        return _outline(value, policy)
    return _encode_slowly(value, policy, policy.max_chars if cap is None else cap)


def encode_small(value: object, policy: ContentPolicy) -> str | None:
    """Return the text of a small plain value, or `None`: then ask `encode`. The fast road."""
    if not policy.is_fast or measure(value, policy.max_chars) < 0:
        return None
    try:
        text = _json(value).decode()
    except (UnicodeEncodeError, RuntimeError):  # surrogates; changed by another thread
        return None
    if len(text) > policy.max_chars:
        return None
    return redact_secrets(text) if policy.redact_secrets else text


def encode_text(text: str, policy: ContentPolicy, *, max_chars: int | None = None) -> Encoded:
    """Make a plain text ready to leave, as it stands (not as JSON)."""
    cap = policy.max_chars if max_chars is None else max_chars
    chars = len(text)
    digest = _digest(text, policy) if not policy.is_on or chars > cap else ""
    if not policy.is_on:
        return Encoded(None, chars, digest)
    looked_at = clean(text[: cap + _margin(policy)])
    out = policy.scrub(looked_at)
    is_cut = chars > cap or len(out) > cap
    return Encoded(
        out[:cap], chars, digest, is_cut, is_repaired=looked_at != text[: len(looked_at)]
    )


def exception_text(error: BaseException) -> str:
    """Return an exception's message, not yet redacted. Never raises.

    The message of an exception whose arguments are unknown objects is made of their type names.
    """
    own = type(error).__str__
    simple = own in _PLAIN_STR and not all(isinstance(a, _SAFE) for a in error.args)
    if simple:
        return ", ".join(a if isinstance(a, str) else type_name(a) for a in error.args)
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  the caller's `__str__`
        return f"<{type_name(error)}>"
    return text if type(text) is str else str.__str__(text)


_SAFE = (str, int, float, type(None))
_PLAIN_STR = (BaseException.__str__, OSError.__str__, KeyError.__str__)


def digest_content(text: str, policy: ContentPolicy) -> str:
    """Return a keyed digest of a text, "" when it is too large to digest on the caller's path."""
    return _digest(text, policy)


def digest_value(value: object, policy: ContentPolicy | None = None) -> str | None:
    """Return a keyed digest of a whole value, or `None` when it is too large (262,144 characters).

    A change inside an object that is not looked into does not show.
    """
    plain = Plainer(_FREEZE_CHARS)
    text = _dump(plain.convert(value))
    if plain.is_cut:
        return None
    return _digest(text, policy or _DEFAULT, limit=2 * _FREEZE_CHARS)


def digest_bytes(data: bytes) -> str:
    """Return a keyed digest of bytes."""
    return blake2b(data, digest_size=8, key=_key).hexdigest()


def measure(  # noqa: C901, PLR0911, PLR0912  one call a container: each is a percent of a tool call
    value: object, left: int, depth: int = 12
) -> int:
    """Return what is left of a budget of characters after a simple JSON value, negative if none is.

    Below `NOT_PLAIN` for anything that is not plain JSON: other types, non-finite floats, keys that
    are no text, nests deeper than `depth`. Stops as soon as the budget is spent.
    """
    kind = type(value)
    items: Iterable[object]
    if kind is dict:
        if depth <= 0:
            return NOT_PLAIN
        left -= 2 + 6 * len(value)  # type: ignore[arg-type]
        for key in value:  # type: ignore[attr-defined]
            if type(key) is not str:
                return NOT_PLAIN
            left -= len(key)
        items = value.values()  # type: ignore[attr-defined]
    elif kind is list or kind is tuple:
        if depth <= 0:
            return NOT_PLAIN
        left -= 2 + 3 * len(value)  # type: ignore[arg-type]
        items = value  # type: ignore[assignment]
    elif kind is str:
        return left - len(value) - 2  # type: ignore[arg-type]
    else:
        items = (value,)
    for item in items:
        if left < 0:
            return left
        kind = type(item)
        if kind is str:
            left -= len(item)  # type: ignore[arg-type]
        elif kind is int:
            if not -_BIG_INT < item < _BIG_INT:  # type: ignore[operator]
                return NOT_PLAIN
            left -= 1
        elif kind is bool or item is None:
            left -= 4
        elif kind is float:
            if not isfinite(item):  # type: ignore[arg-type]
                return NOT_PLAIN
            left -= 3
        elif kind is dict and depth > 1:
            # What most results are, lists of records, without a call for each.
            left -= 2 + 6 * len(item)  # type: ignore[arg-type]
            for name, leaf in item.items():  # type: ignore[attr-defined]
                if type(name) is not str:
                    return NOT_PLAIN
                kind = type(leaf)
                if kind is str:
                    left -= len(name) + len(leaf)
                elif kind is int and -_BIG_INT < leaf < _BIG_INT:
                    left -= len(name) + 1
                else:
                    left = measure(leaf, left - len(name), depth - 2)
                    if left < 0:
                        return left
        elif kind is dict or kind is list or kind is tuple:
            left = measure(item, left, depth - 1)
        else:
            return NOT_PLAIN
    return left


def _encode_slowly(value: object, policy: ContentPolicy, cap: int) -> Encoded:
    # Containers are estimated, texts known: a first try that fits spares a second one.
    budget = cap - 2 if isinstance(value, str) else cap - 2 - cap // 32
    plain, text = _convert(value, policy, budget)
    for _ in range(5):
        if len(text) <= cap:
            break
        budget = max(1, min(budget * cap // len(text) * 7 // 8, budget - 1))
        plain, text = _convert(value, policy, budget)
        plain.is_cut = True
    if len(text) > cap:
        text, plain.is_cut = '{"$cut":1}', True
    if not plain.is_cut:
        return Encoded(text, len(text), "", is_repaired=plain.is_repaired)
    whole = _outline(value, policy)
    return Encoded(text, whole.chars, whole.digest, True, plain.is_repaired)


def _convert(value: object, policy: ContentPolicy, budget: int) -> _Converted:
    has_own = policy.redact is not None
    scrub = policy.scrub if has_own or policy.redact_secrets else None
    margin = _margin(policy)
    if not has_own:
        plain = Plainer(budget, scrub=scrub, margin=margin, measure=measure)
        with contextlib.suppress(UnicodeEncodeError, RuntimeError):  # as in `encode_small`
            text = _dump(plain.convert(value))
            return _Converted(plain, redact_secrets(text) if policy.redact_secrets else text)
    plain = Plainer(budget, scrub=scrub, scrub_numbers=has_own, margin=margin)
    return _Converted(plain, _dump(plain.convert(value)))


class _Converted(NamedTuple):
    plain: Plainer
    text: str


def _outline(value: object, policy: ContentPolicy) -> Encoded:
    """Length and digest of a value as JSON text, up to the size that may be digested."""
    if type(value) is str and len(value) > _DIGEST_CHARS:
        return Encoded(None, len(value))
    room = measure(value, _DIGEST_CHARS)
    if NOT_PLAIN // 2 < room < 0:
        return Encoded(None, -1)
    if room >= 0:
        try:
            text = _json(value).decode()
        except (UnicodeEncodeError, RuntimeError):
            text = ""
        if text:
            return Encoded(None, len(text), _digest(text, policy))
    plain = Plainer(_DIGEST_CHARS)
    text = _dump(plain.convert(value))
    if plain.is_cut:
        return Encoded(None, -1)
    return Encoded(None, len(text), _digest(text, policy))


def _dump(plain: object) -> str:
    return _json(plain).decode()


def _digest(text: str, policy: ContentPolicy, *, limit: int = 2 * _DIGEST_CHARS) -> str:
    if len(text) > limit:
        return ""
    return digest_text(text, key=policy.digest_key or _key)


def _margin(policy: ContentPolicy) -> int:
    return MARGIN if policy.redact is None else 4096


_DEFAULT = ContentPolicy()
