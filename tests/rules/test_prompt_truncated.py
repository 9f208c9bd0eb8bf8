"""The server counted far fewer tokens than the request holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import chat, incomplete, result, run, system, user, without_content

from spanwitness.model import MediaPart, Usage
from spanwitness.rules.facts import Facts
from spanwitness.rules.prompt_truncated import prompt_truncated

if TYPE_CHECKING:
    from spanwitness.model import Run

LONG = "The quick brown fox jumps over the lazy dog, again and again. " * 1000  # 62 kB


def asked(tokens: int | None, *given: object, size: int | None = 63_000, **fields: object) -> Run:
    usage = Usage(input_tokens=tokens, output_tokens=20)
    messages = given or (system(LONG), user("How many?"))
    one = chat("Hi", given=messages, **({"usage": usage, "request_bytes": size} | fields))  # type: ignore[arg-type]
    return run(one)


VIOLATED = {
    "cut from the front": asked(2051),
    "body size not recorded": asked(2051, size=None),
    "long tool result": asked(2000, user("x"), result(LONG, id="1")),
    "with a hole": incomplete(asked(2051)),
}
HOLDS = {
    "control": asked(14_900),
    "tight but possible": asked(7_000),
    "cached tokens included": asked(
        14_900, usage=Usage(input_tokens=14_900, cached_input_tokens=14_000)
    ),
    "a foreign recorder leaves the cached part out": asked(
        900, dialect="otel_genai", usage=Usage(input_tokens=900, cached_input_tokens=14_000)
    ),
    "small request": asked(3, user("hi"), size=200),
    "image bytes are no text": asked(
        1500, user("What is this?", MediaPart(modality="image", size_bytes=60_000))
    ),
    "image as a data URI": asked(1500, user("data:image/png;base64," + "A" * 60_000)),
    "spaces pack tightly": asked(1500, user(" " * 60_000 + "x")),
}
NOT_ASSESSED = {
    "no usage": asked(None),
    "no messages": without_content(asked(2051)),
    "hole": incomplete(asked(14_900)),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_far_too_few_prompt_tokens_are_violated(one: Run) -> None:
    outcome = prompt_truncated.check(Facts(one))
    assert outcome.word == "violated"
    assert prompt_truncated.severity == "warning"
    assert outcome.span_ids == (one.chats[0].span_id,)


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_plausible_counts_hold(one: Run) -> None:
    assert prompt_truncated.check(Facts(one)).word == "holds"


@pytest.mark.parametrize("one", NOT_ASSESSED.values(), ids=NOT_ASSESSED)
def test_what_is_not_recorded_is_not_assessed(one: Run) -> None:
    assert prompt_truncated.check(Facts(one)).word == "not_assessed"


def test_small_talk_without_usage_has_nothing_to_judge() -> None:
    assert prompt_truncated.check(Facts(run(chat("x")))).word == "not_applicable"


def test_text_that_was_cut_to_a_size_cap_does_not_show_how_long_it_was() -> None:
    short = asked(2051, user("The beginning of a long text"), is_truncated=True)
    assert prompt_truncated.check(Facts(short)).word == "not_assessed"
    assert prompt_truncated.check(Facts(asked(2051, is_truncated=True))).word == "violated"
