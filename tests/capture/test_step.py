"""Protocol steps: what they decided, how right they were, and what defines them."""

from __future__ import annotations

import asyncio
import socket

import numpy as np
import openai
import pydantic
import pytest
from tests.capture.recording import watching

from spanwitness.capture import spans
from spanwitness.capture.client import wrap_client
from spanwitness.capture.run import run
from spanwitness.capture.step import step
from spanwitness.capture.step_facts import current_step, note_model_call
from spanwitness.capture.tool import tool
from spanwitness.errors import SettingsError
from spanwitness.testing import ScriptedProvider, text


def attributes_of(seen, index=0):
    return dict(seen.named("spanwitness.step")[index].attributes)


class Answer(pydantic.BaseModel):
    value: float


def is_right(answer):
    return answer == 42


def test_a_step_records_kind_tools_inputs_and_output():
    look = tool(name="look")(lambda: 1)

    @step(kind="solve", tools=[look], inputs="text+image", operation="op1")
    def solve(question):
        look()
        return {"value": 42}

    with watching() as seen:
        assert solve("q") == {"value": 42}
    (span,) = seen.named("spanwitness.step")
    assert span.name == "spanwitness.step solve"
    assert dict(span.attributes) == {
        "spanwitness.step.name": "solve",
        "spanwitness.step.kind": "solve",
        "spanwitness.tools.configured": ("look",),
        "spanwitness.step.inputs": "text+image",
        "spanwitness.step.operation": "op1",
        "spanwitness.step.output": '{"value":42}',
        "spanwitness.step.output_empty": False,
        "spanwitness.seq": 1,
        "spanwitness.run_id": seen.state.run_id,
    }
    assert seen.named("execute_tool")[0].parent.span_id == span.context.span_id


@pytest.mark.parametrize(
    ("judge", "verdict"),
    [
        (lambda r: r["ok"], True),
        (lambda r: not r["ok"], False),
        (lambda r: np.bool_(r["ok"]), True),
        (lambda r: "yes", None),
        (lambda r: 1, None),
        (lambda r: None, None),
        (lambda r: r["missing"], None),
    ],
)
def test_only_a_readable_verdict_counts(judge, verdict):
    """A52: a verdict that cannot be read is never a pass."""
    with watching() as seen:
        step(kind="verify", verdict=judge)(lambda: {"ok": True})()
    assert attributes_of(seen)["spanwitness.verdict.declared"] is True
    assert attributes_of(seen).get("spanwitness.verdict") is verdict


def test_a_revision_is_scored_before_and_after_by_one_rule():
    @step(kind="revise", before="answer", success=is_right)
    def improve(answer, feedback="none"):
        return answer + 1

    with watching() as seen:
        improve(41)
        improve(feedback="x", answer=42)
    first, second = attributes_of(seen, 0), attributes_of(seen, 1)
    assert (first["spanwitness.success.before"], first["spanwitness.success.after"]) == (
        False,
        True,
    )
    assert (second["spanwitness.success.before"], second["spanwitness.success.after"]) == (
        True,
        False,
    )
    assert first["spanwitness.success.rule"].startswith("is_right@")
    assert first["spanwitness.success.rule"] == second["spanwitness.success.rule"]


def test_the_answer_before_is_scored_before_the_step_changes_it():
    @step(kind="revise", before=lambda given: given["box"]["v"], after=lambda box: box["v"],
          success=is_right, success_rule="exact@2")  # fmt: skip
    def mutate(box):
        box["v"] = 42
        return box

    with watching() as seen:
        mutate({"v": 1})
    assert attributes_of(seen)["spanwitness.success.before"] is False
    assert attributes_of(seen)["spanwitness.success.after"] is True
    assert attributes_of(seen)["spanwitness.success.rule"] == "exact@2"


def test_a_success_rule_that_raises_leaves_success_open():
    with watching() as seen:
        step(kind="revise", before="a", success=lambda a: a.missing)(lambda a: a)(a=1)
    assert "spanwitness.success.before" not in attributes_of(seen)
    assert "spanwitness.success.after" not in attributes_of(seen)


SCHEMA = {"type": "object", "properties": {"value": {"type": "number"}}, "required": ["value"]}


@pytest.mark.parametrize("form", [Answer, SCHEMA], ids=["model", "schema"])
@pytest.mark.parametrize(
    ("output", "valid"),
    [
        (Answer(value=1.5), True),
        ({"value": 2}, True),
        ('{"value": 3}', True),
        ('{"value": ', False),
        ({"other": 1}, False),
        (None, False),
    ],
    ids=["instance", "dict", "json", "broken", "other", "none"],
)
def test_output_is_checked_against_its_form(form, output, valid):
    with watching() as seen:
        step(output=form)(lambda: output)()
    assert attributes_of(seen)["spanwitness.parser.valid"] is valid


def test_a_reference_to_another_document_is_never_fetched():
    with socket.create_server(("127.0.0.1", 0)) as elsewhere, watching() as seen:
        elsewhere.setblocking(False)
        form = {"$ref": f"http://127.0.0.1:{elsewhere.getsockname()[1]}/schema.json"}
        step(kind="revise", output=form, success=is_right, success_rule="exact@2")(lambda: 42)()
        with pytest.raises(BlockingIOError):
            elsewhere.accept()  # nobody asked
    assert "spanwitness.parser.valid" not in attributes_of(seen)
    assert attributes_of(seen)["spanwitness.success.after"] is True


class Unreadable(pydantic.BaseModel):
    value: float

    @pydantic.field_validator("value")
    @classmethod
    def refuse(cls, value):
        raise KeyError(value)


def test_a_form_that_raises_leaves_its_fact_open_and_costs_no_other():
    with watching() as seen:
        step(kind="revise", output=Unreadable, success=lambda answer: answer["value"] == 1,
             success_rule="one@1")(lambda: {"value": 1})()  # fmt: skip
    assert "spanwitness.parser.valid" not in attributes_of(seen)
    assert attributes_of(seen)["spanwitness.success.after"] is True


def test_json_nested_deeper_than_can_be_read_leaves_its_form_open():
    with watching() as seen:
        step(output={"type": "array"})(lambda: "[" * 100_000 + "]" * 100_000)()
    assert "spanwitness.parser.valid" not in attributes_of(seen)


def test_stating_facts_goes_on_working_where_all_is_switched_off():
    @step(kind="select")
    def pick(answers):
        current_step().set(evidence_adequate=True)
        return current_step().candidates(answers).choose(1)

    with watching() as seen:
        spans.set_enabled(False)
        try:
            assert pick(["a", "b"]) == "b"
        finally:
            spans.set_enabled(True)
        assert current_step() is None
    assert seen.spans == []


def test_facts_are_stated_from_inside():
    @step(kind="audit")
    def audit():
        current_step().set(
            evidence_adequate=False, audit_detected=True, audit_false_assurance=False,
            escalation_outcome="deferred", condition="masked", case_id="c7", validity=None,
        )  # fmt: skip
        current_step().set(validity="yes", escalation_outcome="lost")

    with watching() as seen:
        audit()
        assert current_step() is None
    found = attributes_of(seen)
    assert found["spanwitness.evidence.adequate"] is False
    assert found["spanwitness.audit.detected"] is True
    assert found["spanwitness.audit.false_assurance"] is False
    assert found["spanwitness.escalation.outcome"] == "deferred"
    assert found["spanwitness.condition"] == "masked"
    assert found["spanwitness.case_id"] == "c7"
    assert "spanwitness.validity" not in found
    assert found["spanwitness.step.output_empty"] is True


def test_operation_is_defined_by_the_model_calls_inside():
    def call(temperature):
        note_model_call(model="m", instruction="i", decoding={"t": temperature}, tools="d")

    @step
    def asks(*temperatures):
        for temperature in temperatures:
            call(temperature)

    with watching() as seen:
        asks(0)
        asks(0, 0)
        asks(1)
        asks()
        call(0)
    first, again, other, none = (
        attributes_of(seen, n).get("spanwitness.step.operation") for n in range(4)
    )
    assert first == again
    assert first != other
    assert none is None


def test_a_submit_step_freezes_what_it_returns():
    answer = [1]
    with watching(with_run=False) as seen, run("r"):
        step(kind="submit")(lambda: answer)()
        answer.append(2)
    (span,) = seen.named("spanwitness.step")
    (root,) = seen.named("invoke_workflow")
    assert span.attributes["spanwitness.submission.answer"] == "[1]"
    assert (
        root.attributes["spanwitness.submission.final_digest"]
        != (span.attributes["spanwitness.submission.digest"])
    )


def test_the_context_manager_form_ends_on_errors():
    with (
        watching(with_run=False) as seen,
        run("r") as r,
        pytest.raises(ValueError, match="v"),
        r.step("check", kind="verify") as check,
    ):
        assert current_step() is check
        check.set(verdict=False)
        check.output({"reason": "low"})
        raise ValueError("v")
    found = attributes_of(seen)
    assert found["spanwitness.verdict"] is False
    assert found["spanwitness.step.output"] == '{"reason":"low"}'
    assert found["error.type"] == "ValueError"


async def test_steps_in_parallel_tasks_keep_their_own_facts():
    @step
    async def one(n):
        await asyncio.sleep(0.001)
        current_step().set(case_id=str(n))
        await asyncio.sleep(0.001)
        return n

    with watching() as seen:
        await asyncio.gather(*(one(n) for n in range(5)))
    found = {
        (s.attributes["spanwitness.case_id"], s.attributes["spanwitness.step.output"])
        for s in seen.spans
    }
    assert found == {(str(n), str(n)) for n in range(5)}


async def test_a_cancelled_step_says_so():
    @step
    async def slow():
        await asyncio.sleep(10)

    with watching() as seen, pytest.raises(TimeoutError):
        await asyncio.wait_for(slow(), 0.01)
    assert attributes_of(seen)["spanwitness.cancelled"] is True


def test_a_generator_step_gives_its_return_value_or_its_items():
    @step(verdict=lambda value: value)
    def judges():
        yield "thinking"
        return True

    @step
    def streams():
        yield "a"
        yield "b"

    with watching() as seen:
        list(judges())
        list(streams())
    assert attributes_of(seen, 0)["spanwitness.verdict"] is True
    assert attributes_of(seen, 1)["spanwitness.step.output"] == '["a","b"]'


@pytest.mark.parametrize(
    "arguments",
    [{"kind": "guess"}, {"output": 3}, {"output": {"type": "nonsense"}}, {"tools": [3]}],
    ids=str,
)
def test_unusable_arguments_are_refused_at_once(arguments):
    with pytest.raises(SettingsError):
        step(**arguments)


def test_before_must_name_a_parameter():
    with pytest.raises(SettingsError, match="no parameter"):
        step(kind="revise", before="answr", success=is_right)(lambda answer: answer)


def test_operation_comes_from_the_requests_of_a_watched_client():
    def ask(temperature, question, system="Be exact."):
        with run("r") as r, r.step("solve"):
            client.chat.completions.create(
                model="gpt-test",
                temperature=temperature,
                messages=[
                    {"role": "system", "content": system},
                    {"role": "user", "content": question},
                ],
            )

    script = [text("a")] * 4
    with (
        ScriptedProvider(script) as provider,
        watching(with_run=False) as seen,
        openai.OpenAI(base_url=provider.openai_url, api_key="k") as client,
    ):
        wrap_client(client)
        ask(0, "one")
        ask(0, "two")
        ask(1, "one")
        ask(0, "one", system="Guess.")
    first, again, warmer, other = (
        attributes_of(seen, n)["spanwitness.step.operation"] for n in range(4)
    )
    assert first == again
    assert len({first, warmer, other}) == 3
