"""Every recipe of family A on real traffic: the fault, the step gone well, and content off."""

from __future__ import annotations

import pytest
from tests.catalogue import calls, constraints, content, endings, results
from tests.catalogue.kit import (
    assert_clean,
    assert_faulty,
    assert_healthy,
    assert_unseen_is_not_fine,
    each,
)
from tests.catalogue.surfaces import ASYNC, ASYNC_STREAMED, CHAT, STREAMED, WHOLE

from spanwitness.testing import text

STREAM = STREAMED[0]
PARTS = (constraints, calls, results, endings, content)
RECIPES = [each_one for part in PARTS for each_one in part.RECIPES]
CONTROLS = [control for part in PARTS for control in part.CONTROLS]


@each(RECIPES)
def test_the_fault_is_found(stage, recipe, surface):
    assert_faulty(stage, recipe, surface)


@each(RECIPES, healthy=True)
def test_the_healthy_variant_is_clean(stage, recipe, surface):
    assert_healthy(stage, recipe, surface)


@each(RECIPES)
def test_with_content_off_nothing_unseen_holds(stage, recipe, surface):
    assert_unseen_is_not_fine(stage, recipe, surface)


@pytest.mark.parametrize(
    ("case", "surface"),
    [
        pytest.param(case, surface, id=f"{name} on {surface}".replace(" ", "-"))
        for name, case, surfaces in CONTROLS
        for surface in surfaces
    ],
)
def test_what_only_looks_like_it_is_not_told(stage, case, surface):
    assert_clean(stage, case, surface)
    assert_clean(stage, case, surface, content="off")


@pytest.mark.parametrize("surface", endings.A54_SURFACES, ids=str)
def test_signed_reasoning_that_is_not_sent_back_is_told_as_a_remark(stage, surface):
    verdict = assert_clean(stage, endings.A54, surface).verdict("reasoning_not_replayed")
    assert (verdict.verdict, verdict.severity, verdict.fault) == ("violated", "info", "harness")
    off = assert_clean(stage, endings.A54, surface, content="off")
    assert off.verdict("reasoning_not_replayed").verdict == "violated"
    whole = assert_clean(stage, endings.A54.varied(forgets=()), surface)
    assert whole.verdict("reasoning_not_replayed").verdict == "holds"


@pytest.mark.parametrize("surface", WHOLE, ids=str)
def test_a_flat_denial_after_silence_is_a_remark(stage, surface):
    denial = results.A59.varied(script=[results.SEARCHES, text("There is no relevant activity.")])
    verdict = assert_clean(stage, denial, surface).verdict("empty_result_answered")
    assert (verdict.verdict, verdict.severity) == ("violated", "info")


def test_a_smaller_prompt_than_was_sent_stands_in_the_evidence(stage):
    trial = stage.play(constraints.A06, CHAT)
    evidence = trial.verdict("output_constraint_bypass").evidence
    assert evidence["prompt_smaller_than_request"]["input_tokens"] == 12


@pytest.mark.parametrize("body", [calls.UNNUMBERED, calls.RESENT], ids=["unnumbered", "resent"])
def test_calls_without_a_number_in_the_stream_are_two_calls(stage, body):
    trial = stage.play(calls.A13.varied(script=[body, text("It has 12 degrees in B.")]), STREAM)
    (lost,) = [v for v in trial.evaluations[0].findings if v.rule == "call_not_executed"]
    assert lost.evidence["call_ids"] == ["c1"]


@pytest.mark.parametrize("form", range(4), ids=[str(s) for s in WHOLE])
@pytest.mark.parametrize("case", [calls.A15, calls.A16, calls.A13, constraints.A21, calls.A11])
def test_the_path_with_and_without_streaming_tell_the_same(stage, case, form):
    told = []
    for surface in (WHOLE[form], STREAMED[form], ASYNC[form], ASYNC_STREAMED[form]):
        trial = stage.play(case, surface)
        chat = trial.evaluations[0].run.chats[0]
        told.append(
            (
                [(v.rule, v.verdict, v.reason) for v in trial.evaluations[0].verdicts],
                [(r.name, r.arguments, r.source) for r in chat.requested],
                [
                    getattr(part, "text", type(part).__name__)
                    for message in chat.output_messages
                    for part in message.parts
                    if getattr(part, "text", "x")  # in a stream an empty text is no part
                ],
                chat.finish_reasons,
                chat.usage.output_tokens,
            )
        )
    assert told.count(told[0]) == len(told), told
