"""`argument_ungrounded`: a call was made with an identifier that the model had from nowhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spanwitness.rules import tool_names
from spanwitness.rules.failures import is_success
from spanwitness.rules.given_names import GivenNames
from spanwitness.rules.rule import not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, REQUESTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.rules.facts import Facts, Request
    from spanwitness.rules.rule import Outcome

_NAMES_ONE: Final = frozenset(
    {
        "account", "accounts", "booking", "code", "codes", "customer", "email", "emails", "handle",
        "iban", "id", "ids", "invoice", "isbn", "item", "mail", "no", "number", "numbers", "order",
        "payment", "phone", "product", "ref", "reference", "reservation", "sku", "ticket", "user",
        "username",
    }
)  # fmt: skip
"""Last words of argument names whose values name one thing that exists already."""
_MADE: Final = frozenset(
    {
        "client", "correlation", "count", "generated", "idempotency", "index", "limit", "line",
        "max", "min", "new", "nonce", "page", "quantity", "random", "request", "row", "session",
        "span", "step", "top", "trace", "uuid", "version",
    }
)  # fmt: skip
"""Words of argument names whose values the caller makes up, or counts."""
_MAKES: Final = frozenset({"add", "create", "generate", "make", "new", "register", "write"})
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]{2,}\Z")
_TOKEN = re.compile(r"[^\W_][\w.\-/:#@+]*\Z")
_MIN_CHARS = 4
_MAX_VALUES = 200


@rule("argument_ungrounded", severity="warning", fault="reasoning", needs=CHATS | REQUESTS)
def argument_ungrounded(facts: Facts) -> Outcome:
    """A call was made with an identifier that stands nowhere in what the model had been given.

    Claims: The value of an argument that names one existing thing (an id, a number of an order or
        an account, an address: by the argument's name and the value's form) stands in no message,
        result or schema that the model had before it asked for the call, however it is spelled;
        only the model itself wrote it. A call that failed is not told, nor is one for a thing that
        the call itself makes. A write is told where it succeeded or may have, a read where it
        returned something.
    Needs: Arguments of the calls and the messages of the requests before them.
    Not assessed when: Arguments or messages are not recorded or cut, the input holds parts that
        cannot be read, or part of it is held by the provider.
    Can be wrong: An identifier known from training (a standard's number, a public account) is
        reported; one built by a rule that the instructions give in words is, too.
    """
    wanted = list(_identifiers(facts))
    if not wanted:
        if not facts.knows_requests or any(r.call.arguments is None for r in facts.requests):
            return not_assessed("the arguments of some calls are not recorded")
        return facts.nothing_found if facts.requests else facts.no_subject
    given = GivenNames(facts)
    invented: list[tuple[Request, str]] = []
    unknown = ""
    for request, path, text in wanted[:_MAX_VALUES]:
        word = given.holds(text, before=request.chat_index)
        if word == "unknown":
            unknown = given.reason
        elif word == "no" and _took_effect(facts, request):
            invented.append((request, path))
    if invented:
        return _violated(invented)
    return not_assessed(unknown) if unknown else facts.nothing_found


def _identifiers(facts: Facts) -> Iterator[tuple[Request, str, str]]:
    output = facts.output_tools
    for request in facts.requests:
        call = request.call
        if call.side not in ("client", "mcp") or call.name in output:
            continue
        words = tool_names.words_of(call.name)
        makes = not _MAKES.isdisjoint(words)
        for path, text in _leaves(call.arguments):
            key = tool_names.words_of(path)
            names_one = key[-1:] and (key[-1] in _NAMES_ONE or _EMAIL.match(text))
            if not names_one or not _MADE.isdisjoint(key):
                continue
            if makes and set(key[:-1]) <= set(words) and key[-1] in ("id", "code", "number"):
                continue  # the thing that the call makes
            if _is_identifier(text):
                yield request, path, text


def _leaves(arguments: object) -> Iterator[tuple[str, str]]:
    """Yield name and text of the leaves of arguments; items of a list have the list's name."""
    pending: list[tuple[str, object]] = [("", arguments)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict):
            pending.extend((str(key), inner) for key, inner in value.items())
        elif isinstance(value, list):
            pending.extend((name, inner) for inner in value)
        elif isinstance(value, str):
            yield name, value.strip()
        elif isinstance(value, int) and not isinstance(value, bool):
            yield name, str(value)


def _is_identifier(text: str) -> bool:
    if len(text) > 80 or not any(c.isdigit() for c in text):
        return _EMAIL.match(text) is not None and len(text) <= 80
    text = text.lstrip("#")
    return len(text) >= _MIN_CHARS and (
        _EMAIL.match(text) is not None or _TOKEN.match(text) is not None
    )


def _took_effect(facts: Facts, request: Request) -> bool:
    """Say whether the call gave something: a refused one did no harm, and somebody heard of it."""
    execution = None
    if request.call.call_id is not None:
        execution = facts.execution_of.get(request.call.call_id)
    if execution is None:
        return False
    if execution.outcome == "unknown" and not execution.has_result:
        return facts.effect_of(execution) == "write"
    return is_success(execution) and execution.outcome != "empty"


def _violated(invented: list[tuple[Request, str]]) -> Outcome:
    tools = sorted({request.call.name for request, _ in invented})
    keys = sorted({path for _, path in invented})
    n = len(invented)
    spans = [request.chat.span_id for request, _ in invented]
    return violated(
        f"{', '.join(tools[:5])} was called with {n} identifier{'s' if n != 1 else ''}"
        f" ({', '.join(keys[:5])}) that nothing the model had been given holds.",
        span_ids=tuple(dict.fromkeys(spans))[:10],
        evidence={
            "tools": tools[:20],
            "arguments": keys[:20],
            "call_ids": [request.call.call_id for request, _ in invented[:20]],
            "n_identifiers": n,
        },
    )
