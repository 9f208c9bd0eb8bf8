"""Content that is cut to a size cap is unknown, not absent, and the run stays whole."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.catalogue import calls, constraints, endings, results
from tests.catalogue.surfaces import CHAT

from spanwitness.capture.policy import ContentPolicy

RECIPES = [
    recipe
    for recipe in (*constraints.RECIPES, *calls.RECIPES, *results.RECIPES, *endings.RECIPES)
    if CHAT in recipe.surfaces
]
CAPS = st.sampled_from([64, 160, 1000])


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name.replace(" ", "-"))
@settings(settings.get_profile("properties"), max_examples=2)
@given(cap=CAPS)
def test_a_cut_text_makes_no_finding_and_hides_none(stage, recipe, cap):
    policy = ContentPolicy(max_chars=cap)
    faulty = stage.play(recipe.faulty, CHAT, content=policy)
    said = {rule: faulty.verdict(rule).verdict for rule, _ in recipe.finds}
    assert set(said.values()) <= {"violated", "not_assessed"}, (said, faulty.told())
    assert faulty.found <= recipe.finds, faulty.told()
    assert all(e.run.is_complete for e in faulty.evaluations)
    if recipe.healthy is not None:
        healthy = stage.play(recipe.healthy, CHAT, content=policy)
        assert healthy.found == frozenset(), healthy.told()
        assert all(e.run.is_complete for e in healthy.evaluations)
