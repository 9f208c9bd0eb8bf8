"""`spanwitness check` on recorded spans of the official instrumentation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.catalogue.kit import judge_stored
from typer.testing import CliRunner

from spanwitness.cli.app import app

TRACES = Path(__file__).parents[1] / "traces" / "otel-genai-openai"
CLEAN = [
    "clean", "clean_stream", "clean_responses_api", "clean_responses_api_stream", "parallel",
]  # fmt: skip
SEEN_WITHOUT_CONTENT = {"model_substituted", "truncated_output"}
"""They go by names of models, finish reasons, usage and the cap, which stand there all the same."""


def checked(scenario):
    path = str(TRACES / f"{scenario}.otlp.json")
    result = CliRunner().invoke(app, ["check", path, "--format", "json", "--all"])
    (run,) = json.loads(result.stdout)["runs"]
    return result.exit_code, run


@pytest.mark.parametrize("scenario", CLEAN)
def test_a_clean_run_ends_with_0_and_without_a_violation(scenario):
    exit_code, run = checked(scenario)
    assert exit_code == 0
    assert [v for v in run["verdicts"] if v["verdict"] == "violated"] == []
    assert {v["rule"] for v in run["verdicts"] if v["verdict"] == "holds"} >= {
        "tool_bypass", "output_constraint_bypass", "call_not_executed", "tool_error_swallowed",
    }  # fmt: skip
    assert {row["executed"] for row in run["ledger"] if row["call_id"]} == {"messages"}


@pytest.mark.parametrize("scenario", ["bypass", "bypass_responses_api"])
def test_a_bypass_names_the_output_constraint(scenario):
    exit_code, run = checked(scenario)
    assert exit_code == 1
    (found,) = [
        v for v in run["verdicts"] if v["verdict"] == "violated" and v["explained_by"] is None
    ]
    assert (found["rule"], found["fault"]) == ("output_constraint_bypass", "harness")


def test_an_error_that_the_loop_fed_back_as_text_is_told():
    exit_code, run = checked("tool_error")
    assert exit_code == 1
    broken = {v["rule"]: v["explained_by"] for v in run["verdicts"] if v["verdict"] == "violated"}
    assert [rule for rule, by in broken.items() if by is None] == ["tool_error_swallowed"]
    assert broken["value_ungrounded"] == "tool_error_swallowed"
    assert {row["returned"] for row in run["ledger"] if row["tool"] == "read_page"} == {"error"}


@pytest.mark.parametrize("scenario", ["clean_content_off", "bypass_content_off", "clean_events"])
def test_without_content_nothing_holds_that_cannot_be_seen(scenario):
    exit_code, run = checked(scenario)
    assert exit_code == 0
    words = {v["rule"]: v["verdict"] for v in run["verdicts"]}
    assert "violated" not in words.values()
    assert {rule for rule, word in words.items() if word == "holds"} <= SEEN_WITHOUT_CONTENT
    assert words["tool_bypass"] == words["output_constraint_bypass"] == "not_assessed"


@pytest.mark.parametrize("scenario", [*CLEAN, "bypass", "tool_error", "clean_content_off"])
def test_every_verdict_that_is_not_good_gives_its_reason(scenario):
    (judged,) = judge_stored([TRACES / f"{scenario}.otlp.json"])
    for verdict in judged.verdicts:
        if verdict.verdict in {"violated", "not_assessed"}:
            assert len(verdict.reason) > 20
            assert verdict.reason.endswith(".")
