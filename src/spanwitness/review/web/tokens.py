"""API tokens as the queue's database keeps them: one row each, never the token itself."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, cast

import sqlalchemy as sa

from spanwitness.errors import ReviewError
from spanwitness.review.store.database import Database
from spanwitness.review.store.tables import settings
from spanwitness.review.web.identity import NewToken, StoredToken, new_token
from spanwitness.review.web.settings import ROLES

if TYPE_CHECKING:
    from typing import Self

    from sqlalchemy.engine import Connection

    from spanwitness.review.web.settings import Role

__all__ = ["Tokens"]

_PREFIX: Final = "token:"


class Tokens:
    """The API tokens of a queue.

    Args:
        database: Of the queue.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, url: str) -> Self:
        """Open the tokens of a queue; make its tables if there are none.

        Raises:
            ReviewError: The address cannot be used.
        """
        database = Database(url)
        database.upgrade()
        return cls(database)

    def close(self) -> None:
        """Close every connection."""
        self._database.close()

    def find_token(self, token_id: str) -> StoredToken | None:
        """Return a token that is valid now; `None` = unknown or revoked."""
        with self._database.read() as connection:
            value = connection.execute(
                sa.select(settings.c.value).where(settings.c.name == _PREFIX + token_id)
            ).scalar()
        return _stored(token_id, value)

    def all(self) -> tuple[StoredToken, ...]:
        """Return every valid token, by name."""
        with self._database.read() as connection:
            rows = connection.execute(
                sa.select(settings).where(settings.c.name.startswith(_PREFIX))
            ).all()
        found = (_stored(row.name.removeprefix(_PREFIX), row.value) for row in rows)
        return tuple(sorted((t for t in found if t is not None), key=lambda t: (t.name, t.id)))

    def create(self, name: str, role: Role, *, may_see_content: bool) -> NewToken:
        """Make a token; its text is known now and never again.

        Args:
            name: Who it stands for.
            role: What they may do.
            may_see_content: Whether they see prompts, results and answers.

        Raises:
            ReviewError: The name is empty, or the role is not known.
        """
        if not name.strip():
            raise ReviewError("a token needs the name of who it stands for")
        if role not in ROLES:
            raise ReviewError(f"role {role!r}: it is one of {', '.join(ROLES)}")
        made = new_token(name.strip(), role, may_see_content=may_see_content)
        value = {
            "name": made.stored.name,
            "role": role,
            "content": may_see_content,
            "digest": made.stored.digest,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        with self._database.write() as connection:
            connection.execute(
                sa.insert(settings).values(name=_PREFIX + made.stored.id, value=value)
            )
            _log(connection, "token_created", f"{made.stored.id} for {made.stored.name} ({role})")
        return made

    def revoke(self, token_id: str) -> None:
        """Let a token be valid no more.

        Raises:
            ReviewError: There is none with this id.
        """
        with self._database.write() as connection:
            gone = connection.execute(
                sa.delete(settings).where(settings.c.name == _PREFIX + token_id)
            )
            if gone.rowcount == 0:
                raise ReviewError(f"no token has the id {token_id!r}")
            _log(connection, "token_revoked", token_id)


def _log(connection: Connection, action: str, note: str) -> None:
    from spanwitness.review.store import rows

    rows.log(connection, actor="command", action=action, now=datetime.now(UTC), note=note)


def _stored(token_id: str, value: object) -> StoredToken | None:
    if not isinstance(value, dict) or value.get("role") not in ROLES:
        return None
    return StoredToken(
        id=token_id,
        name=str(value.get("name", "")),
        role=cast("Role", value["role"]),
        may_see_content=value.get("content") is True,
        digest=str(value.get("digest", "")),
    )
