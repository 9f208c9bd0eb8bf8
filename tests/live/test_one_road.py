"""The same run gives equal findings live and from its exported file."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings
from tests.live.agents import CONTRACT, SCHEMA, ask, openai_client

import spanwitness as sw
from spanwitness.archive import read_traces
from spanwitness.contracts import load
from spanwitness.live import configure as configuring
from spanwitness.live.evaluate import judge_trace
from spanwitness.testing import ScriptedProvider, call, reply, text, think


class Keep:
    def __init__(self):
        self.judged = []

    def take(self, judged):
        self.judged.append(judged)


def compared(judged):
    """What must be equal: every verdict in full, and how complete the run is."""
    return {
        j.run.run_id: (j.verdicts, j.run.is_complete, set(j.run.incomplete_reasons), j.contract)
        for j in judged
    }


def stored(directory, contracts):
    found = []
    for records in read_traces([directory]):
        found.extend(judge_trace(records, contracts))
    return found


SAID = st.sampled_from(
    [
        '{"value": 3.6, "quote": "VDD: supply voltage 1.7 V to 3.6 V"}',
        "The highest supply voltage is 3.6 V.",
        "I do not know.",
        "",
        'Calling read_page: {"page": 3}',
        "Page 12 says LGA-8.",
    ]
)
CALLS = st.builds(
    lambda page, n: [call("read_page", {"page": page})] * n,
    st.sampled_from([3, 12, 99]),
    st.integers(1, 3),
)
LAST = st.builds(
    lambda said, thought, reason: reply(
        *([think("hm")] if thought else []), text(said), finish_reason=reason
    ),
    SAID,
    st.booleans(),
    st.sampled_from(["stop", "length", None]),
)


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    turns=st.lists(CALLS, max_size=3),
    last=LAST,
    content=st.sampled_from(["on", "off"]),
    with_schema=st.booleans(),
    submits=st.booleans(),
    nested=st.booleans(),
)
def test_live_and_stored_judgements_are_equal(
    tmp_path_factory, turns, last, content, with_schema, submits, nested
):
    directory = tmp_path_factory.mktemp("road")
    (directory / "contract.yaml").write_text(CONTRACT)
    contract = load(directory / "contract.yaml")
    keep = Keep()
    witness = sw.configure(
        "svc", content=content, state_dir=directory, contracts=[contract], sinks=[keep]
    )
    try:
        with ScriptedProvider([*turns, last]) as provider, sw.run("extract") as run:
            client = openai_client(provider)
            more = {"response_format": SCHEMA} if with_schema else {}
            if nested:
                with sw.run("inner"):
                    answer = ask(client, **more)
            else:
                answer = ask(client, **more)
            if submits:
                run.submit(answer)
        assert witness.flush(10) is True
        live = compared(keep.judged)
        assert len(live) == 1 + nested
        assert compared(stored(witness.trace_dir, [contract])) == live
    finally:
        witness.shutdown()
        configuring._current = None


def test_a_foreign_run_is_judged_alike_live_and_stored(tmp_path):
    keep = Keep()
    witness = sw.configure("svc", state_dir=tmp_path, sinks=[keep])
    tracer = witness.provider.get_tracer("opentelemetry.instrumentation.openai_v2")
    with tracer.start_as_current_span(
        "invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}
    ):
        tracer.start_span(
            "chat m",
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.response.finish_reasons": ["length"],
                "gen_ai.request.model": "gpt-4o",
                "gen_ai.response.model": "gpt-3.5-turbo",
            },
        ).end()
    assert witness.flush(10) is True
    assert compared(stored(witness.trace_dir, [])) == compared(keep.judged)
    assert len(keep.judged) == 1
