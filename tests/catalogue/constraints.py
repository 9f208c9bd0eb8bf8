"""Family A: what a request constrains, and what came back all the same."""

from __future__ import annotations

from tests.catalogue.kit import Case, definition, recipe, tool
from tests.catalogue.surfaces import (
    ASYNC,
    ASYNC_STREAMED,
    CHAT,
    GEMINI,
    MESSAGES,
    RESPONSES,
    STREAMED,
    WHOLE,
    Ask,
)

from spanwitness.testing import call, error, reply, text, think

BYPASS = {"output_constraint_bypass": "harness"}


def form(**properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


INVOICE = form(total={"type": "number"})
QUOTED = form(total={"type": "number"}, quote={"type": "string"})
REPOSITORIES = form(repositories={"type": "array", "items": {"type": "object"}})
READ_PDF = tool("read_pdf", "Total due: 37.2", takes=["page:integer"])
LIST_REPOS = tool("list_repos", [{"name": "tracer"}])
READS = call("read_pdf", {"page": 1}, id="c1")

A01 = Case(ask=Ask(schema=INVOICE), tools=(READ_PDF,), script=[text('{"total": 41.5}')])
A01_QUOTE = A01.varied(
    schema=QUOTED, script=[text('{"total": 41.5, "quote": "Amount payable: 41.5"}')]
)
A03 = Case(
    ask=Ask("Which repositories do I have?", schema=REPOSITORIES),
    tools=(LIST_REPOS,),
    script=[text('{"repositories": [{"name": "my_repo_1"}, {"name": "my_repo_2"}]}')],
)
A03_HEALTHY = A03.varied(
    script=[call("list_repos", id="c1"), text('{"repositories": [{"name": "tracer"}]}')]
)
# The last request forces the answer's form, which tells it from a tool that the host lost.
A05 = Case(
    ask=Ask(
        choice="Invoice",
        schema_name="Invoice",
        offers=(READ_PDF.definition, definition("Invoice", INVOICE)),
    ),
    tools=(READ_PDF,),
    script=[call("Invoice", {"total": 41.5}, id="c1")],
).varied(dispatches=lambda calls: [c for c in calls if c.name != "Invoice"])
A05_HEALTHY = A05.varied(
    choice="auto then Invoice", script=[READS, call("Invoice", {"total": 37.2}, id="c2")]
)
A06 = A01.varied(
    system="You read invoices with great care. " * 100,
    script=[reply(text('{"total": 41.5}'), input_tokens=12)],
)
A06_HEALTHY = A06.varied(script=[READS, text('{"total": 37.2}')])
A08 = Case(
    ask=Ask("How high is it?", schema=form(height={"type": "integer"})),
    script=[text('{"height": "about 330 m"}')],
)
A08_HEALTHY = A08.varied(script=[text('{"height": 330}')])
GET = tool("get", "10 degrees", takes=["city"])
LOOK = tool("look", "12 degrees", takes=["city"])
A17 = Case(
    ask=Ask("How warm is it in Bern?", choice="required"),
    tools=(GET, LOOK),
    script=[text("My name is Ada.")],
)
GETS = call("get", {"city": "Bern"}, id="c1")
LOOKS = call("look", {"city": "Bern"}, id="c1")
A17_HEALTHY = A17.varied(choice="required then auto", script=[GETS, text("It has 10 degrees.")])
WRITE = tool("write_file", "ok", takes=["path", "text"], effect="write")
WRITES = call("write_file", {"path": "a", "text": "abc"}, id="c1")


def relabelled(surface, *, output_tokens=64):
    first = reply(
        WRITES,
        finish_reason=surface.word("calls"),
        input_tokens=10,
        output_tokens=output_tokens,
    )
    return [first, text("The file is there.")]


A19 = Case(ask=Ask("Write abc.", max_tokens=64), tools=(WRITE,), script=relabelled)
A19_HEALTHY = A19.varied(script=lambda surface: relabelled(surface, output_tokens=20))
A21 = Case(
    script=lambda s: [
        reply(text(""), finish_reason=s.word("length"), input_tokens=630, output_tokens=32_000)
    ]
)


def _gives_back(run, answer):
    run.set(output=answer)


A21_HEALTHY = A21.varied(script=[text("The total is on the last page.")])
A22 = Case(script=[reply(finish_reason="MALFORMED_FUNCTION_CALL")], tools=(GET,))
A22_HEALTHY = A22.varied(script=[GETS, text("It has 10 degrees.")])
A22_WORD = Case(script=[reply(text("Hm."), finish_reason="NEW_REASON_X")])
A23 = Case(script=lambda s: [reply(think("Let me see."), finish_reason=s.word("length"))])
A23_HEALTHY = A23.varied(script=[[think("Let me see."), text("I see.")]])
A45 = Case(ask=Ask("Hello.", model="gpt-x"), script=[reply(text("ok"), model="other-9")])
A57 = Case(
    ask=Ask(
        "Ping it.",
        offers=(READ_PDF.definition, definition("ping", {"type": None})),
    ),
    script=[text("I cannot use tools.")],
)
PING = tool("ping", "pong")
A57_HEALTHY = Case(
    ask=Ask("Ping it."), tools=(READ_PDF, PING), script=[call("ping", id="c1"), text("pong")]
)

RECIPES = [
    recipe(
        "A01 schema beside tools",
        A01,
        finds=BYPASS,
        healthy=A01.varied(script=[READS, text('{"total": 37.2}')]),
        on=[*WHOLE, *STREAMED, *ASYNC, *ASYNC_STREAMED],
    ),
    recipe(
        "A01 with an invented quotation",
        A01_QUOTE,
        finds=BYPASS,
        healthy=A01_QUOTE.varied(
            script=[READS, text('{"total": 37.2, "quote": "Total due: 37.2"}')]
        ),
        on=[*WHOLE, STREAMED[0]],
    ),
    recipe(
        "A01 control without the schema",
        A01,
        finds=BYPASS,
        healthy=A01.varied(schema=None, script=[READS, text('{"total": 37.2}')]),
        on=[CHAT],
    ),
    recipe(
        "A03 placeholders", A03, finds=BYPASS, healthy=A03_HEALTHY, on=[*WHOLE, *STREAMED],
        off="not_assessed",  # names are not counted
    ),
    recipe(
        "A03 an empty list", A03.varied(script=[text('{"repositories": []}')]),
        finds=BYPASS, healthy=None, on=WHOLE, off="not_assessed",
    ),
    recipe(
        "A03 an empty object", A03.varied(schema={"type": "object"}, script=[text("{}")]),
        finds=BYPASS, healthy=None, on=WHOLE, off="not_assessed",
    ),
    recipe(
        "A03 an empty object that the schema forbids",
        A03.varied(script=[text("{}")]),
        finds=BYPASS | {"schema_not_enforced": "harness"}, healthy=None, on=WHOLE,
        off={"output_constraint_bypass": "not_assessed", "schema_not_enforced": "violated"},
    ),
    recipe(
        "A05 the schema posing as a tool", A05,
        finds={"schema_posing_as_tool": "harness"}, healthy=A05_HEALTHY,
        on=[*WHOLE, *STREAMED], off="not_assessed",  # so are no values of arguments
    ),
    recipe("A06 tools dropped by a gateway", A06, finds=BYPASS, healthy=A06_HEALTHY, on=WHOLE),
    recipe(
        "A06 most of the prompt gone",
        A06.varied(system="You read invoices with great care. " * 600),
        finds=BYPASS | {"prompt_truncated": "harness"},
        healthy=A06_HEALTHY.varied(system="You read invoices with great care. " * 600), on=[CHAT],
        off={"output_constraint_bypass": "violated", "prompt_truncated": "not_assessed"},
    ),
    recipe(
        "A08 the wrong type", A08, finds={"schema_not_enforced": "harness"}, healthy=A08_HEALTHY,
        on=[*WHOLE, *STREAMED, ASYNC[0]],
    ),
    recipe(
        "A08 prose", A08.varied(script=[text("It is 330 m")]),
        finds={"schema_not_enforced": "harness"}, healthy=A08_HEALTHY, on=WHOLE,
    ),
    recipe(
        "A17 required", A17, finds={"tool_choice_ignored": "harness"}, healthy=A17_HEALTHY,
        on=[*WHOLE, *STREAMED],
    ),
    recipe(
        "A17 promised and not there", A17.varied(
            choice="auto", script=lambda s: [reply(finish_reason=s.word("calls"))]
        ),
        finds={"finish_reason_contradiction": "harness"}, healthy=None,
        on=[CHAT, MESSAGES, STREAMED[0], STREAMED[2]],
    ),
    recipe(
        "A17 another tool than the named one",
        A17.varied(choice="get then auto", script=[LOOKS, text("It has 12 degrees.")]),
        finds={"tool_choice_ignored": "harness"},
        healthy=A17_HEALTHY.varied(choice="get then auto"), on=WHOLE,
    ),
    recipe(
        "A17 a call although none was allowed",
        A17.varied(choice="none", script=[GETS, text("It has 10 degrees.")]),
        finds={"tool_choice_ignored": "harness"},
        healthy=A17.varied(choice="none", script=[text("I have not looked.")]), on=WHOLE,
    ),
    recipe(
        "A19 a cut reply under another name", A19, finds={"truncated_output": "harness"},
        healthy=A19_HEALTHY, on=[*WHOLE, *STREAMED],
    ),
    recipe(
        "A21 the budget spent thinking", A21, finds={"empty_output": "harness"},
        healthy=A21_HEALTHY, on=[*WHOLE, *STREAMED],
    ),
    recipe(
        "A21 nothing given back for an answer", A21.varied(ends=_gives_back),
        finds={"empty_output": "harness"}, healthy=A21_HEALTHY.varied(ends=_gives_back),
        on=WHOLE, off="not_assessed",
    ),
    recipe(
        "A22 a malformed call", A22, finds={"finish_reason_contradiction": "harness"},
        healthy=A22_HEALTHY, on=[GEMINI, STREAMED[3], ASYNC[3]],
    ),
    recipe(
        "A22 an unexpected call",
        A22.varied(script=[reply(text(""), finish_reason="UNEXPECTED_TOOL_CALL")]),
        finds={"finish_reason_contradiction": "harness"}, healthy=A22_HEALTHY, on=[GEMINI],
    ),
    recipe(
        "A22 a word nobody knows", A22_WORD, finds={"finish_reason_contradiction": "harness"},
        healthy=A22_WORD.varied(script=[text("Hm.")]), on=[CHAT, MESSAGES, STREAMED[0]],
    ),
    recipe(
        "A23 thoughts only", A23, finds={"empty_output": "harness"}, healthy=A23_HEALTHY,
        on=[*WHOLE, *STREAMED],
    ),
    recipe(
        "A45 another model", A45, finds={"model_substituted": "harness"},
        healthy=A45.varied(script=[reply(text("ok"), model="gpt-x-2026-01-01")]),
        on=[*WHOLE, *STREAMED],
    ),
    recipe(
        "A45 a smaller model",
        A45.varied(model="gpt-4.1", script=[reply(text("ok"), model="gpt-4.1-nano-2025-04-14")]),
        finds={"model_substituted": "harness"},
        healthy=A45.varied(
            model="gpt-4.1", script=[reply(text("ok"), model="openai/gpt-4.1-2025-04-14")]
        ),
        on=[CHAT, RESPONSES],
    ),
    recipe(
        "A57 a null schema", A57, finds={"tool_schema_invalid": "harness"}, healthy=A57_HEALTHY,
        on=WHOLE, off="not_assessed",
    ),
]  # fmt: skip

CONTROLS = [
    (
        "A06 refused loudly",
        A01.varied(
            script=[error(400, "unsupported", kind="invalid_request_error")],
            gives_up_on=("BadRequestError", "ClientError"),
        ),
        WHOLE,
    ),
    (
        "A22 asked again",
        A22.varied(
            script=[reply(finish_reason="MALFORMED_FUNCTION_CALL"), text("It has 10 degrees.")],
            asks_again="Once more, please.",
        ),
        [GEMINI],
    ),
    ("A27 small", A01.varied(schema=None, script=[text("Which invoice?")]), WHOLE),
]
"""Normal life beside the recipes: nothing at `warning` or above."""
