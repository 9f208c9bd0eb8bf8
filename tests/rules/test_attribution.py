"""The fault by elimination: one line of one table decides, and the page shows the table."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from spanwitness.model import ClaimState
from spanwitness.rules.attribution import RUBRIC, Circumstances, attribute

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
ROW = re.compile(r"^\| `([a-z_]+)` \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
STATES = get_args(ClaimState)


def test_the_page_shows_the_lines_of_the_code_in_their_order() -> None:
    shown = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert shown == [
        (line.id, line.when, line.fault or "none", (line.kind or "\u2014").replace("_", " "))
        for line in RUBRIC
    ]


EVERY = [
    Circumstances(
        state=state, is_complete=whole, is_elsewhere=elsewhere, omits_condition=omits,
        n_reads=reads, n_fruitful=fruitful, asked=asked,
    )
    for state, whole, elsewhere, omits, (reads, fruitful), asked in product(
        STATES, (True, False), (True, False), (True, False), ((0, 0), (2, 0), (2, 1)),
        ("subject", "other", "unknown"),
    )
]  # fmt: skip


def test_every_circumstance_has_one_line_and_every_line_is_reached() -> None:
    assert {attribute(around).line for around in EVERY} == {line.id for line in RUBRIC}


@pytest.mark.parametrize("state", STATES)
def test_nobody_is_blamed_for_what_is_supported_and_only_for_that(state: str) -> None:
    blamed = {attribute(around).fault for around in EVERY if around.state == state}
    assert (None in blamed) is (state in ("in_window", "derivable"))


def test_what_the_harness_lost_is_never_blamed_on_the_model() -> None:
    lost = [a for a in EVERY if a.state in ("not_delivered", "left_window")]
    assert {attribute(around).fault for around in lost} == {"harness"}


def test_a_hole_in_the_trace_leaves_what_stands_nowhere_undetermined() -> None:
    holes = [a for a in EVERY if a.state in ("absent", "self_sourced") and not a.is_complete]
    assert {attribute(around).fault for around in holes} == {"undetermined"}
