"""Family A: results between the tool and the model, and between the model and the answer."""

from __future__ import annotations

import base64
import json

from tests.catalogue.kit import Case, recipe, tool
from tests.catalogue.surfaces import (
    ASYNC,
    CHAT,
    GEMINI,
    MESSAGES,
    RESPONSES,
    STREAMED,
    WHOLE,
    Ask,
)

from spanwitness.testing import call, text

PICTURE = base64.b64encode(bytes(range(256)) * 120).decode()
SHOT = [{"type": "text", "text": "screenshot taken"}, {"type": "image", "data": PICTURE}]
SHOOT = tool("shoot", SHOT)
SHOOTS = call("shoot", id="c1")
A24 = Case(
    ask=Ask("What does the chart show?"),
    tools=(SHOOT,),
    script=[SHOOTS, text("The chart shows 12% growth.")],
).varied(sends=lambda parts: "screenshot taken")
A24_HEALTHY = A24.varied(
    sends=lambda value: value, script=[SHOOTS, text("The chart shows growth.")]
)
A26 = A24.varied(
    tools=(tool("shoot", SHOT[1:]),),
    script=[SHOOTS, text("I see a long code string.")],
    sends=lambda parts: f"data:image/png;base64,{PICTURE}",
)
ROWS = [{"row": n, "name": f"pump {n * 7}"} for n in range(276)]
LIST = tool("list_pumps", ROWS)
A32 = Case(
    ask=Ask("How many pumps are there?"),
    tools=(LIST,),
    script=[call("list_pumps", id="c1"), text("There are 164 records in total.")],
).varied(sends=lambda rows: json.dumps(rows)[:6000] + "[truncated]")
A32_HEALTHY = A32.varied(
    sends=lambda rows: json.dumps(rows, indent=1),
    script=[call("list_pumps", id="c1"), text("The last one is pump 1925.")],
)
REPORT = "".join(f"Finding {n}: valve {n * 13} leaks at {n * 3 + 0.5} bar.\n" for n in range(250))
DELEGATE = tool("delegate", REPORT, takes=["task"])
DELEGATES = call("delegate", {"task": "inspect"}, id="c1")
A33 = Case(
    ask=Ask("What leaks?"), tools=(DELEGATE,), script=[DELEGATES, text("Valve 26 leaks.")]
).varied(sends=lambda report: report[-4000:])
A33_HEALTHY = A33.varied(sends=lambda report: report)

API_ERROR = "API request failed: channel_not_found"
POSTS = [call("post", {"text": "hi"}, id=f"c{n}") for n in range(1, 6)]
POST = tool(
    "post", API_ERROR, takes=["text"], effect="write", error_when=lambda r: r.startswith("API")
)
A38 = Case(ask=Ask("Post hi."), tools=(POST,), script=[*POSTS, text(API_ERROR)])
A38_RAISED = A38.varied(
    tools=(tool("post", RuntimeError(API_ERROR), takes=["text"], effect="write"),),
)
POSTED = tool("post", {"ok": True, "id": "m-41"}, takes=["text"], effect="write")
A38_HEALTHY = A38.varied(tools=(POSTED,), script=[POSTS[0], text("Posted as m-41.")])
A38_SWALLOWED = A38.varied(script=[POSTS[0], text("Your message is in the channel.")])

DIRECTORY = tool("list_dir", [{"name": "b.txt"}], takes=["path"])
WRITE = tool("write_file", "ok", takes=["path"], effect="write")
A43 = Case(
    ask=Ask("Add a to x, and list it."),
    tools=(DIRECTORY, WRITE),
    script=[
        call("list_dir", {"path": "x"}, id="c1"),
        call("write_file", {"path": "x/a"}, id="c2"),
        call("list_dir", {"path": "x"}, id="c3"),
        text("The directory lists b.txt."),
    ],
).varied(caches=True)
MEMOISED = tool("list_dir", [{"name": "b.txt"}], takes=["path"], is_memoised=True)
A47_TOOL = tool("get_log", lambda hours_back=24: "12 lines", takes=["hours_back:integer"])
A47_TOOL.definition["parameters"]["required"] = []
A47 = Case(
    ask=Ask("Were there failures in the last hour?"),
    tools=(A47_TOOL,),
    script=[
        call("get_log", {"hours": 1, "status_filter": "failure"}, id="c1"),
        text("The log has 12 lines."),
    ],
).varied(arguments=lambda given: {})
A47_HEALTHY = A47.varied(
    arguments=dict, script=[call("get_log", {"hours_back": 1}, id="c1"), text("It has 12 lines.")]
)
READ = tool("read_pdf", "The maximum is 417 mA.", takes=["page:integer"])
GET = tool("get", "10 degrees", takes=["city"])
A58 = Case(
    ask=Ask("What is the maximum?"),
    tools=(READ, GET),
    script=[
        call("read_pdf", {"page": 1}, id="c1"),
        call("get", {"city": "Bern"}, id="c2"),
        text("It is 417 mA."),
    ],
).varied(compacts="The calls so far were completed.")
SEARCH = tool("search_log", "", takes=["q"])
SEARCHES = call("search_log", {"q": "x"}, id="c1")
A59 = Case(
    ask=Ask("Is any host affected?"),
    tools=(SEARCH,),
    script=[SEARCHES, text("There is no relevant activity: 0 of 14 hosts are affected.")],
)
A59_HEALTHY = A59.varied(
    tools=(tool("search_log", "host 14: quiet", takes=["q"]),),
    script=[SEARCHES, text("Host 14 is quiet.")],
)
LOOKS = call("lookup", {"key": "k"}, id="c1")
A60 = Case(
    ask=Ask("What is stored under k?"),
    tools=(tool("lookup", {}, takes=["key"]),),
    script=[LOOKS, text("It is done.")],
).varied(sends=lambda value: value or "COMPLETED")
FALSY = {"an empty object": {}, "None": None, "zero": 0, "an empty list": [], "an empty text": ""}


def a60(value):
    return A60.varied(tools=(tool("lookup", value, takes=["key"]),))


def a60_healthy(value):
    return a60(value).varied(
        sends=lambda found: found, script=[LOOKS, text("Nothing is stored there.")]
    )


ALTERED = {"result_altered": "harness"}
PART_LOST = {"content_part_lost": "harness"}
RECIPES = [
    recipe(
        "A24 an image lost", A24, finds=PART_LOST, healthy=A24_HEALTHY, on=[*WHOLE, *STREAMED],
    ),
    recipe("A26 an image as text", A26, finds=PART_LOST, healthy=A24_HEALTHY, on=WHOLE),
    recipe(
        "A32 cut on the way", A32, finds=ALTERED, healthy=A32_HEALTHY, on=[*WHOLE, *STREAMED],
    ),
    recipe("A33 only the tail", A33, finds=ALTERED, healthy=A33_HEALTHY, on=[*WHOLE, *ASYNC]),
    recipe(
        "A33 only the head", A33.varied(sends=lambda report: report[:1024]), finds=ALTERED,
        healthy=None, on=WHOLE,
    ),
    recipe(
        "A38 an error text as the answer", A38, finds={"error_as_answer": "harness"},
        healthy=A38_HEALTHY, on=[*WHOLE, *STREAMED], off="not_assessed",
    ),
    recipe(
        "A38 an exception's text as the answer", A38_RAISED, finds={"error_as_answer": "harness"},
        healthy=None, on=WHOLE, off="not_assessed",
    ),
    recipe(
        "A38 an error swallowed", A38_SWALLOWED, finds={"tool_error_swallowed": "reasoning"},
        healthy=A38_SWALLOWED.varied(script=[POSTS[0], text("The post failed.")]),
        on=[*WHOLE, *STREAMED, *ASYNC], off="not_assessed",
    ),
    recipe(
        "A43 a cache of the host's", A43, finds={"served_from_cache": "harness"},
        healthy=A43.varied(caches=False), on=[*WHOLE, *STREAMED], off="not_assessed",
    ),
    recipe(
        "A43 a memoised tool", A43.varied(caches=False, tools=(MEMOISED, WRITE)),
        finds={"served_from_cache": "harness"}, healthy=None, on=[CHAT],
    ),
    recipe(
        "A47 a misspelt argument", A47, finds={"argument_not_in_schema": "reasoning"},
        healthy=A47_HEALTHY, on=[*WHOLE, *STREAMED], off="not_assessed",
    ),
    recipe(
        "A58 compacted away", A58, finds={"evidence_out_of_window": "harness"},
        healthy=A58.varied(compacts="So far: the maximum is 417 mA."), on=[*WHOLE, *STREAMED],
        off="not_assessed",
    ),
    recipe(
        "A59 silence read as a negative", A59, finds={"empty_result_answered": "reasoning"},
        healthy=A59_HEALTHY, on=[*WHOLE, *STREAMED],
    ),
    *(
        recipe(
            f"A60 {name} replaced", a60(value), finds=ALTERED, healthy=a60_healthy(value),
            on=WHOLE,
        )
        for name, value in FALSY.items()
    ),
]  # fmt: skip
CONTROLS = [
    (
        "A24 where images follow in a message of their own",
        A24_HEALTHY,
        [CHAT, RESPONSES, MESSAGES, GEMINI],
    ),
]
