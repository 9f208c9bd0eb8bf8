"""Careful reading of JSON that may hold anything: a wrong type is "absent", never an exception."""

from __future__ import annotations

import json
import math
from typing import Final, TypeGuard

import msgspec

from spanwitness.model import MediaPart, OpaquePart, TextPart, ToolResultPart
from spanwitness.model.digest import digest_text

__all__ = [
    "NOTHING",
    "UNREADABLE",
    "arguments",
    "canonical_json",
    "data_media",
    "digest_json",
    "encode_json",
    "error_word",
    "integer",
    "is_objects",
    "items",
    "label",
    "linked_media",
    "load",
    "mapping",
    "modality_of",
    "number",
    "reference",
    "schema",
    "signature",
    "text",
    "text_result",
]

UNREADABLE: Final = "unreadable_body"
"""Error type of a body that is no JSON."""
NOTHING: Final = object()
"""What `load` gives for text that is no JSON (a decoded `null` is `None`)."""

_decode = msgspec.json.Decoder().decode
_MAX_LABEL_CHARS: Final = 120
_FULL_DIGEST_CHARS: Final = 1_000_000


def load(data: bytes | bytearray | memoryview | str) -> object:
    """Decode JSON, or return `NOTHING`.

    What strict readers refuse but producers write is accepted: lone surrogates, bytes that are no
    UTF-8 inside strings; `NaN`, `Infinity` and exponents out of range become strings.
    """
    try:
        return _decode(data)
    except (msgspec.MsgspecError, UnicodeError):
        pass
    except RecursionError:
        return NOTHING
    try:
        raw = data if isinstance(data, str) else bytes(data).decode("utf-8", "replace")
        loaded: object = json.loads(raw, parse_constant=str, parse_float=_finite)
    except (ValueError, RecursionError):
        return NOTHING
    return loaded


def _finite(written: str) -> float | str:
    """Read a number; one that no float can hold stays text, so that it can be written again."""
    value = float(written)
    return value if math.isfinite(value) else written


def encode_json(value: object, *, is_sorted: bool = False) -> str:
    """Encode a decoded JSON value; lone surrogates become escapes, so the text is always UTF-8.

    Returns:
        The compact JSON text; `"null"` for a value that cannot be encoded.
    """
    try:
        return msgspec.json.encode(value, order="deterministic" if is_sorted else None).decode()
    except (msgspec.MsgspecError, UnicodeError, TypeError, ValueError, ArithmeticError):
        pass
    except RecursionError:
        return "null"
    try:
        builtins = msgspec.to_builtins(value)
        return json.dumps(builtins, sort_keys=is_sorted, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return "null"


def canonical_json(value: object) -> str:
    """Encode a decoded JSON value so that equal values give equal text (keys sorted)."""
    return encode_json(value, is_sorted=True)


def digest_json(value: object) -> str:
    """Return the digest of a value's canonical JSON."""
    return digest_text(canonical_json(value))


def mapping(value: object) -> dict[str, object]:
    """Return a JSON object, or an empty one."""
    return value if isinstance(value, dict) else {}


def is_objects(value: object) -> TypeGuard[list[object]]:
    """Say whether the value is a JSON array."""
    return isinstance(value, list)


def items(value: object) -> list[dict[str, object]]:
    """Return the JSON objects in an array; anything else in it, or no array, counts as absent."""
    if not is_objects(value):
        return []
    return [item for item in value if isinstance(item, dict)]


def text(value: object) -> str | None:
    """Return a string, or `None`."""
    return value if isinstance(value, str) else None


def label(value: object) -> str | None:
    """Return a short word (a type, a code, a name) as a string; `None` when there is none."""
    if isinstance(value, str):
        return value[:_MAX_LABEL_CHARS] or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return None


def error_word(body: dict[str, object]) -> str:
    """Return the code or type of an error body; never its message, which may quote content."""
    error = body.get("error")
    found = body if error is None else error
    if isinstance(found, dict):
        words = [found.get("code"), found.get("status"), found.get("type")]
        # A number says less than a word; OpenAI's and Gemini's words stand in different keys.
        for value in sorted(words, key=lambda word: not isinstance(word, str)):
            word = label(value)
            if word is not None and word != "error":
                return word
    return "error" if error is not None else "unexpected_body"


def integer(value: object) -> int | None:
    """Return a whole number that is not negative (a count), or `None`."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    if isinstance(value, float) and value.is_integer() and value >= 0:
        return int(value)
    return None


def number(value: object) -> float | None:
    """Return a number, or `None`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def schema(value: object) -> dict[str, object] | bool | None:
    """Return a JSON Schema as it stands on the wire, or `None`."""
    return value if isinstance(value, dict | bool) else None


def arguments(value: object) -> object:
    """Decode the arguments of a call.

    Nothing at all (`""`, `null`, absent) is a call without arguments: `{}`. A string that is no
    JSON stays as it is.
    """
    if isinstance(value, str):
        decoded = load(value) if value else None
        if decoded is NOTHING:
            return value if value.strip() else {}
        return {} if decoded is None else decoded
    return {} if value is None else value


def signature(value: object) -> str | None:
    """Return the digest of a signature or an encrypted block; `None` when there is none."""
    return digest_text(value) if isinstance(value, str) and value else None


_MODALITIES: Final = (
    ("image/", "image"),
    ("audio/", "audio"),
    ("video/", "video"),
    ("application/pdf", "document"),
    ("text/", "document"),
)


def modality_of(mime_type: str | None) -> str:
    """Return the modality that a MIME type stands for; `file` when it names another one."""
    if mime_type is None:
        return "unknown"
    for prefix, modality in _MODALITIES:
        if mime_type.startswith(prefix):
            return modality
    return "file"


def data_media(data: str, mime_type: str | None, modality: str | None = None) -> MediaPart:
    """Describe a base64 payload by size and digest; the bytes are not kept.

    The digest is of the base64 text; above a million characters, of its length and both ends.
    """
    if len(data) > _FULL_DIGEST_CHARS:
        half = _FULL_DIGEST_CHARS // 2
        digest = digest_text(f"{len(data)}:{data[:half]}{data[-half:]}")
    else:
        digest = digest_text(data)
    padding = 2 if data.endswith("==") else 1 if data.endswith("=") else 0
    return _media(
        modality or modality_of(mime_type), mime_type, max(len(data) * 3 // 4 - padding, 0), digest
    )


def linked_media(url: object, modality: str, mime_type: str | None = None) -> MediaPart:
    """Describe media given by URL (data URIs included) or by file id."""
    if not isinstance(url, str):
        return _media(modality, mime_type, None, None)
    if url[:5].lower() == "data:":
        head, _, data = url.partition(",")
        return data_media(data, head[5:].partition(";")[0] or mime_type, modality)
    return _media(modality, mime_type, None, None, reference(url))


def reference(url: str) -> str:
    """Return a URL without user, query and fragment (they may hold secrets), cut to 1000 chars."""
    bare = url.partition("?")[0].partition("#")[0]
    scheme, slashes, rest = bare.partition("://")
    if slashes:
        place, slash, path = rest.partition("/")
        bare = f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"
    return bare[:1000]


def _media(
    modality: str,
    mime_type: str | None,
    size_bytes: int | None,
    digest: str | None,
    uri: str | None = None,
) -> MediaPart:
    return MediaPart(
        modality=modality,  # type: ignore[arg-type]  # the callers' words and the table's are modalities
        mime_type=mime_type,
        size_bytes=size_bytes,
        digest=digest,
        uri=uri,
    )


def text_result(
    call_id: str | None,
    content: str | None,
    *,
    name: str | None = None,
    value: object = None,
    is_error: bool | None = None,
) -> ToolResultPart:
    """Make a result of one text (or of nothing, for `None`)."""
    parts: tuple[TextPart | MediaPart | OpaquePart, ...] = ()
    if content is not None:
        parts = (TextPart(text=content),)
    return ToolResultPart(call_id=call_id, name=name, parts=parts, value=value, is_error=is_error)
