"""Another model answered than the one that was asked."""

from __future__ import annotations

import pytest
from tests.rules.builders import chat, incomplete, run

from spanwitness.contracts import Contract
from spanwitness.rules.facts import Facts
from spanwitness.rules.model_names import compare
from spanwitness.rules.model_substituted import model_substituted

SAME = [
    ("gpt-x", "gpt-x-2026-01-01"),
    ("gpt-4o", "gpt-4o-2024-08-06"),
    ("gpt-4", "gpt-4-0613"),
    ("openai/gpt-4o", "gpt-4o-2024-08-06"),
    ("gpt-4o", "azure/gpt-4o"),
    ("gpt-35-turbo", "gpt-3.5-turbo-0125"),
    ("gpt-4-turbo-preview", "gpt-4-0125-preview"),
    ("o3-mini", "o3-mini-2025-01-31"),
    ("gpt-5-chat-latest", "gpt-5-chat"),
    ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
    ("anthropic/claude-sonnet-4", "anthropic/claude-4-sonnet-20250522"),
    ("us.anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet-20241022"),
    ("claude-3-7-sonnet@20250219", "claude-3-7-sonnet-20250219"),
    ("claude-opus-4-0", "claude-opus-4-20250514"),
    ("models/gemini-2.0-flash", "gemini-2.0-flash-001"),
    ("gemini-2.5-flash", "models/gemini-2.5-flash-preview-05-20"),
    ("gemini-flash-latest", "gemini-2.5-flash-preview-09-2025"),
    ("meta-llama/llama-3.3-70b-instruct:free", "meta-llama/llama-3.3-70b-instruct"),
    ("accounts/fireworks/models/llama-v3p1-8b-instruct", "llama-3.1-8b"),
    ("llama3", "llama3:latest"),
    ("llama3.1:8b", "llama3.1:8b-instruct-q4_K_M"),
    ("Qwen/Qwen2.5-72B-Instruct", "qwen2.5-72b-instruct"),
    ("qwen3-235b-a22b", "Qwen/Qwen3-235B-A22B-FP8"),
    ("mistral-large-latest", "mistral-large-2411"),
    ("grok-4", "grok-4-0709"),
    ("deepseek-chat", "deepseek-v3.2"),
    ("command-r-plus", "command-r-plus-08-2024"),
    ("extract-prod", "extract-prod-2026-01-01"),
    ("MODEL-A", "model-a"),
    ("gpt-4o", "gpt-4o-2024"),
]
OTHER = [
    ("gpt-x", "other-9"),
    ("gpt-4o", "gpt-4o-mini"),
    ("gpt-4o", "gpt-4o-mini-2024-07-18"),
    ("gpt-4", "gpt-3.5-turbo"),
    ("gpt-4", "gpt-4o"),
    ("gpt-4.1", "gpt-4-0613"),
    ("gpt-5", "gpt-oss-120b"),
    ("o3", "o3-mini"),
    ("o3", "gpt-4o"),
    ("gpt-4o", "claude-3-5-sonnet-20241022"),
    ("claude-3-opus-20240229", "claude-3-haiku-20240307"),
    ("claude-opus-4", "claude-sonnet-4"),
    ("claude-sonnet-4-5", "claude-sonnet-4-20250514"),
    ("gemini-2.5-pro", "gemini-2.5-flash"),
    ("llama-3.1-70b-instruct", "llama-3.1-8b-instruct"),
    ("deepseek-r1", "deepseek-r1-distill-llama-70b"),
]
UNKNOWN = [
    ("my-deployment", "gpt-4o"),
    ("prod-7", "gemini-2.5-pro"),
    ("openrouter/auto", "gpt-4o"),
    ("auto", "claude-3-opus-20240229"),
    ("gpt-4o", "gpt-4o-audio-preview"),
    ("gpt-3.5-turbo", "gpt-3.5-turbo-16k"),
]


def judge(asked: str | None, answered: str | None, *contracts: Contract) -> str:
    one = run(chat("ok", request_model=asked, response_model=answered))
    return model_substituted.check(Facts(one, contracts)).word


@pytest.mark.parametrize(("asked", "answered"), OTHER)
def test_another_family_generation_or_size_is_violated(asked: str, answered: str) -> None:
    assert judge(asked, answered) == "violated"


@pytest.mark.parametrize(("asked", "answered"), SAME)
def test_dates_prefixes_and_variants_of_one_name_hold(asked: str, answered: str) -> None:
    assert judge(asked, answered) == "holds"


@pytest.mark.parametrize(("asked", "answered"), [*UNKNOWN, (None, "gpt-4o"), ("gpt-4o", None)])
def test_names_that_say_nothing_are_not_assessed(asked: str | None, answered: str | None) -> None:
    assert judge(asked, answered) == "not_assessed"


def test_a_contract_says_what_a_deployment_stands_for() -> None:
    contract = Contract(contract="c", version="1", models={"my-deployment": ("gpt-4o*",)})
    assert judge("my-deployment", "gpt-4o-2024-08-06", contract) == "holds"
    assert judge("my-deployment", "gpt-3.5-turbo", contract) == "violated"
    assert judge("other-deployment", "gpt-4o", contract) == "not_assessed"


def test_one_substituted_call_among_many_is_named() -> None:
    one = run(
        chat("a", request_model="gpt-4o", response_model="gpt-4o-2024-08-06"),
        chat("b", request_model="gpt-4o", response_model="gpt-4o-mini", host="proxy.example"),
    )
    outcome = model_substituted.check(Facts(one))
    assert outcome.word == "violated"
    assert outcome.span_ids == (one.chats[1].span_id,)
    assert outcome.evidence == {
        "requested": "gpt-4o",
        "answered": "gpt-4o-mini",
        "host": "proxy.example",
    }


def test_a_run_without_models_is_not_applicable_and_a_hole_leaves_it_open() -> None:
    failed = chat("", error_type="APIConnectionError", request_model="gpt-4o", finish_reasons=None)
    assert model_substituted.check(Facts(run(failed))).word == "not_applicable"
    good = run(chat("a", request_model="gpt-4o", response_model="gpt-4o"))
    assert model_substituted.check(Facts(incomplete(good))).word == "not_assessed"


def test_an_unhurried_name_is_compared_in_linear_time() -> None:
    assert compare("a-0" * 4000, "gpt-4o") == "unknown"
