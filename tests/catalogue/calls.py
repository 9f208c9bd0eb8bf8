"""Family A: calls between the model's reply and their dispatch."""

from __future__ import annotations

from tests.catalogue.kit import Case, recipe, tool
from tests.catalogue.surfaces import (
    ASYNC,
    ASYNC_STREAMED,
    CHAT,
    GEMINI,
    MESSAGES,
    STREAMED,
    WHOLE,
    Ask,
)

from spanwitness.testing import call, raw, text, think

IN_TEXT = {"call_in_text": "harness"}
LOST = {"call_not_executed": "harness"}
READ_FILE = tool("read_file", "The total is 37.2.", takes=["path"])
READS = call("read_file", {"path": "a.txt"}, id="c1")
MARKUP = {
    "function tags": (
        "<tool_call>\n<function=read_file>\n<parameter=path>a.txt</parameter>\n</function>\n"
        "</tool_call>"
    ),
    "JSON in a tag": (
        '<tool_call>{"name": "read_file", "arguments": {"path": "a.txt"}}</tool_call>'
    ),
    "bare JSON": '{"name": "read_file", "arguments": {"path": "a.txt"}}',
    "brackets": '[TOOL_CALL]{"name": "read_file", "arguments": {"path": "a.txt"}}[/TOOL_CALL]',
    "minimax": (
        '<minimax:tool_call>\n<invoke name="read_file">\n<parameter name="path">a.txt</parameter>\n'
        "</invoke>\n</minimax:tool_call>"
    ),
    "sections": (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0"
        '<|tool_call_argument_begin|>{"path": "a.txt"}<|tool_call_end|><|tool_calls_section_end|>'
    ),
}
A09 = Case(ask=Ask("What is in a.txt?"), tools=(READ_FILE,), script=[text(MARKUP["function tags"])])
A09_HEALTHY = A09.varied(script=[READS, text("It says that the total is 37.2.")])
FENCED = 'You call it so:\n```json\n{"name": "read_file", "arguments": {"path": "a.txt"}}\n```\n'

FINISH = tool("finish", "done", takes=["answer"], effect="write")
IN_THOUGHT = '<tool_call>{"name": "read_file", "arguments": {"path": "a.txt"}}</tool_call>'
A11 = A09.varied(script=[[think(IN_THOUGHT), text("")]])
A11_FINISH = A09.varied(
    tools=(FINISH,),
    script=[
        [
            think('<tool_call>{"name":"finish","arguments":{"answer":"204"}}</tool_call>'),
            text(""),
        ]
    ],
)
SEARCH = tool("web_search", "Bern has 10 degrees.", takes=["q"])
A12 = Case(
    tools=(SEARCH,),
    script=[
        [
            think("some models use <function=...>, others <tool_call>"),
            call("web_search", {"q": "x"}, id="c1"),
        ],
        text("It has 10 degrees."),
    ],
)
GET = tool("get", lambda city: {"A": "10 degrees", "B": "12 degrees"}[city], takes=["city"])
BOTH = [call("get", {"city": "A"}, id="c1"), call("get", {"city": "B"}, id="c2")]
A13 = Case(
    ask=Ask("How warm is it in A and B?"),
    tools=(GET,),
    script=[BOTH, text("It has 12 degrees in B.")],
).varied(dispatches=lambda calls: calls[-1:])
A13_HEALTHY = A13.varied(
    dispatches=list, script=[BOTH, text("It has 10 degrees in A and 12 degrees in B.")]
)


def sse(*deltas):
    head = '{"id":"x","object":"chat.completion.chunk","created":1,"model":"gpt-4.1-mini"'
    chunks = [
        f'{head},"choices":[{{"index":0,"delta":{d},"finish_reason":null}}]}}' for d in deltas
    ]
    end = f'{head},"choices":[{{"index":0,"delta":{{}},"finish_reason":"tool_calls"}}]}}'
    body = "".join(f"data: {chunk}\n\n" for chunk in [*chunks, end, "[DONE]"])
    return raw(body, headers={"content-type": "text/event-stream"})


def delta(call_id, city):
    function = f'{{"name":"get","arguments":"{{\\"city\\":\\"{city}\\"}}"}}'
    call = f'{{"index":null,"id":"{call_id}","type":"function","function":{function}}}'
    return f'{{"tool_calls":[{call}]}}'


UNNUMBERED = sse(delta("c1", "A"), delta("c2", "B"))
RESENT = sse(delta("c1", "A"), delta("c2", "B"), delta("c2", "B"))
PING = tool("ping", "pong")
A15 = Case(
    ask=Ask("Is the host there?"),
    tools=(PING,),
    script=[[text("Let me check."), call("ping", id="c1")]],
).varied(dispatches=lambda calls: [])
A15_HEALTHY = A15.varied(
    dispatches=list, script=[[text("Let me check."), call("ping", id="c1")], text("It is: pong.")]
)
A16 = Case(
    ask=Ask("What is in a.txt?"), tools=(READ_FILE,), script=[READS, text("It is 37.2.")]
).varied(dispatches=lambda calls: [])
MULTIPLY = tool("multiply", lambda a, b: a * b, takes=["a:integer", "b:integer"])
TRANSCRIPT = (
    'Action: multiply\nAction Input: {"a": 2123, "b": 210512}\n'
    "Observation: 467891963859\nAnswer: 467891963859"
)
A34 = Case(ask=Ask("What is 2123 times 210512?"), script=[text(TRANSCRIPT)])
A34_HEALTHY = A34.varied(
    tools=(MULTIPLY,),
    script=[call("multiply", {"a": 2123, "b": 210512}, id="c1"), text("It is 446916976.")],
)

RECIPES = [
    recipe(
        "A09 a call as text", A09, finds=IN_TEXT, healthy=A09_HEALTHY,
        on=[*WHOLE, *STREAMED, *ASYNC, *ASYNC_STREAMED],
    ),
    *(
        recipe(
            f"A09 as {name}", A09.varied(script=[text(markup)]), finds=IN_TEXT, healthy=None,
            on=[CHAT, STREAMED[0], MESSAGES],
        )
        for name, markup in MARKUP.items()
    ),
    recipe(
        "A09 after a sentence",
        A09.varied(script=[text(f"I will look.\n{MARKUP['JSON in a tag']}")]),
        finds=IN_TEXT, healthy=None, on=WHOLE,
    ),
    recipe(
        "A11 a call in the reasoning", A11, finds=IN_TEXT, healthy=A09_HEALTHY,
        on=[*WHOLE, *STREAMED],
    ),
    recipe(
        "A11 the finishing call in the reasoning", A11_FINISH, finds=IN_TEXT, healthy=None,
        on=[CHAT, MESSAGES, GEMINI],
    ),
    recipe(
        "A13 one of two calls survives", A13, finds=LOST, healthy=A13_HEALTHY,
        on=[*WHOLE, *STREAMED, *ASYNC],
    ),
    recipe(
        "A13 in threads", A13, finds=LOST, healthy=A13_HEALTHY.varied(in_threads=True), on=WHOLE
    ),
    recipe(
        "A15 text or calls", A15, finds=LOST, healthy=A15_HEALTHY, on=[*STREAMED, *ASYNC_STREAMED]
    ),
    recipe(
        "A16 ignored on the path without streaming", A16, finds=LOST,
        healthy=A16.varied(dispatches=list), on=WHOLE,
    ),
    recipe(
        "A34 its own observation", A34, finds={"fabricated_observation": "reasoning"},
        healthy=A34_HEALTHY, on=[*WHOLE, *STREAMED], off="not_assessed",
    ),
    recipe(
        "A34 with the tool at hand", A34.varied(tools=(MULTIPLY,)),
        finds={"fabricated_observation": "reasoning"}, healthy=A34_HEALTHY, on=WHOLE,
        off="not_assessed",
    ),
]  # fmt: skip
CONTROLS = [
    ("A09 a fenced example", A09.varied(script=[text(FENCED)]), WHOLE),
    ("A12 prose about calls", A12, [*WHOLE, *STREAMED]),
]
