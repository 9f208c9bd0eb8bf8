"""The models: what a contract may say, in code as in YAML."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from spanwitness.contracts import Clause, Contract, When


def contract(**keys: object) -> Contract:
    return Contract.model_validate({"contract": "c", "version": "1", **keys})


def test_one_name_stands_for_a_list_of_one() -> None:
    assert contract(tools={"navigation": "read_*"}).tools == {"navigation": ("read_*",)}


def test_a_contract_built_in_code_equals_the_same_one_from_plain_values() -> None:
    built = Contract(
        contract="c",
        version="1",
        when=When(agent=("a",)),
        tools={"navigation": ("open_*",)},
        expect=(Clause(rule="navigation_bypassed", group="navigation", before="submit"),),
    )
    plain = contract(
        when={"agent": "a"},
        tools={"navigation": ["open_*"]},
        expect=[{"rule": "navigation_bypassed", "group": "navigation", "before": "submit"}],
    )
    assert built == plain


def test_a_contract_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        contract().version = "2"  # type: ignore[misc]


@pytest.mark.parametrize(
    "clause",
    [
        {"rule": "navigation_bypassed"},
        {"rule": "navigation_bypassed", "group": "g", "tool": "t"},
        {"rule": "out_of_order", "first": "a"},
        {"rule": "out_of_order", "first": "a", "then": "a"},
        {"rule": "out_of_order", "first": "submit", "then": "a"},
        {"rule": "out_of_order", "first": "a", "then": "b", "tool": "c"},
        {"rule": "count_out_of_range", "tool": "a"},
        {"rule": "count_out_of_range", "tool": "a", "at_least": 3, "at_most": 2},
        {"rule": "count_out_of_range", "tool": "a", "at_most": -1},
        {"rule": "forbidden_tool", "tool": "a", "at_least": 1},
        {"rule": "required_tool_missing", "tool": "a", "at_least": 0},
        {"rule": "required_tool_missing", "tool": "a", "at_least": True},
        {"rule": "required_tool_missing", "tool": "a", "before": "submit", "after": "submit"},
        {"rule": "required_tool_missing", "tool": "a", "severity": "fatal"},
        {"rule": "required_tool_missing", "tool": ""},
        {"rule": "tool_bypass", "tool": "a"},
    ],
)
def test_a_clause_that_says_nothing_sound_is_an_error(clause: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Clause.model_validate(clause)


@pytest.mark.parametrize(
    "keys",
    [
        {"tools": {"submit": ["a"]}},
        {"tools": {"navigation": []}},
        {"tools": {"navigation": ["a", "a"]}},
        {"tools": {"navigation": [1]}},
        {"when": {"agent": []}},
        {"when": {"input_matches": "("}},
        {"expect": [{"rule": "forbidden_tool", "group": "undeclared"}]},
        {"expect": [{"rule": "out_of_order", "first": "read_*", "then": "read_page"}]},
        {
            "expect": [
                {"rule": "required_tool_missing", "tool": "a"},
                {"rule": "forbidden_tool", "tool": "a*"},
            ]
        },
        {"max_turns": 0},
        {"surprise": 1},
    ],
)
def test_a_contract_that_contradicts_itself_is_an_error(keys: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        contract(**keys)


def test_a_tool_may_be_forbidden_after_the_submission_and_required_before() -> None:
    both = contract(
        expect=[
            {"rule": "required_tool_missing", "tool": "a"},
            {"rule": "forbidden_tool", "tool": "a", "after": "submit"},
        ]
    )
    assert len(both.expect) == 2


def test_groups_match_by_name_and_by_glob_and_case_counts() -> None:
    one = contract(tools={"navigation": ["open_document", "read_*", "page_[0-9]"]})
    found = ("open_document", "read_x", "READ_x", "page_7", "page_x", "xread_x")
    assert [one.in_group("navigation", t) for t in found] == [True, True, False, True, False, False]
    assert not one.in_group("undeclared", "open_document")


def test_known_groups_and_action_words_answer_for_a_tool() -> None:
    one = contract(
        tools={
            "submission": ["submit_*"],
            "write": ["pay"],
            "output": ["final"],
            "terminal": ["bye"],
        },
        actions={"send_*": ["sent", "emailed"], "send_email": ["mailed"]},
    )
    assert one.is_submission("submit_x")
    assert one.is_terminal("submit_x")
    assert one.is_terminal("bye")
    assert not one.is_terminal("pay")
    assert one.is_write("pay")
    assert one.is_write("send_email")
    assert not one.is_write("final")
    assert one.is_output("final")
    assert one.action_words("send_email") == ("sent", "emailed", "mailed")
    assert one.action_words("pay") == ()


@pytest.mark.parametrize(
    ("clause", "due"),
    [
        ({"rule": "navigation_bypassed", "tool": "a"}, True),
        ({"rule": "required_tool_missing", "tool": "a"}, True),
        ({"rule": "count_out_of_range", "tool": "a", "at_least": 1}, True),
        ({"rule": "count_out_of_range", "tool": "a", "at_most": 1}, False),
        ({"rule": "verification_skipped", "tool": "a"}, False),
        ({"rule": "forbidden_tool", "tool": "a"}, False),
    ],
)
def test_tools_are_due_when_a_clause_needs_an_execution(
    clause: dict[str, object], due: bool
) -> None:
    assert contract(expect=[clause]).makes_tools_due is due
