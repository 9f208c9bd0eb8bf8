"""Family A: what was configured, and how loops, sub-agents and judges end; MCP sessions."""

from __future__ import annotations

from contextlib import AsyncExitStack

import mcp
from mcp.server import Server
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import ToolAnnotations
from tests.catalogue.kit import Case, Host, Tool, definition, recipe, tool
from tests.catalogue.surfaces import (
    ASYNC,
    ASYNC_STREAMED,
    CHAT,
    MESSAGES,
    RESPONSES,
    STREAMED,
    WHOLE,
    Ask,
)

import spanwitness as sw
from spanwitness.testing import call, reply, text, think

FILLER = "The quick brown fox jumps over the lazy dog, again and again, for hours. " * 830
A27 = Case(
    ask=Ask("Which page holds the total?", system=FILLER),
    script=[reply(text("How can I help?"), input_tokens=2051, output_tokens=20)],
)
A27_HEALTHY = A27.varied(
    script=[reply(text("How can I help?"), input_tokens=14_900, output_tokens=20)]
)
READ_PAGE = tool("read_page", "Total due: 37.2", takes=["page:integer"])
A29 = Case(
    ask=Ask("What is the total?"),
    tools=(READ_PAGE,),
    script=[reply(text("According to page 3, the total is 41.5."), input_tokens=11)],
)
A29_HEALTHY = A29.varied(
    script=[call("read_page", {"page": 3}, id="c1"), text("According to page 3, it is 37.2.")]
)

# --- MCP


def records():
    server = MCPServer("records")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def read_record(key: str) -> str:
        """Read a record."""
        if key == "gone":
            raise ValueError("record not found")
        return f"record {key} is active"

    return server


def mailer(name, tool_name="send_email"):
    server = MCPServer(name)

    def send(to: str) -> str:
        """Send an email."""
        return f"sent by {name}"

    server.add_tool(send, name=tool_name)
    return server


def mcp_body(make_servers, *, prompt="Is the record active?"):
    """An agent whose tools come from MCP servers; a listing that fails gives no tools."""

    async def body(stage, surface):
        async with AsyncExitStack() as stack:
            clients = [
                await stack.enter_async_context(sw.wrap_client(mcp.Client(server)))
                for server in make_servers()
            ]
            with sw.run("ask-records"):
                tools = [found for client in clients for found in await listed(client)]
                by_name = {found.name: found for found in tools}
                ask = Ask(prompt, offers=tuple(found.definition for found in by_name.values()))
                conversation = stage.conversation(surface, ask)
                return await Host().loop(conversation, by_name.values())

    return body


async def listed(client):
    try:
        found = (await client.list_tools()).tools
    except MCPError:
        return []
    return [through(client, tool) for tool in found]


def through(client, tool):
    async def run(**arguments):
        result = await client.call_tool(tool.name, arguments)
        return "".join(part.text for part in result.content)

    return Tool(run, definition(tool.name, tool.input_schema))


READS = call("read_record", {"key": "r7"}, id="c1")
A30 = Case(
    body=mcp_body(lambda: [Server("records")]),
    script=[text("[Checking records...] The tool returned: status active.")],
)
A30_HEALTHY = Case(
    body=mcp_body(lambda: [records()]), script=[READS, text("The record r7 is active.")]
)
A36 = Case(
    body=mcp_body(lambda: [records()]),
    script=[
        call("read_record", {"key": "gone"}, id="c1"),
        text("I have read it: all is in order."),
    ],
)
A36_HEALTHY = A30_HEALTHY
SENDS = call("send_email", {"to": "ada"}, id="c1")
A51 = Case(
    body=mcp_body(lambda: [mailer("one"), mailer("two")], prompt="Mail ada."),
    script=[SENDS, text("The mail is out.")],
)
A51_HEALTHY = Case(
    body=mcp_body(lambda: [mailer("one"), mailer("two", "send_letter")], prompt="Mail ada."),
    script=[SENDS, text("The mail is out.")],
)

# --- caps, sub-agents, judges

LOOK = tool("look", "nothing special", takes=["at"])
LOOKS = [call("look", {"at": f"page {n}"}, id=f"c{n}") for n in range(3)]
CONSTANT = "Agent stopped due to iteration limit or time limit."
A40 = Case(ask=Ask("Look at it."), tools=(LOOK,), script=[LOOKS[0], LOOKS[1]]).varied(
    max_turns=2, ends=lambda run, answer: run.set(turns=2, max_turns=2, output=CONSTANT)
)
A40_SILENT = A40.varied(ends=lambda run, answer: run.set(turns=2, max_turns=2))
A40_WORD = A40.varied(ends=lambda run, answer: run.set(termination="max_turns"))
A40_HEALTHY = A40.varied(
    max_turns=8,
    script=[*LOOKS[:2], text("It is nothing special.")],
    ends=lambda run, answer: run.set(turns=3, max_turns=3, output=answer),
)


def team(*, report, ends):
    """A parent whose tool hands its task to a sub-agent with a run of its own."""

    async def body(stage, surface):
        inner = Host(max_turns=2)

        @sw.tool(effect="read")
        async def delegate(task):
            with sw.run("researcher") as run:
                conversation = stage.conversation(surface, Ask(task, offers=(LOOK.definition,)))
                said = await inner.loop(conversation, [LOOK])
                ends(run)
            return said if report is None else report

        offered = {"type": "object", "properties": {"task": {"type": "string"}}}
        handed = Tool(delegate, definition("delegate", offered))
        with sw.run("lead"):
            conversation = stage.conversation(
                surface, Ask("What is on the pages?", offers=(handed.definition,))
            )
            return await Host().loop(conversation, [handed])

    return body


DELEGATES = call("delegate", {"task": "look at all pages"}, id="d1")
A42 = Case(
    body=team(report="", ends=lambda run: run.set(termination="max_turns")),
    script=[DELEGATES, *LOOKS[:2], text("The pages show a pump with 14 valves.")],
)
A42_POINTER = Case(
    body=team(report="See my report above.", ends=lambda run: None),
    script=[
        DELEGATES, LOOKS[0], text("It is nothing special."),
        text("The pages show a pump with 14 valves."),
    ],
)  # fmt: skip
A42_HEALTHY = Case(
    body=team(report=None, ends=lambda run: run.set(termination="completed")),
    script=[DELEGATES, LOOKS[0], text("It is nothing special."), text("Nothing special is there.")],
)


def judged(stage, surface, verdicts):
    @sw.step(kind="verify", verdict=lambda found: found.get("passed"))
    async def judge(answer):
        said = await stage.conversation(surface, Ask(f"Is this right? {answer}")).turn()
        return verdicts[said.text]

    async def body():
        with sw.run("judged") as run:
            answer = (await stage.conversation(surface, Ask("Say hello.")).turn()).text
            found = await judge(answer)
            run.submit(answer)
            return "pass" if found.get("passed", True) else "fail"

    return body()


PARTS = {"verdicts": [{"passed": False}, {"passed": False}]}
A52 = Case(
    body=lambda stage, surface: judged(stage, surface, {"no": PARTS}),
    script=[text("Hello."), text("no")],
)
A52_HEALTHY = Case(
    body=lambda stage, surface: judged(stage, surface, {"no": PARTS | {"passed": False}}),
    script=[text("Hello."), text("no")],
)
CAPPED = {"cap_reached": "harness"}
RECIPES = [
    recipe(
        "A27 a prompt cut from the front", A27, finds={"prompt_truncated": "harness"},
        healthy=A27_HEALTHY, on=[*WHOLE, STREAMED[0]], off="not_assessed",
    ),
    recipe(
        "A29 no place for tools", A29, finds={"tool_bypass": "reasoning"}, healthy=A29_HEALTHY,
        on=[*WHOLE, *STREAMED], off="not_assessed",
    ),
    recipe(
        "A30 a listing that failed", A30, finds={"discovery_failed": "harness"},
        healthy=A30_HEALTHY, on=[*ASYNC, ASYNC_STREAMED[0]],
    ),
    recipe(
        "A36 an MCP error taken for a success", A36, finds={"tool_error_swallowed": "reasoning"},
        healthy=A36_HEALTHY, on=[*ASYNC, ASYNC_STREAMED[2]], off="not_assessed",
    ),
    recipe(
        "A40 a constant sentence at the cap", A40, finds=CAPPED, healthy=A40_HEALTHY,
        on=[*WHOLE, *STREAMED],
    ),
    recipe("A40 silent at the cap", A40_SILENT, finds=CAPPED, healthy=None, on=WHOLE),
    recipe("A40 its reason lost by the caller", A40_WORD, finds=CAPPED, healthy=None, on=[CHAT]),
    recipe(
        "A42 a stopped sub-agent", A42,
        finds={"cap_reached": "harness", "empty_result_answered": "reasoning"},
        healthy=A42_HEALTHY, on=ASYNC,
    ),
    recipe(
        "A42 a pointer for a report", A42_POINTER, finds={"empty_result_answered": "reasoning"},
        healthy=A42_HEALTHY, on=ASYNC[:1], off="not_assessed",
    ),
    recipe(
        "A51 one name on two servers", A51, finds={"tool_name_collision": "harness"},
        healthy=A51_HEALTHY, on=[*ASYNC, ASYNC_STREAMED[0]],
    ),
    recipe(
        "A52 a judge without a verdict", A52, finds={"verdict_missing": "harness"},
        healthy=A52_HEALTHY, on=[*WHOLE, *ASYNC],
    ),
]  # fmt: skip
CONTROLS = [
    (
        "A36 told",
        A36.varied(script=[A36.script[0], text("I could not read it: no such record.")]),
        ASYNC,
    ),
    ("A29 the same without tools", A29.varied(tools=(), script=[text("Which document?")]), WHOLE),
]
SIGNED = [[think("Hm."), call("look", {"at": "page 0"}, id="c1")], text("It is nothing special.")]
A54 = Case(ask=Ask("Look at it."), tools=(LOOK,), script=SIGNED).varied(
    forgets=("thinking", "reasoning")
)
A54_SURFACES = [MESSAGES, RESPONSES, STREAMED[1], STREAMED[2]]
