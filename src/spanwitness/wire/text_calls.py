"""Tool calls that came out as text: markup that a server should have lifted into structured calls.

A call counts only when it names an offered tool and its arguments are a JSON object that holds what
the tool's schema requires. Prose about call syntax, and examples in quotes or code fences, do not
count. The time is linear in the text.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, Literal

from spanwitness.model import ToolDefinition, ToolRequest
from spanwitness.wire.reading import NOTHING, load, mapping

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

__all__ = ["find_calls"]

# Each begins with characters of its own, so that the search skips plain text at full speed.
_OPENERS: Final = (
    re.compile(
        r"<(?:tool_call>|\|tool_call\|>|function_call>|\|python_tag\|>|\|tool_call_begin\|>"
        r"|\uff5ctool\u2581call\u2581begin\uff5c>|function=(?P<function>[^<>\s]{1,128})>"
        r"|invoke name=[\"'](?P<invoke>[^<>\"']{1,128})[\"']>)"
    ),
    re.compile(r"\[TOOL_CALLS?\]"),
    re.compile(r"to=functions\.(?P<harmony>[\w.-]{1,128})[^{}]{0,120}<\|message\|>"),
)
_LINE_OPENERS: Final = (
    re.compile(r"functions\.(?P<kimi>[\w.-]{1,128}):\d{1,4}\s*(?:<\|tool_call_argument_begin\|>)?"),
    re.compile(r"(?P<bare>\{\s*\"(?:name|tool|tool_name|function|type|tool_calls)\")"),
    re.compile(r"(?P<bare>\[\s*\{\s*\"name\")"),
)
"""Openers that count at the beginning of a line only."""
_CLOSER: Final = re.compile(r"</(?:function|invoke)>|</tool_call>|</minimax:tool_call>")
_PARAMETER: Final = re.compile(
    r"<parameter(?:=(?P<plain>[^<>\s]{1,128})| name=[\"'](?P<named>[^<>\"']{1,128})[\"'])"
    r"[^<>]{0,64}>"
)
_ARG_KEY: Final = re.compile(r"<arg_key>([^<>]{1,128})</arg_key>\s*<arg_value>")
_FENCE: Final = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.MULTILINE)
_WHOLE_FENCE: Final = re.compile(
    r"(?:```|~~~)[\w-]{0,32}[ \t]*\n(?P<inner>.*)\n(?:```|~~~)", re.DOTALL
)
_HEADING: Final = re.compile(
    r"\s*(?:function<\uff5ctool\u2581sep\uff5c>)?(?:functions\.)?(?P<name>[\w.-]{1,128})"
    r"(?::\d{1,4})?\s*"
    r"(?:<\|tool_call_argument_begin\|>|<\uff5ctool\u2581sep\uff5c>|\[ARGS\])?\s*(?:```json\s*)?"
)
_TAIL: Final = re.compile(
    r"(?:\s*(?:```|</[\w:]{1,32}>|<\|[\w|]{1,32}\|>|<\uff5c[^<>\uff5c]{1,32}\uff5c>"
    r"|\[/TOOL_CALL\]))*[ \t]*"
)
_QUOTES: Final = "`\"'\u201c\u201d\u2018\u2019\u00ab\u00bb>("
_EXAMPLE: Final = re.compile(
    r"(?:example|e\.g\.|such as|like this|looks? like|looks? so|format|syntax|template)[:,]?\s*$",
    re.IGNORECASE,
)
_NAME_KEYS: Final = ("name", "tool", "tool_name", "function")
_ARGUMENT_KEYS: Final = ("arguments", "parameters", "args", "input", "tool_input", "kwargs")
_MAX_INDENT: Final = 64
_MAX_FUTILE: Final = 8
_MAX_FAILED: Final = 256
_decoder: Final = json.JSONDecoder(strict=False)  # models write raw line breaks into strings

Source = Literal["structured", "text", "reasoning"]


def find_calls(
    text: str, offered: Collection[ToolDefinition], *, source: Source = "text"
) -> tuple[ToolRequest, ...]:
    """Find calls of offered tools in a text.

    Args:
        text: The visible text or the reasoning of a reply.
        offered: The tools that its request offered.
        source: Where the text stood.

    Returns:
        The calls in order, without ids.
    """
    if "<" not in text and "{" not in text:
        return ()
    tools = {tool.name: tool for tool in offered if tool.name and tool.name in text}
    if not tools:
        return ()
    stripped = text.strip()
    whole = _WHOLE_FENCE.fullmatch(stripped)
    if whole is not None and "```" not in whole["inner"]:
        stripped = whole["inner"]
    return tuple(_Search(stripped, tools, source).calls())


class _Search:
    """One text under search."""

    __slots__ = ("_n_failed", "_n_futile", "_source", "_text", "_tools")

    def __init__(self, text: str, tools: dict[str, ToolDefinition], source: Source) -> None:
        self._text = text
        self._tools = tools
        self._source: Source = source
        self._n_failed = 0
        self._n_futile = 0

    def calls(self) -> Iterator[ToolRequest]:
        fences = _Fences(self._text)
        openers = self._openers()
        done = 0
        for place, opener in enumerate(openers):
            if opener.start() < done or fences.hold(opener.start()):
                continue
            following = openers[place + 1].start() if place + 1 < len(openers) else len(self._text)
            found, end = self._read(opener, following)
            if not found:
                # JSON that is no call was read to its end: what lies in it is no call either.
                done = max(done, end) if opener.lastgroup == "bare" else done
                continue
            done = end
            if not self._is_example(opener, end):
                yield from found

    def _openers(self) -> list[re.Match[str]]:
        found = [one for opener in _OPENERS for one in opener.finditer(self._text)]
        for opener in _LINE_OPENERS:
            found += [
                one for one in opener.finditer(self._text) if _begins_line(self._text, one.start())
            ]
        found.sort(key=re.Match.start)
        return found

    def _read(self, opener: re.Match[str], following: int) -> tuple[list[ToolRequest], int]:
        kind = opener.lastgroup
        if kind in {"function", "invoke"}:
            return self._read_markup(opener[kind], opener.end(), following)
        if kind in {"harmony", "kimi"}:
            value, end = self._decode(opener.end())
            return self._made(opener[kind].removesuffix("."), value), end
        if kind == "bare":
            return self._read_bare(opener.start("bare"))
        found, end = self._read_json(opener.end())
        if found:
            return found, end
        return self._read_headed(opener.end(), following)

    def _read_bare(self, at: int) -> tuple[list[ToolRequest], int]:
        """Read JSON that stands by itself at the beginning of a line."""
        if self._n_futile >= _MAX_FUTILE:
            return [], at
        value, end = self._decode(at)
        if value is NOTHING:
            # Unfinished objects can lie in one another, and each is read to the end of the text.
            self._n_futile += 1
            return [], at
        found = [call for one in _unpacked(value) for call in self._made_of(one)]
        more, end = self._read_json(end) if found else ([], end)
        return found + more, end

    def _decode(self, at: int) -> tuple[object, int]:
        """Decode the JSON value that begins here, after white space."""
        while at < len(self._text) and self._text[at] in " \t\r\n":
            at += 1
        if self._text[at : at + 1] not in {"{", "["}:
            return NOTHING, at
        if self._n_failed >= _MAX_FAILED:
            return NOTHING, at
        try:
            return _decoder.raw_decode(self._text, at)
        except (ValueError, RecursionError):
            # The error counts the lines before it, so many of them would cost quadratic time.
            self._n_failed += 1
            return NOTHING, at

    def _read_json(self, at: int) -> tuple[list[ToolRequest], int]:
        """Read one or several JSON calls that stand here."""
        found: list[ToolRequest] = []
        while True:
            value, end = self._decode(at)
            calls = [call for one in _unpacked(value) for call in self._made_of(one)]
            if not calls:
                return found, at
            found += calls
            at = end

    def _made_of(self, value: object) -> list[ToolRequest]:
        if not isinstance(value, dict):
            return []
        inner = value.get("function")
        if isinstance(inner, dict):
            value = inner
        name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
        given = next((value[key] for key in _ARGUMENT_KEYS if key in value), NOTHING)
        return self._made(name, load(given) if isinstance(given, str) else given)

    def _read_headed(self, at: int, following: int) -> tuple[list[ToolRequest], int]:
        """Read a name and then its arguments: as JSON, or as pairs of key and value."""
        heading = _HEADING.match(self._text, at, following)
        if heading is None:
            return [], at
        value, end = self._decode(heading.end())
        if value is NOTHING:
            value, end = self._read_pairs(heading.end(), following)
        return self._made(heading["name"], value), end

    def _read_pairs(self, at: int, following: int) -> tuple[object, int]:
        pairs: dict[str, str] = {}
        while (key := _ARG_KEY.match(self._text, _skip(self._text, at), following)) is not None:
            close = self._text.find("</arg_value>", key.end(), following)
            if close < 0:
                break
            pairs[key[1].strip()] = self._text[key.end() : close]
            at = close + len("</arg_value>")
        return (pairs or NOTHING), at

    def _read_markup(self, name: str, start: int, following: int) -> tuple[list[ToolRequest], int]:
        """Read `<function=name>` or `<invoke name="name">` with its parameters, or JSON in it."""
        value, end = self._decode(start)
        if isinstance(value, dict):
            return self._made(name, value), end
        closer = _CLOSER.search(self._text, start, following)
        end = following if closer is None else closer.start()
        marks = list(_PARAMETER.finditer(self._text, start, end))
        given: dict[str, object] = {}
        for place, mark in enumerate(marks):
            stop = marks[place + 1].start() if place + 1 < len(marks) else end
            written = self._text[mark.end() : stop]
            written = written.partition("</parameter>")[0]
            given[mark["plain"] or mark["named"]] = written.strip("\n")
        if not marks and self._text[start:end].strip():
            return [], end
        return self._made(name, given), end

    def _made(self, name: object, given: object) -> list[ToolRequest]:
        """Make a call when the name is offered and the arguments can be its arguments."""
        if not isinstance(name, str) or not isinstance(given, dict):
            return []
        tool = self._tools.get(name) or self._tools.get(name.removeprefix("functions."))
        if tool is None:
            return []
        parameters = mapping(tool.parameters)
        required = parameters.get("required")
        if isinstance(required, list) and any(key not in given for key in required):
            return []
        properties = mapping(parameters.get("properties"))
        decoded = {key: _typed(value, properties.get(key)) for key, value in given.items()}
        return [ToolRequest(name=tool.name, arguments=decoded, source=self._source)]

    def _is_example(self, opener: re.Match[str], end: int) -> bool:
        """Say whether the call is quoted, or only part of a sentence about calls."""
        start = opener.start()
        before = self._text[max(start - 80, 0) : start].rstrip(" \t")
        if before[-1:] and before[-1] in _QUOTES and not _is_markup_end(before):
            return True
        if _EXAMPLE.search(before.rstrip()):
            return True
        tail = _TAIL.match(self._text, end)
        after = self._text[tail.end() if tail is not None else end :][:1]
        return after not in {"", "\n", "\r", "<", "[", "{", ";", ","}


def _is_markup_end(before: str) -> bool:
    """Say whether a `>` closes a tag, as in `<tool_call><function=...>`, instead of quoting."""
    return before[-1] == ">" and "<" in before.rpartition("\n")[2]


def _begins_line(text: str, at: int) -> bool:
    """Say whether only a little white space stands between the last line break and this place."""
    before = text[max(at - _MAX_INDENT, 0) : at]
    line = before.rpartition("\n")[2]
    return not line.strip(" \t") and (line != before or at <= _MAX_INDENT)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _unpacked(value: object) -> list[object]:
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    return value if isinstance(value, list) else [value]


def _typed(value: object, property_schema: object) -> object:
    """Read a value that markup gave as text by the type that the schema wants."""
    kind = mapping(property_schema).get("type")
    if not isinstance(value, str) or kind in {None, "string"}:
        return value
    decoded = load(value)
    return value if decoded is NOTHING else decoded


class _Fences:
    """Where fenced code stands in a text; asked for rising places only."""

    __slots__ = ("_at", "_edges")

    def __init__(self, text: str) -> None:
        self._edges = [fence.start() for fence in _FENCE.finditer(text)]
        self._at = 0

    def hold(self, place: int) -> bool:
        while self._at < len(self._edges) and self._edges[self._at] <= place:
            self._at += 1
        return self._at % 2 == 1
