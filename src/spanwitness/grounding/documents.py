"""Which document a piece of evidence comes from, as its call, its result or its text says."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from spanwitness.grounding.evidence import json_text
from spanwitness.model import Document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwitness.model import Execution

__all__ = ["document_at", "documents_of"]

_PATH_KEY = re.compile(
    r"(?:^|_)(?:path|file|filename|file_?name|uri|url|link|href|page_url)$", re.IGNORECASE
)
_TITLE_KEY = re.compile(
    r"(?:^|_)(?:title|document|doc|doc_?name|document_?name|article|part|product"
    r"|entity|topic|name|subject)$",
    re.IGNORECASE,
)
_ID_KEY = re.compile(
    r"(?:^|_)(?:id|doc_?id|document_?id|source|source_?id|key|sku|number|isbn|doi"
    r"|part_?number)$",
    re.IGNORECASE,
)
_QUERY_KEY = re.compile(
    r"^(?:query|q|search|search_?term|term|keyword|entity|question)$", re.IGNORECASE
)
_HEADER = re.compile(
    r"\A\s*(?:[-=*#>\s]*)?(?:document|doc|source|file|title|page|path|url|article)\s*[:=]\s*"
    r"[\"']?([^\n\"']{1,200})",
    re.IGNORECASE,
)
_HEADING = re.compile(r"\A\s*#{1,3}\s+([^\n]{1,200})|\A\s*([^\n]{3,120})\n\s*[=-]{3,}\s*(?:\n|\Z)")
_MARK = re.compile(
    r"^[ \t]*(?:#{1,3}[ \t]+|[-=*]{3,}[ \t]*)?(?:document|doc|source|file|title|url)(?:[ \t]+\d+)?"
    r"[ \t]*[:=][ \t]*[\"']?([^\n\"']{1,200})|<(?:document|source|doc)\b[^>\n]{0,40}?"
    r"(?:title|source|id|name|index)=[\"']([^\"'\n]{1,200})",
    re.IGNORECASE | re.MULTILINE,
)
_MAX_PARSED: Final = 2_000_000
_MAX_CHARS: Final = 200


def documents_of(execution: Execution) -> tuple[Document, ...]:
    """Return what the call and the result of an execution say about the document they are of.

    Args:
        execution: An execution of a tool.

    Returns:
        The surest first: paths and identifiers before titles, the result before the arguments, a
        header line before a first heading; a mere search query comes last. Empty = nothing says it.
    """
    found: list[Document] = []
    result = execution.result if execution.has_result else None
    value = _decoded(result)
    if isinstance(value, dict):
        found += _named(value, "result")
    arguments = _decoded(execution.arguments)
    if isinstance(arguments, dict):
        found += _named(arguments, "arguments")
    elif isinstance(arguments, str) and 0 < len(arguments) <= _MAX_CHARS:
        found.append(Document(identity=arguments, told_by="arguments"))
    text = result if isinstance(result, str) else _first_text(value)
    if text is not None:
        found += _of_text(text)
    if isinstance(arguments, dict):
        found += [
            Document(identity=str(v), told_by="arguments")
            for k, v in arguments.items()
            if _QUERY_KEY.match(str(k)) and isinstance(v, str) and 0 < len(v) <= _MAX_CHARS
        ]
    return tuple(dict.fromkeys(found))


def document_at(text: str, at: int) -> Document | None:
    """Return the document that the nearest mark before a place names, as in a list of passages.

    JSON lists of passages name it in the record around the place (`title`, `source`, `doc_id`).
    """
    if text.lstrip()[:1] in ("{", "["):
        return _of_record(text, at)
    last = None
    for found in _MARK.finditer(text, max(at - _RECORD, 0), at):
        last = found
    if last is None:
        return None
    return Document(identity=(last[1] or last[2]).strip(), told_by="header")


_FIELD = re.compile(
    r'"((?:\w*_)?(?:title|source|doc_?id|document_?id|document|path|url|file|file_?name|name|id))"'
    r'\s{0,4}:\s{0,4}"((?:[^"\\\n]|\\.){1,200})"',
    re.IGNORECASE,
)
_RECORD: Final = 4000


def _of_record(text: str, at: int) -> Document | None:
    """Look in the innermost JSON objects around a place for a field that names a document."""
    low, depth, opened = max(at - _RECORD, 0), 0, at
    for _ in range(3):
        start = _opening(text, low, opened)
        if start is None:
            return None
        end = _closing(text, at, min(at + _RECORD, len(text)))
        fields = {found[1].casefold(): found[2] for found in _FIELD.finditer(text, start, end)}
        best = min(fields, key=_rank_of, default=None)
        if best is not None:
            told = "title" if "title" in best or "name" in best else "result"
            return Document(identity=fields[best], told_by=told)  # type: ignore[arg-type]
        opened, depth = start, depth + 1
    return None


def _rank_of(key: str) -> int:
    for rank, part in enumerate(("path", "url", "file", "doc", "source", "title", "name", "id")):
        if part in key:
            return rank
    return 9


def _opening(text: str, low: int, at: int) -> int | None:
    """Return where the innermost object that is open at a place begins."""
    depth = 0
    while (opened := text.rfind("{", low, at)) >= 0:
        depth += text.count("}", opened, at)
        if not depth:
            return opened
        depth -= 1
        at = opened
    return None


def _closing(text: str, at: int, high: int) -> int:
    """Return where the innermost object that is open at a place ends."""
    depth = 0
    while (closed := text.find("}", at, high)) >= 0:
        depth += text.count("{", at, closed)
        if not depth:
            return closed
        depth -= 1
        at = closed + 1
    return high


def _decoded(value: object) -> object:
    if isinstance(value, str) and value.lstrip()[:1] == "{" and len(value) <= _MAX_PARSED:
        try:
            decoded: object = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return decoded
    return value


def _first_text(value: object) -> str | None:
    if isinstance(value, list):
        text = json_text(value[:4])
        return text if text.lstrip()[:1] not in ("{", "[") else None
    if isinstance(value, dict):
        for key in ("text", "content", "body", "markdown", "page_content"):
            inner = value.get(key)
            if isinstance(inner, str):
                return inner
    return None


def _named(value: Mapping[str, object], told_by: str) -> list[Document]:
    found: list[tuple[int, Document]] = []
    for key, item in value.items():
        if isinstance(item, (dict, list, bool)) or item is None:
            continue
        text = str(item).strip()
        if not 0 < len(text) <= _MAX_CHARS:
            continue
        if _PATH_KEY.search(key):
            found.append(
                (0, Document(identity=text, told_by="path" if told_by == "result" else "arguments"))
            )
        elif _ID_KEY.search(key):
            found.append((1, Document(identity=text, told_by=told_by)))  # type: ignore[arg-type]
        elif _TITLE_KEY.search(key):
            told = "title" if told_by == "result" else told_by
            found.append((2, Document(identity=text, told_by=told)))  # type: ignore[arg-type]
    found.sort(key=lambda pair: pair[0])
    return [document for _, document in found]


def _of_text(text: str) -> list[Document]:
    header = _HEADER.search(text[:2000])
    if header is not None:
        return [Document(identity=header[1].strip(), told_by="header")]
    heading = _HEADING.search(text[:2000])
    if heading is not None:
        return [Document(identity=(heading[1] or heading[2]).strip(" #*"), told_by="title")]
    return []
