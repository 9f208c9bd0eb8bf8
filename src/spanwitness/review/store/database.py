"""The database behind a queue: reading, writing one at a time on SQLite, and its migrations."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import time
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from spanwitness.errors import MissingExtraError, ReviewError

try:
    import sqlalchemy as sa
    from sqlalchemy import event, exc
    from sqlalchemy.engine import make_url
except ImportError as error:
    raise MissingExtraError(error.name or "sqlalchemy", extra="review") from None

from spanwitness.review.store.tables import HEAD
from spanwitness.review.store.turns import turns_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator

    from sqlalchemy.engine import URL, Connection, Engine

__all__ = ["Database", "check_address"]

T = TypeVar("T")

_BUSY_MS: Final = 30_000
_MAX_TRIES: Final = 8
_open: weakref.WeakSet[Database] = weakref.WeakSet()
_MIGRATION_LOCK: Final = 0x7370616E
"""Number of the advisory lock that keeps two migrations of one PostgreSQL database apart."""


class Database:
    """A connection pool with short transactions: many readers, one writer on SQLite.

    Args:
        url: `sqlite:///PATH`, or `postgresql://USER:PASSWORD@HOST/NAME`.

    Raises:
        ReviewError: The address cannot be used.
        MissingExtraError: The driver is not installed.
    """

    def __init__(self, url: str) -> None:
        self.url = _read_url(url)
        self.is_sqlite = self.url.get_backend_name() == "sqlite"
        self.address = _shown(self.url)
        self._turns = None
        if self.is_sqlite:
            path = Path(self.url.database or "").absolute()
            self._turns = turns_of(path.with_name(path.name + ".turns"))
        self.engine: Engine = _sqlite(self.url) if self.is_sqlite else _postgresql(self.url)
        _open.add(self)

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """Open a transaction that only reads.

        Raises:
            ReviewError: The database does not answer.
        """
        with _told(self.address), self.engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Open a transaction that is kept when the block ends and undone when it raises.

        On SQLite writers wait for their turn, in the order in which they came.

        Raises:
            ReviewError: The database does not answer, or refuses.
        """
        with _told(self.address):
            if self._turns is None:
                with self.engine.begin() as connection:
                    yield connection
                return
            with self._turns.turn(), self.engine.connect() as connection:
                connection.execution_options(spanwitness_write=True)
                with connection.begin():
                    yield connection

    def write_all(self, act: Callable[[Connection], T]) -> T:
        """Do something that touches many rows in one transaction; begin anew after a deadlock.

        Two writers on PostgreSQL may each wait for a row of the other; it then ends one of them.

        Args:
            act: Writes; it may be called again, in a new transaction.

        Raises:
            ReviewError: The database does not answer, refuses, or ends it again and again.
        """
        for nth in range(_MAX_TRIES):
            try:
                with self.write() as connection:
                    return act(connection)
            except ReviewError as error:
                if nth == _MAX_TRIES - 1 or not _is_deadlock(error):
                    raise
            time.sleep(random.uniform(0, 0.05 * (nth + 1)))  # noqa: S311  to part the two
        raise AssertionError

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def after_fork(self) -> None:
        """Leave, in the child of a fork, the parent's connections to the parent."""
        self.engine.dispose(close=False)

    # --- migrations

    def revision(self) -> str | None:
        """Return the revision of the tables; `None` when there are none."""
        with self.read() as connection:
            return _revision(connection)

    def upgrade(self, revision: str = HEAD) -> None:
        """Bring the tables up to a revision; data are kept.

        Raises:
            ReviewError: The tables are newer than this version of spanwitness knows.
        """
        if self.revision() == revision:
            return
        with self.write() as connection:
            if not self.is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            current = _revision(connection)
            if current != revision:
                _migrate(connection, "upgrade", revision, current)

    def downgrade(self, revision: str) -> None:
        """Take the tables back to an earlier revision; what only later ones hold is lost."""
        with self.write() as connection:
            _migrate(connection, "downgrade", revision, _revision(connection))


def check_address(url: str) -> None:
    """Refuse an address that cannot be that of a queue; nothing is opened.

    Raises:
        ReviewError: It cannot.
        MissingExtraError: Its driver is not installed.
    """
    if _read_url(url).get_backend_name() != "sqlite":
        try:
            import psycopg  # noqa: F401
        except ImportError as error:
            raise MissingExtraError(error.name or "psycopg", extra="postgresql") from None


def _read_url(text: str) -> URL:
    try:
        url = make_url(text)
    except exc.ArgumentError:
        raise ReviewError(
            "queue address cannot be read: give sqlite:///PATH or postgresql://HOST/NAME"
        ) from None
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise ReviewError(f"queue address {text!r} names no file: give sqlite:///PATH")
        return url.set(drivername="sqlite+pysqlite")
    if url.get_backend_name() in ("postgresql", "postgres"):
        return url.set(drivername="postgresql+psycopg")
    raise ReviewError(
        f"queue address with scheme {url.drivername!r}: give sqlite:///PATH or postgresql://…"
    )


def _shown(url: URL) -> str:
    """Return an address without its secrets; libpq takes passwords in the query as well."""
    query = {key: "***" if "password" in key else value for key, value in url.query.items()}
    plain = url.set(drivername=url.get_backend_name(), query=query)
    return plain.render_as_string(hide_password=True)


def _sqlite(url: URL) -> Engine:
    path = Path(url.database or "")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make_file(path)
    except OSError as error:
        raise ReviewError(f"queue file {str(path)!r} cannot be opened: {error.strerror}") from None
    engine = sa.create_engine(
        url, connect_args={"timeout": _BUSY_MS / 1000}, poolclass=sa.pool.QueuePool, pool_size=8
    )

    @event.listens_for(engine, "connect")
    def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
        # The driver is to begin no transaction by itself.
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        # Each commit reaches the disk: an acknowledged verdict outlives a loss of power.
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.execute(f"PRAGMA busy_timeout={_BUSY_MS}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Connection) -> None:
        is_write = connection.get_execution_options().get("spanwitness_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if is_write else "BEGIN")

    return engine


def _make_file(path: Path) -> None:
    """Make the file if it is not there: it may hold content, so for the user's eyes only.

    A file that is there is not opened: closing any handle of it would drop the locks that SQLite
    holds on it for this process, and another process would remove the journal under it.

    Raises:
        OSError: It cannot be made, is no file, or may not be written.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)) from None
        if not os.access(path, os.R_OK | os.W_OK):
            raise PermissionError(errno.EACCES, "it may not be written") from None


def _postgresql(url: URL) -> Engine:
    try:
        return sa.create_engine(url, pool_pre_ping=True, pool_size=8, max_overflow=8)
    except ImportError as error:
        raise MissingExtraError(error.name or "psycopg", extra="postgresql") from None


@contextlib.contextmanager
def _told(address: str) -> Iterator[None]:
    """Turn an error of the driver into one that names the place and the cause."""
    try:
        yield
    except exc.SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        lines = str(cause).strip().splitlines() or [type(cause).__name__]
        raise ReviewError(f"queue {address}: {lines[0]}") from error


def _is_deadlock(error: ReviewError) -> bool:
    cause = getattr(error.__cause__, "orig", None)
    return getattr(cause, "sqlstate", None) in ("40P01", "40001")


def _revision(connection: Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def _migrate(connection: Connection, way: str, revision: str, current: str | None) -> None:
    try:
        from alembic import command
        from alembic.config import Config
        from alembic.util import CommandError
    except ImportError as error:
        raise MissingExtraError(error.name or "alembic", extra="review") from None
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    try:
        getattr(command, way)(config, revision)
    except CommandError as error:
        raise ReviewError(
            f"queue tables of revision {current!r} cannot be brought to {revision!r}: {error}; a "
            "queue that a newer version of spanwitness wrote needs that version"
        ) from None


def _after_fork() -> None:
    for database in list(_open):
        database.after_fork()


os.register_at_fork(after_in_child=_after_fork)
