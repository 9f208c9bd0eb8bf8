"""Look-alikes of normal agents: no rule has anything to say about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.grounded import GROUNDED, GROUNDED_SHAPES
from tests.properties.lives import DRESSES, LIVES, as_run
from tests.properties.shapes import SHAPES
from tests.rules.builders import incomplete, without_content

from spanwitness.model.verdict import at_least
from spanwitness.rules.engine import evaluate

if TYPE_CHECKING:
    from spanwitness.model import Run

ALL_LIVES = LIVES | GROUNDED
ALL_SHAPES = SHAPES | GROUNDED_SHAPES
each_life = pytest.mark.parametrize("life", ALL_LIVES.values(), ids=ALL_LIVES)
PROFILE = settings.get_profile("properties")


def flagged(run: Run) -> list[tuple[str, str]]:
    """What is found at `warning` or above."""
    found = evaluate(run).findings
    return [(v.rule, v.reason) for v in found if at_least(v.severity, "warning")]


@each_life
@settings(PROFILE, max_examples=40)
@given(data=st.data(), dress=DRESSES)
def test_a_normal_life_is_not_flagged(life, data, dress):
    run = as_run(data.draw(life), dress)
    assert flagged(run) == []
    assert flagged(without_content(run)) == []
    assert flagged(incomplete(run)) == []


@pytest.mark.parametrize("shape", ALL_SHAPES.values(), ids=ALL_SHAPES)
@settings(PROFILE, max_examples=25)
@given(data=st.data())
def test_a_normal_shape_of_a_run_is_not_flagged(shape, data):
    run = data.draw(shape)
    assert flagged(run) == []
    assert flagged(without_content(run)) == []
    assert flagged(incomplete(run)) == []
