from __future__ import annotations

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    incomplete,
    judge,
    offer,
    result,
    run,
    tool,
    user,
    without_content,
)

from spanwitness.model import ToolCallPart
from spanwitness.rules.engine import evaluate

READ = offer("read_file", path="string")
MARKUP = (
    "<tool_call>\n<function=read_file>\n<parameter=path>a.txt</parameter>\n"
    "</function>\n</tool_call>"
)
BARE = '{"name": "read_file", "arguments": {"path": "a.txt"}}'
FOUND = call("read_file", path="a.txt", source="text", id=None)
THOUGHT = call("read_file", path="a.txt", source="reasoning", id=None)


def foreign(says=None, **fields):
    """A reply as another instrumentation records it: nobody has looked for calls in its text."""
    return run(
        chat(says, **({"offers": [READ], "dialect": "otel_genai"} | fields)),
        dialects=("otel_genai",),
    )


VIOLATED = {
    # A09
    "markup in the text": run(chat(MARKUP, calls=[FOUND], offers=[READ])),
    "markup in the text of a foreign trace": foreign(MARKUP),
    "bare JSON in a foreign trace": foreign(BARE),
    # A11
    "a call inside the reasoning": run(chat(thinks=MARKUP, calls=[THOUGHT], offers=[READ])),
    "a call inside the reasoning of a foreign trace": foreign(thinks=MARKUP),
    "found when the call was made, content off": without_content(
        run(chat(MARKUP, calls=[FOUND], offers=[READ]))
    ),
    "the tool ran in an earlier turn only": foreign(
        MARKUP,
        given=[
            user("Read a.txt."),
            assistant(ToolCallPart(name="read_file", call_id="0", arguments={"path": "a.txt"})),
            result("x = 1", id="0"),
            assistant("x is 1."),
            user("Read it again."),
        ],
    ),
    "the run goes on without it": run(
        chat(MARKUP, calls=[FOUND], offers=[READ]), chat("There is no such file.", offers=[READ])
    ),
}
HOLDS = {
    "a structured call": run(
        chat(calls=[call("read_file", path="a.txt")], offers=[READ]),
        tool("read_file", gives="x = 1", path="a.txt"),
        chat("x is 1.", offers=[READ]),
    ),
    # A12: prose about syntax beside a real call
    "reasoning that talks about syntax": run(
        chat(
            thinks="some models use <function=...>, others <tool_call>",
            calls=[call("read_file", path="a.txt")],
            offers=[READ],
        ),
        tool("read_file", gives="x = 1", path="a.txt"),
        chat("done", offers=[READ]),
    ),
    "a tool of another name": foreign('{"name": "write_file", "arguments": {"path": "a.txt"}}'),
    "arguments the tool does not take": foreign('{"name": "read_file", "arguments": {"url": "x"}}'),
    "an example in prose": foreign(
        f"To read a file, write this:\n```json\n{BARE}\n```\nThen wait."
    ),
    "a thought beside a visible answer": run(
        chat("The file is empty.", thinks=MARKUP, calls=[THOUGHT], offers=[READ])
    ),
    "a protocol that works that way": run(
        chat(MARKUP, calls=[FOUND], offers=[READ]),
        tool("read_file", gives="x = 1", id=None, path="a.txt"),
        chat("x is 1.", offers=[READ]),
    ),
    "an answer in JSON": foreign('{"name": "Ada", "total": 41.5}'),
}
OTHERWISE = {
    "no tools": (run(chat(MARKUP)), "not_applicable"),
    "offered tools not recorded": (run(chat(MARKUP, offers=None)), "not_assessed"),
    "content off in a foreign trace": (without_content(foreign(MARKUP)), "not_assessed"),
    "a hole in the trace": (incomplete(run(chat("Fine.", offers=[READ]))), "not_assessed"),
}


@pytest.mark.parametrize("of", VIOLATED.values(), ids=VIOLATED)
def test_a_call_that_came_out_as_text_is_told_with_the_tool_and_the_place(of):
    verdict = judge("call_in_text", of)
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "error", "harness")
    assert verdict.evidence["tool"] == "read_file"


@pytest.mark.parametrize("of", HOLDS.values(), ids=HOLDS)
def test_prose_examples_and_protocols_are_not_told(of):
    assert judge("call_in_text", of).verdict == "holds"


@pytest.mark.parametrize(("of", "word"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_the_trace_cannot_show_is_not_judged(of, word):
    assert judge("call_in_text", of).verdict == word


def test_it_is_the_one_finding_of_its_reply():
    of = VIOLATED["markup in the text"]
    assert [v.rule for v in evaluate(of).findings] == ["call_in_text"]
