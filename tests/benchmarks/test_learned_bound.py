"""Learning and the packs on real dialogs with the right outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from benchmarks.learned_bound import DATA, clean_runs, measure

from spanwitness.contracts import load
from spanwitness.contracts.packs import pack_names
from spanwitness.rules.engine import judge_clauses

if TYPE_CHECKING:
    from spanwitness.model import Run

# What is claimed here is about real dialogs, which are too large to carry along. That the bound
# holds on a population with a known rate is tested without them, in tests/contracts.
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(),
    reason=f"needs the data sets that docs/detection.md names, in {DATA.parent.name}/{DATA.name}",
)


@pytest.fixture(scope="module")
def dialogs() -> list[Run]:
    return clean_runs()


def test_the_bound_holds_on_splits_of_real_dialogs(dialogs: list[Run]) -> None:
    found = measure(dialogs, n_splits=5)
    assert found.n_units >= 80
    assert found.n_held == 5
    assert found.mean_clauses >= 5, "an empty contract would hold any bound"
    assert found.mean_rate < found.mean_bound < 0.3


@pytest.mark.parametrize("name", pack_names())
def test_no_clause_of_a_pack_fires_on_a_clean_dialog(name: str, dialogs: list[Run]) -> None:
    pack = load(f"pack:{name}")
    about = [run for run in dialogs if pack.applies_to(run)]
    assert len(about) == (len(dialogs) if name == "customer-service" else 0)
    for run in about:
        assert "violated" not in judge_clauses(run, pack)
