"""The small agent of the demo: it extracts one value from a datasheet, over the real OpenAI SDK.

Run twice, once with plain text answers and once with an output schema, against a provider that does
what strict servers do: it turns the schema into a grammar from the first token on, so that no tool
call can be produced any more. Nothing in the reply says so.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import spanwitness as sw
from spanwitness.testing import call, text

if TYPE_CHECKING:
    from collections.abc import Callable

    import openai

    from spanwitness.testing.script import Scripted, SeenRequest

_PAGES = {
    1: "AX100 pressure sensor. Overview, features, ordering information.",
    2: "AX100 absolute maximum ratings: supply voltage 4.5 V, storage -40 to 125 degC.",
    3: "AX100 operating conditions: supply voltage 1.7 to 3.6 V, supply current 345 uA.",
}
_QUESTION = "Which maximum supply voltage does the AX100 operate at? Give the value and its page."
_SYSTEM = "You extract values from a datasheet. Use the tools; do not guess."

SCHEMA = {
    "type": "object",
    "properties": {
        "value": {"type": "string"},
        "page": {"type": "integer"},
        "quote": {"type": "string"},
    },
    "required": ["value", "page", "quote"],
    "additionalProperties": False,
}
_TRUE_ANSWER = {"value": "3.6 V", "page": 3, "quote": "supply voltage 1.7 to 3.6 V"}
_INVENTED_ANSWER = {"value": "5.5 V", "page": 2, "quote": "operating supply 2.7 V to 5.5 V"}


def _definition(name: str, description: str, argument: str, kind: str) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {argument: {"type": kind}},
                "required": [argument],
            },
        },
    }


_TOOLS: list[Any] = [
    _definition("search_text", "Find pages that mention a phrase.", "query", "string"),
    _definition("read_page", "Read one page of the datasheet.", "page", "integer"),
    _definition("verify_quote", "Check that a quotation is printed on a page.", "quote", "string"),
]


@sw.tool(effect="read")
def search_text(query: str) -> list[dict[str, Any]]:
    """Return the pages that mention every word of the query."""
    words = query.lower().split()
    return [
        {"page": number, "start": page[:40]}
        for number, page in _PAGES.items()
        if all(word in page.lower() for word in words)
    ]


@sw.tool(effect="read")
def read_page(page: int) -> str:
    """Return the text of a page."""
    return _PAGES[page]


@sw.tool(effect="read")
def verify_quote(quote: str) -> dict[str, Any]:
    """Say whether, and where, a quotation is printed."""
    found = [number for number, page in _PAGES.items() if quote in page]
    return {"found": bool(found), "pages": found}


_FUNCTIONS: dict[str, Callable[..., object]] = {
    "search_text": search_text,
    "read_page": read_page,
    "verify_quote": verify_quote,
}


def answer_like_a_strict_server(request: SeenRequest) -> Scripted:
    """Play the provider: a model that would use its tools, behind a grammar that forbids it."""
    body: dict[str, Any] = request.json
    if body.get("response_format", {}).get("type") == "json_schema":
        return text(json.dumps(_INVENTED_ANSWER))
    n_results: int = sum(message["role"] == "tool" for message in body["messages"])
    turns: list[Scripted] = [
        call("search_text", {"query": "supply voltage"}),
        call("read_page", {"page": 3}),
        call("verify_quote", {"quote": _TRUE_ANSWER["quote"]}),
        text(json.dumps(_TRUE_ANSWER)),
    ]
    return turns[n_results]


def extract(client: openai.OpenAI, *, with_schema: bool) -> dict[str, Any]:
    """Run the agent loop once and return its answer.

    Args:
        client: A client that `sw.wrap_client` has seen.
        with_schema: Ask for the answer in the form of `SCHEMA`, on every request, as agent
            frameworks do.
    """
    form: dict[str, Any] = {}
    if with_schema:
        schema = {"name": "extraction", "strict": True, "schema": SCHEMA}
        form = {"response_format": {"type": "json_schema", "json_schema": schema}}
    messages: list[Any] = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": _QUESTION},
    ]
    with sw.run("extract-claim", item_id="ax100-vdd-max", subject="AX100", tools=_TOOLS) as run:
        while True:
            reply = client.chat.completions.create(
                model="scripted", messages=messages, tools=_TOOLS, **form
            )
            message = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                break
            for wanted in message.tool_calls:
                if wanted.type != "function":
                    continue
                function = _FUNCTIONS[wanted.function.name]
                result = function(**json.loads(wanted.function.arguments))
                messages.append(
                    {"role": "tool", "tool_call_id": wanted.id, "content": json.dumps(result)}
                )
        answer: dict[str, Any] = json.loads(message.content or "")
        run.submit(answer)
    return answer
