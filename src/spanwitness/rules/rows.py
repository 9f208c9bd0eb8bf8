"""Values of an answer that stand in the row of another thing than the one they are told of.

Rows are the records of a JSON list, or of an object of objects, that a tool returned, and the
results of several calls of one tool (told apart by their arguments). A clause of the answer that
names exactly one of them, and a value that only another of them holds, do not go together.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.normalize.values import find_values, missing
from spanwitness.rules.attribution import is_read
from spanwitness.rules.decoded import decoded
from spanwitness.rules.failures import is_success
from spanwitness.rules.wording import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spanwitness.model import Execution
    from spanwitness.rules.facts import Facts

__all__ = ["Misplaced", "misplaced_values"]

_CLAUSE: Final = re.compile(
    r"[\n;|]|,(?=\s|\")|(?<=[.!?])\s|\s(?:and|while|whereas|but|versus|vs)\s"
)
_TABLE_ROW: Final = re.compile(r"^\s*\|.*\|\s*$", re.MULTILINE)
_MAX_GROUPS: Final = 50
_MAX_ROWS: Final = 200
_MAX_CHARS: Final = 200_000
_SHORT: Final = 3
_GAP: Final = 40
"""Most characters between the name of a thing and what is told of it."""
_SHORT_TEXT: Final = 60
_LONGEST_VALUE: Final = 12
_VALUE: Final = re.compile(r"[-+$\u20ac\u00a3]?\d[\d.,:/-]*\d?\s?[^\W\d_%]{0,4}%?")
_DIGITS: Final = re.compile(r"\d+")
_PLAIN_NUMBER: Final = re.compile(r"[\d.,:/\-\s]*\Z")


class Row(msgspec.Struct, frozen=True):
    """One thing of a group, with what is told of it."""

    labels: tuple[str, ...]
    text: str
    source: Execution
    fields: Mapping[str, object] | None = None
    """The leaves of a record by key; `None` = a plain text."""


class Misplaced(msgspec.Struct, frozen=True, kw_only=True):
    """A value that is told of one thing and stands in the row of another."""

    tool: str
    span_ids: tuple[str, ...]
    """Where the value stands, then where that of the thing itself does."""
    is_call: bool
    """The rows are the results of several calls."""


def misplaced_values(facts: Facts, answer: str) -> tuple[Misplaced, ...]:
    """Return the values of an answer that belong to another row than it says.

    A value counts only where the row of the thing itself tells a value of its own, and no other
    text that the model was given holds the one that the answer tells.
    """
    digits = set(_DIGITS.findall(answer))
    if not digits or len(answer) > _MAX_CHARS:
        return ()
    clauses: list[str] | None = None
    found: list[Misplaced] = []
    for tool, rows, is_call in islice(_groups(facts, digits), _MAX_GROUPS):
        if clauses is None:
            clauses = [c for c in _CLAUSE.split(_plain_rows(answer)) if _DIGITS.search(c)]
        rest: list[str] | None = None
        for clause in clauses:
            for wrong in _of_clause(clause, rows):
                if rest is None:
                    rest = list(_others(facts, {id(row.source) for row in rows}))
                if not missing({wrong.value}, rest):
                    continue
                spans = (wrong.holder.source.span_id, wrong.owner.source.span_id)
                found.append(
                    Misplaced(tool=tool, span_ids=tuple(dict.fromkeys(spans)), is_call=is_call)
                )
    return tuple(found)


def _plain_rows(answer: str) -> str:
    """Write the rows of Markdown tables as clauses: the name, then what is told of it."""
    return _TABLE_ROW.sub(lambda row: row[0].replace("|", ":"), answer) if "|" in answer else answer


class _Wrong(msgspec.Struct, frozen=True):
    value: str
    owner: Row
    holder: Row


def _of_clause(clause: str, rows: Sequence[Row]) -> Iterator[_Wrong]:
    named = [(row, label) for row in rows for label in row.labels if _names(clause, label)]
    if len({id(row) for row, _ in named}) != 1 or not find_values(clause):
        return
    owner = named[0][0]
    told = _after(clause, [label for _, label in named])
    if told is None:
        return
    for value in find_values(told):
        if not value.startswith(("number:", "date:")) or not missing({value}, [owner.text]):
            continue
        holders = [
            row
            for row in rows
            if row is not owner and not missing({value}, [row.text]) and _alike(value, row, owner)
        ]
        if len(holders) == 1:
            yield _Wrong(value, owner, holders[0])


def _names(clause: str, label: str) -> bool:
    """Say whether a clause names a thing; a short word only in the form of one (`A: 10`)."""
    if len(label) < _SHORT and label.isalpha():
        found = re.search(rf"(?<!\w){re.escape(label)}\W{{0,3}}(?:[:=]|is\b|has\b)", clause)
        return found is not None
    folded, wanted = clause.casefold(), label.casefold()
    at = folded.find(wanted)
    while at >= 0:
        before, after = folded[at - 1 : at] if at else "", folded[at + len(wanted) :][:1]
        if not before.isalnum() and not after.isalnum():
            return True
        at = folded.find(wanted, at + 1)
    return False


def _after(clause: str, labels: Sequence[str]) -> str | None:
    """Return what a clause says of the thing it names: its first value, close behind the name."""
    folded = clause.casefold()
    end = max(folded.find(label.casefold()) + len(label) for label in labels)
    rest = clause[end:]
    found = _VALUE.search(rest)
    if found is None or found.start() > _GAP:
        return None
    return rest[: found.end()]


def _alike(value: str, holder: Row, owner: Row) -> bool:
    """Say whether both rows tell a value of the kind: under one key, or in texts of one form."""
    one, two = holder.fields, owner.fields
    if one is not None and two is not None:
        return any(
            key in two
            and _is_value(item)
            and not missing({value}, [as_text(item)])
            and (_is_number(two[key]) or bool(find_values(as_text(two[key]))))
            for key, item in one.items()
        )
    if one is not None or two is not None:
        return False
    texts = holder.text.strip(), owner.text.strip()
    if max(map(len, texts)) <= _SHORT_TEXT:
        return bool(find_values(owner.text))
    shapes = [_VALUE.sub("#", text) for text in texts]
    return _words(shapes[0]) == _words(shapes[1])


def _is_number(leaf: object) -> bool:
    return isinstance(leaf, int | float) and not isinstance(leaf, bool)


def _is_value(leaf: object) -> bool:
    """Say whether a leaf is a value rather than a text that holds one, such as an address."""
    return not isinstance(leaf, str) or len(leaf) <= _LONGEST_VALUE


def _words(shape: str) -> list[str]:
    return [word for word in shape.split() if "#" in word or word.islower()]


def _groups(facts: Facts, digits: set[str]) -> Iterator[tuple[str, list[Row], bool]]:
    by_tool: dict[str, list[Execution]] = {}
    for execution in facts.executions:
        if execution.has_result and is_success(execution) and is_read(facts, execution):
            by_tool.setdefault(execution.tool, []).append(execution)
    for tool, executions in by_tool.items():
        rows = _rows_of_calls(executions)
        if len(rows) > 1:
            yield tool, rows, True
        for execution in executions:
            text = execution.result
            if isinstance(text, str) and (
                text.lstrip()[:1] not in ("[", "{") or not any(d in text for d in digits)
            ):
                continue  # no records, or no value of the answer stands in it
            value = decoded(text)
            for rows in _rows_of_value(value, execution):
                yield tool, rows, False


def _rows_of_calls(executions: Sequence[Execution]) -> list[Row]:
    """Rows of the calls whose arguments differ in exactly the values that tell them apart."""
    given = [e.arguments for e in executions]
    mappings = [a for a in given if isinstance(a, dict)]
    if len(mappings) != len(executions) or not 1 < len(executions) <= _MAX_ROWS:
        return []
    labels = _telling(mappings)
    return [
        Row(labels[n], as_text(e.result)[:_MAX_CHARS], e, _fields(decoded(e.result)))
        for n, e in enumerate(executions)
        if labels[n]
    ]


def _rows_of_value(value: object, source: Execution) -> Iterator[list[Row]]:
    pending: list[object] = [value]
    n_seen = 0
    while pending and n_seen < 2000:
        item = pending.pop()
        n_seen += 1
        records: list[Mapping[str, object]] = []
        if isinstance(item, list):
            records = [r for r in item if isinstance(r, dict)]
            pending.extend(item)
        elif isinstance(item, dict):
            inner = [r for r in item.values() if isinstance(r, dict)]
            if len(inner) == len(item) and len({frozenset(r) for r in inner}) == 1:
                records = [{"": key, **r} for key, r in item.items()]
            pending.extend(item.values())
        if 1 < len(records) <= _MAX_ROWS:
            labels = _telling(records)
            rows = [
                Row(labels[n], as_text(r), source, _fields(r))
                for n, r in enumerate(records)
                if labels[n]
            ]
            if len(rows) > 1:
                yield rows


def _fields(value: object) -> Mapping[str, object] | None:
    """Return the leaves of a record: its own, and those of records inside it."""
    if not isinstance(value, dict):
        return None
    found: dict[str, object] = {}
    for key, item in value.items():
        if isinstance(item, dict):
            found.update({f"{key}.{k}": v for k, v in item.items()})
        elif not isinstance(item, list):
            found[str(key)] = item
    return found


def _telling(records: Sequence[Mapping[str, object]]) -> list[tuple[str, ...]]:
    """Return, by record, the texts that no other record of the group has under the same key."""
    found: list[list[str]] = [[] for _ in records]
    keys = {key for record in records for key in record}
    for key in sorted(keys):
        values = [record.get(key) for record in records]
        texts = [v.strip() for v in values if isinstance(v, str) and v.strip()]
        if len(texts) != len(records) or len({t.casefold() for t in texts}) != len(texts):
            continue
        if any(len(t) > 60 or _PLAIN_NUMBER.match(t) for t in texts):
            continue
        for n, text in enumerate(texts):
            found[n].append(text)
    return [tuple(labels) for labels in found]


def _others(facts: Facts, left_out: set[int]) -> Iterator[str]:
    """Yield what the model was given, without the results of these executions."""
    from spanwitness.model import TextPart

    for execution in facts.executions:
        if id(execution) not in left_out and execution.has_result:
            yield as_text(execution.result)
    for chat in facts.replies[-1:]:
        for message in chat.input_messages or ():
            if message.role in ("user", "system", "developer"):
                yield from (p.text for p in message.parts if isinstance(p, TextPart))
