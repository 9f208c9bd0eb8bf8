"""The support of a value had left the model's window when it was stated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.rules.builders import (
    assistant,
    call,
    chat,
    incomplete,
    result,
    run,
    system,
    tool,
    user,
    without_content,
)

from spanwitness.model import MediaPart
from spanwitness.rules.evidence_out_of_window import evidence_out_of_window
from spanwitness.rules.facts import Facts

if TYPE_CHECKING:
    from spanwitness.model import ChatCall, Run

READ = (chat(calls=[call("read")]), tool("read", gives="The maximum is 417 mA."))
LOOK = (chat(calls=[call("look")]), tool("look", gives="Nothing about it."))
FRESH = user("Go on.")
LOOKED = result("Nothing about it.", id="call_look")


def ends(*given: object, says: object = "It is 417 mA.", **fields: object) -> ChatCall:
    return chat(says, given=given, **fields)  # type: ignore[arg-type]


VIOLATED = {
    "dropped by compaction": run(*READ, *LOOK, ends(FRESH, LOOKED)),
    "declared, but no copy is carried": run(*READ, *LOOK, ends(FRESH, LOOKED), compacted=True),
    "structured answer": run(*READ, *LOOK, ends(FRESH, LOOKED, says={"max": 417})),
    "stated as an argument of a later call": run(
        *READ,
        *LOOK,
        chat(given=[FRESH, LOOKED], calls=[call("note", value=417)]),
        tool("note", gives="ok"),
        chat("It is 417 mA."),
    ),
    "with a hole": incomplete(run(*READ, *LOOK, ends(FRESH, LOOKED))),
}
HOLDS = {
    "nothing left the window": run(*READ, *LOOK, chat("It is 417 mA.")),
    "a copy was carried": run(
        *READ, *LOOK, ends(system("So far: max 0.417 A"), FRESH, LOOKED), compacted=True
    ),
    "the model's own words were carried": run(
        *READ, *LOOK, ends(FRESH, assistant("I read 417 mA on page 2."), LOOKED)
    ),
    "answer states nothing": run(*READ, *LOOK, ends(FRESH, LOOKED, says="I do not know.")),
    "stated while it stood there": run(
        *READ,
        chat("So far: 417 mA.", calls=[call("look")]),
        tool("look", gives="Nothing about it."),
        ends(FRESH, LOOKED),
    ),
    "never stood anywhere is another rule's": run(
        *READ, *LOOK, ends(FRESH, LOOKED, says="It is 333 mA.")
    ),
}
NOT_ASSESSED = {
    "content off": without_content(run(*READ, *LOOK, ends(FRESH, LOOKED))),
    "an unreadable part may hold it": run(
        *READ, *LOOK, ends(user("Go on.", MediaPart(modality="image")), LOOKED)
    ),
    "state at the provider": run(*READ, *LOOK, ends(FRESH, LOOKED, has_server_state=True)),
    "hole": incomplete(run(*READ, chat("It is 417 mA."))),
}


@pytest.mark.parametrize("one", VIOLATED.values(), ids=VIOLATED)
def test_a_value_stated_after_its_support_left_is_violated(one: Run) -> None:
    outcome = evidence_out_of_window.check(Facts(one))
    assert outcome.word == "violated"
    assert outcome.evidence == {"n_values": 1}
    assert outcome.span_ids[0] in {c.span_id for c in one.chats[2:]}


@pytest.mark.parametrize("one", HOLDS.values(), ids=HOLDS)
def test_support_in_the_window_or_a_carried_copy_holds(one: Run) -> None:
    assert evidence_out_of_window.check(Facts(one)).word == "holds"


@pytest.mark.parametrize("one", NOT_ASSESSED.values(), ids=NOT_ASSESSED)
def test_what_cannot_be_read_is_not_assessed(one: Run) -> None:
    assert evidence_out_of_window.check(Facts(one)).word == "not_assessed"


def test_one_reply_has_no_earlier_window() -> None:
    assert evidence_out_of_window.check(Facts(run(chat("417")))).word == "not_applicable"
