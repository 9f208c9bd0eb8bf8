"""Whether the whole of a tool's result is an error, where no mark says so.

Many harnesses hand an exception to the model as ordinary text. Only a result that is nothing but an
error counts: a log search that finds the word ERROR, or a report that mentions one, is a result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_MAX_CHARS = 2000
_TEXT = re.compile(
    r"\s*[\[<(*_`\"']*\s*(?:"
    r"(?:(?:fatal|uncaught|unhandled|internal|server|tool|api|http|runtime|execution|"
    r"tool execution|tool call|validation|connection|network|database|unexpected|an?|the)\s+){0,3}"
    r"(?:error|exception|failure)\b\s*(?:[:!\-(\[]|\d{3}\b|occurred|while|when|in\b|executing|"
    r"calling|"
    r"running|$)"
    r"|(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b\s*(?:[:(]|$)"
    r"|Traceback \(most recent call last\)"
    r"|(?:failed|unable|not able) to \w+"
    r"|[^\n:.]{0,60}\b(?:failed|denied|timed out|not permitted|unauthori[sz]ed|forbidden|"
    r"unavailable|unreachable|refused|rejected)\b(?:\s+with[^\n:]{0,40})?\s*(?::|\.?\s*$)"
    r"|(?:no such file|file not found|invalid (?:argument|input|parameter|request|json))\b"
    r"|[45]\d\d (?:client|server|bad|unauthori[sz]ed|forbidden|not found|internal|service)\b"
    r")",
    re.IGNORECASE,
)
_HEADS = (
    "error", "exception", "fail", "traceback", "denied", "timed out", "not permitted", "unauthori",
    "forbidden", "unavailable", "unreachable", "refused", "rejected", "unable", "not able",
    "no such file", "not found", "invalid",
)  # fmt: skip
"""A text that `_TEXT` matches has one of these near its beginning, or begins with a status code."""
_CLASS = re.compile(r"\s*(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b\s*[:(]")
_LOG_LINE = re.compile(
    r"^\W*(?:\d{1,4}[-/:.T]\d|(?:ERROR|WARN(?:ING)?|INFO|DEBUG|"
    r"FATAL)\b[^\n:]{0,20}\d{1,4}[-/:.]\d)",
    re.MULTILINE | re.IGNORECASE,
)
_ERROR_MARKS = ("rror", "xception", '"ok"', '"success"')
_MAX_DEPTH = 8
"""Lists of one thing inside each other that are looked into."""
_ERROR_KEYS = ("error", "errors", "exception", "error_message", "errorMessage")
_TELLING = frozenset({*_ERROR_KEYS, "isError", "is_error", "ok", "success", "type"})
_ERROR_COMPANY = frozenset(
    {
        "error", "errors", "exception", "error_message", "errorMessage", "code", "status", "type",
        "message", "detail", "details", "ok", "success", "request_id", "statusCode", "status_code",
        "isError", "is_error", "traceback", "hint", "tool", "name", "data", "result",
    }
)  # fmt: skip


def is_error_text(text: str) -> bool:
    """Say whether a text is nothing but an error report."""
    if len(text) > _MAX_CHARS:
        return text[:200].lstrip().startswith("Traceback (most recent call last)")
    stripped = text.strip()
    if not stripped:
        return False
    if stripped[0] in "{[":
        if not any(word in stripped for word in _ERROR_MARKS):
            return False
        try:
            return is_error_value(json.loads(stripped))
        except (ValueError, RecursionError):
            return False
    if not _may_be_error(stripped):
        return False
    if _TEXT.match(stripped) is None or _LOG_LINE.search(stripped):
        return False
    is_trace = stripped.startswith("Traceback (most recent call last)")
    return is_trace or stripped.count("\n") <= 3 or _CLASS.match(stripped) is not None


def _may_be_error(text: str) -> bool:
    """The patterns are dear, and most results are no errors."""
    if text[0] in "45":
        return True
    head = text[:200].casefold()
    for word in _HEADS:  # noqa: SIM110  half the cost of any()
        if word in head:
            return True
    return False


def is_error_value(value: object) -> bool:
    """Say whether a result, as returned, is nothing but an error."""
    for _ in range(_MAX_DEPTH):
        if not isinstance(value, list) or len(value) != 1:
            break
        value = value[0]
    if isinstance(value, str):
        return is_error_text(value)
    return isinstance(value, Mapping) and _is_error_object(value)


def _is_error_object(value: Mapping[str, object]) -> bool:
    if _TELLING.isdisjoint(value):
        return False
    if value.get("isError") is True or value.get("is_error") is True:
        return True
    if value.get("ok") is False or value.get("success") is False:
        return True
    if not any(value.get(key) for key in _ERROR_KEYS):
        return value.get("type") == "text" and is_error_value(value.get("text"))
    carried = {key for key, item in value.items() if item not in (None, "", [], {}, False)}
    return carried <= _ERROR_COMPANY and not value.get("data") and not value.get("result")
