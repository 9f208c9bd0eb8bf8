"""Tables up and down, with data. The same tests run on PostgreSQL in tests/e2e."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from tests.review.judged_runs import judged, spans_of

from spanwitness.errors import ReviewError
from spanwitness.review import Queue
from spanwitness.review.store.database import Database
from spanwitness.review.store.tables import HEAD, metadata
from spanwitness.review.store.values import Sampling


def test_migrations_make_the_tables_that_the_code_reads(queue_url: str):
    database = Database(queue_url)
    database.upgrade()
    found = sa.MetaData()
    with database.read() as connection:
        found.reflect(connection)
    for name, table in metadata.tables.items():
        there = found.tables[name]
        assert set(there.columns.keys()) == set(table.columns.keys())
        for column in table.columns:
            assert there.columns[column.name].nullable == column.nullable, column
            wanted = column.type.compile(database.engine.dialect)
            made_type = there.columns[column.name].type.compile(database.engine.dialect)
            assert made_type == wanted, column
        indexes = {(i.name, tuple(i.columns.keys())) for i in table.indexes}
        assert {(i.name, tuple(i.columns.keys())) for i in there.indexes} >= indexes
        unique = {
            frozenset(c.columns.keys())
            for c in table.constraints
            if isinstance(c, sa.UniqueConstraint)
        }
        with database.read() as connection:
            made = sa.inspect(connection).get_unique_constraints(name)
        assert {frozenset(c["column_names"]) for c in made} == unique
    assert set(found.tables) - set(metadata.tables) == {"alembic_version"}
    database.close()


def test_data_outlive_the_way_down_and_up_again(queue_url: str):
    queue = Queue.open(queue_url)
    queue.set_sampling(Sampling(flagged=1))
    for number in range(3):
        one = judged(number)
        queue.add(one, spans=spans_of(one))
    queue.verdict(1, verdict="confirmed", by="ann")
    before = (queue.item(1), queue.rule_stats(), list(queue.export("findings")))
    assert queue.audit_next("ann") is not None
    database = Database(queue_url)
    database.downgrade("0001")
    assert database.revision() == "0001"
    assert (queue.item(1), queue.rule_stats(), list(queue.export("findings"))) == before
    database.upgrade()
    assert database.revision() == HEAD
    assert (queue.item(1), queue.rule_stats(), list(queue.export("findings"))) == before
    assert queue.audit_next("ann") is None
    queue.close()
    database.close()


def test_the_way_down_to_nothing_leaves_no_table(queue_url: str):
    Queue.open(queue_url).close()
    database = Database(queue_url)
    database.downgrade("base")
    with database.read() as connection:
        assert sa.inspect(connection).get_table_names() == ["alembic_version"]
    database.upgrade()
    queue = Queue.open(queue_url)
    assert queue.add(judged(1)).opened
    queue.close()
    database.close()


def test_queues_that_are_opened_at_once_are_migrated_once(queue_url: str):
    with ThreadPoolExecutor(6) as pool:
        queues = list(pool.map(Queue.open, [queue_url] * 6))
    assert queues[0].add(judged(1)).opened
    for queue in queues:
        assert queue.counts().open == 1
        queue.close()


def test_tables_of_a_newer_version_are_left_alone(queue_url: str):
    Queue.open(queue_url).close()
    database = Database(queue_url)
    with database.write() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(ReviewError, match="needs that version"):
        Queue.open(queue_url)
    assert database.revision() == "9999"
    database.close()
