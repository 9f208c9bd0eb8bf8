"""Who is asking, and what they may do."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, Protocol

from spanwitness.review.web.settings import ROLES, at_least, is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.datastructures import Headers

    from spanwitness.review.web.settings import Role, WebSettings

__all__ = [
    "Identity",
    "Refusal",
    "StoredToken",
    "TokenStore",
    "by_local",
    "by_proxy",
    "by_token",
    "new_token",
]


_ROLE_OF: Final[Mapping[str, Role]] = {role: role for role in ROLES}


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Who is asking."""

    name: str
    role: Role
    may_see_content: bool
    token_id: str | None = None
    """The token it was told by; `None` = by another way."""

    def may(self, role: Role) -> bool:
        """Say whether they have the rights of a role."""
        return at_least(self.role, role)


class Refusal(Exception):  # noqa: N818  an answer, not a fault
    """A request that is refused.

    Args:
        status: HTTP status.
        why: What is told to the client and written to the audit trail; no content.
        actor: Who asked, as far as known.
    """

    def __init__(self, status: int, why: str, *, actor: str = "unknown") -> None:
        self.status = status
        self.why = why
        self.actor = actor
        super().__init__(why)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredToken:
    """An API token as it is kept: never the token itself."""

    id: str
    name: str
    """Who it stands for."""
    role: Role
    may_see_content: bool
    digest: str
    """SHA-256 of the secret, which is 32 random bytes: nothing to guess, so no slow hash."""


class TokenStore(Protocol):
    """Where tokens are looked up."""

    def find_token(self, token_id: str) -> StoredToken | None:
        """Return a token that is valid now; `None` = unknown or revoked."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class NewToken:
    """A token that was just made: the only moment at which its text is known."""

    text: str
    stored: StoredToken


def new_token(name: str, role: Role, *, may_see_content: bool) -> NewToken:
    """Make an API token.

    Args:
        name: Who it stands for.
        role: What they may do.
        may_see_content: Whether they see prompts, results and answers.
    """
    token_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    stored = StoredToken(
        id=token_id,
        name=name,
        role=role,
        may_see_content=may_see_content,
        digest=_digest(secret),
    )
    return NewToken(text=f"swt_{token_id}_{secret}", stored=stored)


def by_token(text: str, store: TokenStore) -> Identity:
    """Return whom a token stands for.

    Raises:
        Refusal: It is malformed, unknown, revoked or wrong (401; all told alike).
    """
    kind, _, rest = text.partition("_")
    token_id, _, secret = rest.partition("_")
    found = store.find_token(token_id) if kind == "swt" and token_id and secret else None
    # The comparison is made in any case, so that its time tells nothing.
    is_right = hmac.compare_digest(_digest(secret), found.digest if found else _digest("none"))
    if found is None or not is_right:
        raise Refusal(401, "the token is not valid")
    return _of(found)


def by_token_id(token_id: str, store: TokenStore) -> Identity:
    """Return whom a token stands for, of a session that once showed it.

    Raises:
        Refusal: It was revoked since (401).
    """
    found = store.find_token(token_id)
    if found is None:
        raise Refusal(401, "the token was revoked")
    return _of(found)


def by_local(settings: WebSettings, headers: Headers, client: str | None) -> Identity:
    """Return the person on this machine.

    Raises:
        Refusal: The request came from elsewhere, or through a proxy (403).
    """
    if client is not None and not is_loopback(client):
        raise Refusal(403, "this page is open to this machine only")
    if any(name in headers for name in ("forwarded", "x-forwarded-for", "x-forwarded-host")):
        raise Refusal(403, "this page is open to this machine only, and a proxy stands before it")
    return Identity(name=settings.local_name, role="admin", may_see_content=True)


def by_proxy(settings: WebSettings, headers: Headers, client: str | None) -> Identity:
    """Return whom the authenticating proxy names.

    Raises:
        Refusal: The request did not come from the proxy (403), names nobody (401), or names a role
            that is not known (403).
    """
    trusted = settings.trusted
    if trusted is None or client is None or not _is_from(client, settings):
        raise Refusal(403, "this address may not say who is asking")
    named = headers.getlist(trusted.user)
    if len(named) != 1 or not named[0].strip():
        raise Refusal(401, f"the proxy did not say who is asking ({trusted.user})")
    name = named[0].strip()[:200]
    role: Role = trusted.default_role
    if trusted.role is not None and trusted.role in headers:
        word = headers[trusted.role].strip().lower()
        known = _ROLE_OF.get(word)
        if known is None:
            raise Refusal(403, f"the role {word[:40]!r} is not known", actor=name)
        role = known
    content = trusted.default_content
    if trusted.content is not None and trusted.content in headers:
        content = headers[trusted.content].strip().lower() == "yes"
    return Identity(name=name, role=role, may_see_content=content)


def _is_from(client: str, settings: WebSettings) -> bool:
    trusted = settings.trusted
    try:
        address = ip_address(client)
    except ValueError:
        return False
    return trusted is not None and any(address in network for network in trusted.networks())


def _of(found: StoredToken) -> Identity:
    return Identity(
        name=found.name,
        role=found.role,
        may_see_content=found.may_see_content,
        token_id=found.id,
    )


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
