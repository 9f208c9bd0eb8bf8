"""What may not change a finding: the order of spans, storing and reloading, the cut of a stream."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import pytest
from anthropic import Anthropic
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.capture.witnessing import watching
from tests.catalogue import calls, constraints, endings, results
from tests.catalogue.surfaces import CHAT
from tests.properties.lives import LIVES, as_case

from spanwitness.archive import read_traces
from spanwitness.archive.otlp_json import encode
from spanwitness.capture.client import wrap_client
from spanwitness.capture.policy import ContentPolicy
from spanwitness.normalize import build_runs
from spanwitness.rules.engine import evaluate
from spanwitness.testing import ScriptedProvider, call, reply, text, think

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spanwitness.model import SpanRecord

PROFILE = settings.get_profile("properties")
FAULTY = [
    recipe
    for recipe in (*constraints.RECIPES, *calls.RECIPES, *results.RECIPES, *endings.RECIPES)
    if CHAT in recipe.surfaces
]
CONTENT = st.sampled_from(["on", "off"])
CASES = st.one_of(
    st.sampled_from(FAULTY).map(lambda recipe: recipe.faulty),
    st.one_of(list(LIVES.values())).map(as_case),
)


def judged(traces: Iterable[Sequence[SpanRecord]]) -> dict[str, Any]:
    """What is said of each run: every verdict in full, and the ledger."""
    runs = [evaluate(run) for spans in traces for run in build_runs(spans)]
    return {e.run.run_id: (e.verdicts, e.ledger, e.run.is_complete) for e in runs}


@settings(PROFILE, max_examples=40)
@given(case=CASES, content=CONTENT, chance=st.randoms(use_true_random=False))
def test_neither_the_order_of_spans_nor_storing_them_changes_a_finding(
    stage, case, content, chance
):
    trial = stage.play(case, CHAT, content=content)
    traces = list(read_traces([trial.directory]))
    told = judged(traces)
    assert told
    shuffled = [list(spans) for spans in traces]
    for spans in shuffled:
        spans.extend(spans[: chance.randint(0, 2)])  # exported twice
        chance.shuffle(spans)
    assert judged(shuffled) == told
    again = stage.directory / "again.otlp.jsonl"
    mixed = [span for spans in shuffled for span in spans]
    chance.shuffle(mixed)
    again.write_bytes(b"\n".join(encode(mixed, batch=chance.randint(1, 7))))
    assert judged(read_traces([again])) == told


# --- any cut of a stream gives one span

SAID = reply(
    think("Hm, a page. 🤔"), text("Let me look, déjà vu."),
    call("read_page", {"page": 3, "note": "naïve ✓"}, id="call_1"),
    call("read_page", {"page": 4}, id="call_2"),
    input_tokens=20, output_tokens=9,
)  # fmt: skip
PARAMETERS = {"type": "object", "properties": {"page": {"type": "integer"}}}
QUESTION = [{"role": "user", "content": "How many mA?"}]


class Pieces(httpx2.SyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces


def http_client(body: bytes, cuts: list[int]) -> httpx2.Client:
    """A client whose server sends a stream in pieces."""
    edges = [0, *sorted({cut % len(body) for cut in cuts}), len(body)]
    pieces = [body[a:b] for a, b in pairwise(edges)]
    head = {"content-type": "text/event-stream"}
    return httpx2.Client(
        transport=httpx2.MockTransport(
            lambda _: httpx2.Response(200, headers=head, stream=Pieces(pieces))
        )
    )


def over_chat(http: httpx2.Client, url: str) -> None:
    client = wrap_client(openai.OpenAI(base_url=f"{url}/v1", api_key="k", http_client=http))
    tools = [{"type": "function", "function": {"name": "read_page", "parameters": PARAMETERS}}]
    list(
        client.chat.completions.create(
            model="gpt-4.1-mini", messages=QUESTION, tools=tools, stream=True,
            stream_options={"include_usage": True},
        )
    )  # fmt: skip


def over_responses(http: httpx2.Client, url: str) -> None:
    client = wrap_client(openai.OpenAI(base_url=f"{url}/v1", api_key="k", http_client=http))
    tools = [{"type": "function", "name": "read_page", "parameters": PARAMETERS}]
    list(client.responses.create(model="gpt-4.1-mini", input=QUESTION, tools=tools, stream=True))


def over_messages(http: httpx2.Client, url: str) -> None:
    client = wrap_client(Anthropic(base_url=url, api_key="k", http_client=http))
    tools = [{"name": "read_page", "input_schema": PARAMETERS}]
    list(
        client.messages.create(
            model="claude-sonnet-5", max_tokens=99, messages=QUESTION, tools=tools, stream=True
        )
    )


TALKS = {"chat": over_chat, "responses": over_responses, "messages": over_messages}


class Keeping(httpx2.HTTPTransport):
    """Keeps the body of the reply."""

    body = b""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        self.body = response.read()
        return response


@pytest.fixture(scope="module")
def bodies() -> dict[str, bytes]:
    """One streamed reply in each wire format."""
    found = {}
    for name, talk in TALKS.items():
        with ScriptedProvider([SAID]) as provider, httpx2.Client(transport=Keeping()) as http:
            transport = http._transport
            talk(http, provider.anthropic_url)
            found[name] = transport.body
    return found


def recorded(name: str, body: bytes, cuts: list[int], content: str) -> dict[str, Any]:
    """The attributes of the span, without those that differ from call to call."""
    with watching(policy=ContentPolicy(mode=content)) as seen:
        with http_client(body, cuts) as http:
            TALKS[name](http, "http://model.test")
        (chat,) = seen.chats
    changing = {"spanwitness.run_id", "gen_ai.response.time_to_first_chunk"}
    return {key: value for key, value in chat.items() if key not in changing}


@pytest.mark.parametrize("name", TALKS)
@settings(PROFILE, max_examples=25)
@given(cuts=st.lists(st.integers(1, 100_000), max_size=60), content=CONTENT)
def test_any_cut_of_a_stream_gives_one_span(bodies, name, cuts, content):
    body = bodies[name]
    whole = recorded(name, body, [], content)
    assert whole["spanwitness.response.ending"] == "complete"
    assert "call_2" in whole["spanwitness.response.tool_calls"]
    assert recorded(name, body, cuts, content) == whole
