"""The queue on a real PostgreSQL: the tests of tests/review, and full scale on both engines."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa
from tests.review.judged_runs import judged, violation
from tests.review.queue_fixtures import clock, queue  # noqa: F401  fixtures
from tests.review.queue_processes import (
    assert_all_filed_once,
    claim_from_processes,
    file_and_kill,
    judge_and_kill,
)
from tests.review.test_figures import *  # noqa: F403
from tests.review.test_filing import *  # noqa: F403
from tests.review.test_judging import *  # noqa: F403
from tests.review.test_migrations import *  # noqa: F403
from tests.review.test_outbox import *  # noqa: F403

from spanwitness.review import Queue

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e

_SCRIPT = Path(__file__).parent / "postgresql.sh"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a private cluster."""
    with tempfile.TemporaryDirectory(prefix="spanwitness-postgresql-") as folder:
        said = subprocess.run(
            [_SCRIPT, "start", folder], check=True, stdout=subprocess.PIPE, text=True, timeout=600
        )
        try:
            yield said.stdout.split()[-1]
        finally:
            subprocess.run([_SCRIPT, "stop", folder], check=True, timeout=60)


def _new_database(server: str) -> str:
    name = f"queue_{next(_numbers)}"
    engine = sa.create_engine(
        server.replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return f"{server.rpartition('/')[0]}/{name}"


@pytest.fixture
def queue_url(server: str) -> str:
    return _new_database(server)


@pytest.fixture(params=["sqlite", "postgresql"])
def either_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/queue.db"
    return _new_database(request.getfixturevalue("server"))


def test_writers_that_meet_each_other_head_on_both_get_through(queue_url: str):
    shared = Queue.open(queue_url)
    rules = [violation(rule=f"rule_{n}") for n in range(40)]

    def file(turn: int) -> int:
        runs = [(judged((turn, n), rules[n]), None) for n in range(40)]
        return len(shared.add_all(runs if turn % 2 else runs[::-1]))

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(file, range(16))) == 640
    assert {item.count for item in shared.items(limit=100).rows} == {16}
    shared.close()


def test_six_processes_claim_two_thousand_items(either_url: str):
    claims = claim_from_processes(either_url, n_items=2_000, n_processes=6)
    print(claims)
    assert claims.n_claimed == claims.n_unique == 2_000
    assert claims.worst_s < 1


def test_kills_over_ten_thousand_findings_lose_and_double_nothing(either_url: str):
    kills = file_and_kill(either_url, n_findings=10_000, n_kills=24, seed=11)
    print(kills, "kills")
    assert kills == 24
    assert_all_filed_once(either_url, 10_000)


def test_items_of_killed_reviewers_come_back_at_scale(either_url: str):
    kills = judge_and_kill(either_url, n_items=500, n_kills=12, seed=3)
    print(kills, "kills")
    assert kills == 12
