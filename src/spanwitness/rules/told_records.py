"""Statements of an answer that only the offered tools can know: records of the person who asks.

An answer from general knowledge may hold any number. It cannot hold what stands in somebody's
order, account or reservation. What the tools are about is taken from their own names and from those
of their arguments (`get_order_details`, `order_id`: orders).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from spanwitness.model import TextPart
from spanwitness.rules import tool_names, wording
from spanwitness.rules.disclosure import is_of_other_times, plain_text
from spanwitness.rules.stated import input_texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model import ToolDefinition
    from spanwitness.rules.facts import Facts

__all__ = ["reports_finding", "things_of", "told_records"]

_GENERIC: Final = frozenset(
    {
        "agent", "agents", "all", "amount", "and", "answer", "any", "args", "arguments",
        "assistant", "batch", "body", "by", "call", "chunk", "chunks", "code", "column", "content",
        "count", "country", "data", "date", "day", "description", "detail", "details", "doc",
        "docs", "document", "documents", "end", "expression", "field", "fields", "file", "files",
        "filter", "first", "for", "from", "full", "function", "human", "id", "ids", "in", "index",
        "info", "information", "input", "key", "keyword", "kind", "language", "last", "limit",
        "line", "lines", "link", "list", "location", "max", "message", "messages", "method",
        "methods", "min", "mode", "model", "name", "new", "no", "note", "number", "of", "offset",
        "on", "one", "only", "option", "options", "or", "output", "page", "pages", "parameter",
        "params", "path", "place", "point", "prompt", "query", "question", "range", "reason",
        "result", "results", "row", "rows", "search", "section", "size", "sort", "source", "start",
        "state", "status", "step", "string", "summary", "system", "table", "target", "term", "test",
        "text", "the", "thing", "think", "thought", "time", "title", "to", "tool", "topic", "total",
        "type", "types", "unit", "units", "url", "value", "values", "web", "with", "word", "words",
        "year", "zip",
    }
)  # fmt: skip
_SAME: Final = {
    "user": ("account", "profile", "identity"), "customer": ("account", "profile", "identity"),
    "client": ("account", "profile"), "member": ("account", "membership"),
    "booking": ("reservation",), "reservation": ("booking",), "payment": ("card",),
}  # fmt: skip
"""Words by which an answer speaks of what a tool calls otherwise."""
_FOUND: Final = (
    r"found|located|verified|confirmed|retrieved|identified|authenticated|pulled up|looked up|"
    r"looked at|checked|reviewed|accessed|opened|matched"
)
_STATE: Final = (
    r"(?:is|are|was|were|has|have|had|includes?|shows?|contains?|does(?:n['\u2019]t| not)|"
    r"costs?|totals?|expires?|departs?|arrives?)\b"
)
_BESIDE: Final = r"(?:(?!\b(?:that|which|who|whose|to|and)\b)[^.!?])"
"""A character between a thing and what is said of it, not of something else."""
_NOT_A_STATE = re.compile(
    r"\b(?:please|make sure|ensure|whether|confirm|tell me|provide|share|important|"
    r"appreciated|safe|secure|ready|welcome|needed|required|necessary|understandable|valued|"
    r"helpful|correct|complete|being|going to|to be)\b",
    re.IGNORECASE,
)
_MODAL = re.compile(
    r"\b(?:must|should|may|might|can|could|will|would|shall|need to|needs to|cannot)\b|"
    r"['\u2019](?:ll|d)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;()]\s+|\s+(?:but|however|because|so that|which|while)\s+", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{4,}")
_END = re.compile(r"(?<=[.!?])\s+|\n+")
_TOKEN = re.compile(r"[#@\w][\w#@-]*")
_SHORTEST_CODE = 6
_MANY_DIGITS = 7
_MEASURE = re.compile(r"\d+(?:[-_]?[a-z]{1,8}(?:-[a-z]+)*)?|\d{1,4}-\d{1,2}(?:-\d{1,4})?")
"""Numbers with a unit or a counted noun (`1000ml`, `500-piece`), and dates."""
_ORDINARY = re.compile(r"[a-z]+-?\d{1,2}|[a-z]+(?:-[a-z]+)*-\d{1,2}")
"""Words with a small number behind them (`option-2`, `windows11`)."""
_EXAMPLE = re.compile(
    r"\b(?:e\.?g\.?|for example|for instance|such as|format|looks? like|0{4,})|#\w?0{4,}",
    re.IGNORECASE,
)
_MONEY = re.compile(r"[$\u20ac\u00a3]\s?\d[\d,]*(?:\.\d+)?")
_LONGEST_CODE = 120
_TRIVIAL: Final = frozenset(
    {
        "able", "also", "been", "book", "case", "currently", "does", "done", "eligible", "from",
        "have", "into", "just", "more", "much", "need", "only", "other", "please", "still", "than",
        "that", "their", "them", "then", "there", "these", "they", "this", "under", "unfortunately",
        "very", "well", "what", "when", "where", "which", "will", "with", "would", "your",
    }
)  # fmt: skip


@lru_cache(maxsize=256)
def _things(names: frozenset[str]) -> frozenset[str]:
    found: set[str] = set()
    for name in names:
        words = tool_names.words_of(name)
        verb = next((word for word in words if tool_names.effect_of(word) is not None), None)
        for word in words:
            singular = word[:-1] if len(word) > 3 and word.endswith("s") else word
            is_plain = word == verb or len(word) < 4 or word.endswith(("ed", "ing", "ss"))
            if is_plain or {word, singular} & _GENERIC:
                continue
            found.add(singular)
            found.update(_SAME.get(singular, ()))
    return frozenset(found)


def things_of(tools: tuple[ToolDefinition, ...]) -> frozenset[str]:
    """Return what tools are about, in the singular, by their names and their arguments' names."""
    names: set[str] = set()
    for tool in tools:
        names.add(tool.name)
        schema = tool.parameters
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if isinstance(properties, dict):
            names.update(name for name in map(str, properties) if "_" in name)
    return _things(frozenset(names))


def told_records(facts: Facts) -> str:
    """Return the thing whose record an answer states although nothing gave it; empty when none.

    Asked where no tool read anything in the whole conversation. Two kinds of statements count. A
    clause in the indicative about "your" thing that holds a code or several words which stand
    neither in what was said before nor in a line of the instructions that holds data. And a code
    or an amount of money that stands nowhere in the input, in an answer that names such a thing.
    """
    things = _offered_things(facts)
    answer = facts.answer_text
    if not things or not answer:
        return ""
    text = plain_text(answer)
    named = _naming(things).search(text)
    if named is None:
        return ""
    given = _given(facts)
    for clause in _clauses(text):
        found = _about(things).search(clause)
        if found is None or _NOT_A_STATE.search(clause):
            continue
        said = found["said"] or found["was"] or found["of"] or ""
        if _tells_more(said, given):
            return (found["thing"] or found["that"] or found["this"]).casefold()
    whole = given + _instructions(facts)
    return named["thing"].casefold() if _has_record_value(text, whole) else ""


def _has_record_value(text: str, given: str) -> bool:
    """Say whether a text holds a code, an exact amount or two amounts that were not given."""
    amounts: set[str] = set()
    for sentence in _END.split(text):  # not at the point of a number
        if _EXAMPLE.search(sentence):
            continue
        for token in map(_bare, _TOKEN.findall(sentence)):
            if _is_opaque(token) and token.lstrip("#") not in given:
                return True
        amounts.update(m for m in _MONEY.findall(sentence) if m[1:].strip() not in given)
    return len(amounts) > 1 or any("." in amount for amount in amounts)


def _is_opaque(token: str) -> bool:
    """Say whether a token can only be the code of one thing: long, with digits, no measure."""
    core = "".join(c for c in token if c.isalnum())
    n_digits = sum(c.isdigit() for c in core)
    if len(core) < _SHORTEST_CODE or not n_digits or _MEASURE.fullmatch(token):
        return False
    return n_digits >= _MANY_DIGITS or (n_digits < len(core) and not _ORDINARY.fullmatch(token))


def _clauses(text: str) -> Iterator[str]:
    """Yield the clauses that state something: no question, condition, offer or wish."""
    for sentence in _END.split(text):
        if not sentence.rstrip().endswith("?"):
            for clause in _CLAUSE.split(sentence):
                if not is_of_other_times(clause) and not _MODAL.search(clause):
                    yield clause


def _codes(text: str) -> list[str]:
    """Return the words of a text that hold digits and more, are long numbers, or addresses."""
    return [w for w in text.split() if len(w) <= _LONGEST_CODE and _is_code(w)]


def _is_code(word: str) -> bool:
    n_digits = sum(c.isdigit() for c in word)
    if not n_digits:
        return "@" in word[1:-1] and "." in word
    return n_digits >= 5 or any(c.isalpha() or c in "_#@-" for c in word)


def _bare(code: str) -> str:
    return code.casefold().strip("*.,:;()[]\"'`")


def reports_finding(facts: Facts, text: str) -> str:
    """Return the thing that a text says in the first person was looked up; empty when none."""
    things = _offered_things(facts)
    if not things:
        return ""
    for sentence in wording.sentences(plain_text(text)):
        found = _finding(things).search(sentence)
        if found is not None and not wording.is_hedged(sentence):
            thing = found["thing"].casefold()
            # A history may keep what was said and drop the calls behind it.
            before = any(_finding(things).search(text) for text in _said_before(facts))
            return "" if before else thing
    return ""


def _said_before(facts: Facts) -> Iterator[str]:
    for chat in facts.run.chats[:1]:
        for message in chat.input_messages or ():
            if message.role == "assistant":
                yield from (part.text for part in message.parts if isinstance(part, TextPart))


def _offered_things(facts: Facts) -> frozenset[str]:
    found: frozenset[str] = frozenset()
    for offers in facts.offers:
        tools = tuple(t for t in offers.tools if facts.is_evidence(t))
        found |= things_of(tools)
    return found


@lru_cache(maxsize=64)
def _naming(things: frozenset[str]) -> re.Pattern[str]:
    thing = "|".join(sorted(map(re.escape, things)))
    return re.compile(rf"\b(?P<thing>{thing})s?\b", re.IGNORECASE)


@lru_cache(maxsize=64)
def _about(things: frozenset[str]) -> re.Pattern[str]:
    thing = "|".join(sorted(map(re.escape, things)))
    return re.compile(
        rf"\b(?:your (?:\w+ ){{0,2}}(?P<thing>{thing})s?\b(?P<said>{_BESIDE}{{0,60}}?\b{_STATE}.*)"
        rf"|the (?:\w+ )?(?P<that>{thing})s? (?P<was>(?:was|were|has been|had)\b.*)"
        rf"|(?P<this>{thing})s? (?:id |number |no\.? )?(?=\S*\d)[#*\w-]+\**:?\**(?P<of>.*))",
        re.IGNORECASE | re.DOTALL,
    )


@lru_cache(maxsize=64)
def _finding(things: frozenset[str]) -> re.Pattern[str]:
    thing = "|".join(sorted(map(re.escape, things)))
    return re.compile(
        rf"\bI(?:['\u2019]ve| have| was able to)?(?: (?:just|already|now|also|successfully|"
        rf"have))* (?:{_FOUND}|(?<=able to )(?:locate|verify|find|confirm)) (?:\w+ ){{0,3}}"
        rf"(?:your|the|this|that|an?|both)(?: \w+){{0,2}} (?P<thing>{thing})s?\b",
        re.IGNORECASE,
    )


def _given(facts: Facts) -> str:
    """Return what was said before, and the lines of the instructions that hold data."""
    return "\n".join(_given_texts(facts)).casefold()


def _given_texts(facts: Facts) -> Iterator[str]:
    for chat in facts.run.chats[-1:]:
        for message in chat.input_messages or ():
            for part in message.parts:
                if not isinstance(part, TextPart):
                    continue
                if message.role in ("user", "assistant"):
                    yield part.text
                else:
                    yield from (line for line in part.text.splitlines() if _codes(line))


def _instructions(facts: Facts) -> str:
    """Return everything else that the last request holds."""
    return "\n".join(text for chat in facts.run.chats[-1:] for text in input_texts(chat)).casefold()


def _tells_more(said: str, given: str) -> bool:
    """Say whether a statement holds a telling word or a code that was not given."""
    if any(_bare(code) not in given for code in _codes(said)):
        return True
    words = [w.casefold() for w in _WORD.findall(said)]
    telling = [w for w in words if w not in _TRIVIAL]
    missing = [w for w in telling if w[:-1] not in given]
    return len(missing) >= 2
