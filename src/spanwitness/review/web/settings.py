"""How the review page is reached, by whom, and what it links to."""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Role", "TrustedHeaders", "WebSettings", "at_least"]

Role: TypeAlias = Literal["viewer", "reviewer", "admin"]
ROLES: Final[tuple[Role, ...]] = ("viewer", "reviewer", "admin")
"""From the fewest rights to the most: read; act on items; redeliver, sample audits."""
Mode: TypeAlias = Literal["local", "tokens", "proxy"]

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]", "::1"})


def at_least(role: Role, wanted: Role) -> bool:
    """Say whether a role has the rights of another."""
    return ROLES.index(role) >= ROLES.index(wanted)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrustedHeaders:
    """Who is asking, as an authenticating proxy says in headers.

    Args:
        proxies: Addresses or networks of the proxy. From anywhere else the headers are refused.
        user: Header that names the user.
        role: Header that names the role; a user without it has `default_role`.
        content: Header that says `yes` or `no` to seeing content; `None` = `default_content`.
    """

    proxies: tuple[str, ...]
    user: str = "X-Forwarded-User"
    role: str | None = None
    default_role: Role = "viewer"
    content: str | None = None
    default_content: bool = False

    def networks(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """Return the networks of the proxy.

        Raises:
            SettingsError: There is none, or one cannot be read.
        """
        if not self.proxies:
            raise SettingsError("trusted headers need the addresses of the proxy: none is given")
        found = []
        for each in self.proxies:
            try:
                found.append(ip_network(each, strict=False))
            except ValueError:
                raise SettingsError(
                    f"{each!r} is no address or network of a proxy; write 10.0.0.7 or 10.0.0.0/24"
                ) from None
        return tuple(found)


@dataclass(frozen=True, kw_only=True, slots=True)
class WebSettings:
    """How the review page is reached, by whom, and what it links to."""

    host: str = "127.0.0.1"
    """The address that is listened on."""
    mode: Mode = "local"
    """`local`: whoever is on this machine, loopback only. `tokens`: API tokens that the queue
    holds. `proxy`: an authenticating proxy says who it is."""
    trusted: TrustedHeaders | None = None
    """For `proxy`."""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which the page is reached, without ports; those of loopback always count."""
    local_name: str = "local"
    """Who acts in `local` mode."""
    secret: str | None = field(default=None, repr=False)
    """Signs sessions and forms; `None` = made at start. Replicas need the same one."""
    links: Mapping[str, str] = field(default_factory=dict)
    """By name: URL templates with `{trace_id}`, such as `http://localhost:16686/trace/{trace_id}`."""
    lease_s: int = 900
    """How long a claimed item is held for a reviewer."""
    session_s: int = 12 * 3600
    is_https: bool = False
    """Cookies are sent over HTTPS only."""

    def check(self) -> None:
        """Refuse what would be open to others without saying who they are.

        Raises:
            SettingsError: `local` mode on an address that others reach; `proxy` mode without the
                proxy's addresses; a link that is no http(s) URL.
        """
        if self.mode == "local" and not is_loopback(self.host):
            raise SettingsError(
                f"the review page would be open to the network on {self.host!r}: listen on "
                "127.0.0.1, or say who may use it (access mode tokens, or proxy)"
            )
        if self.mode == "proxy":
            if self.trusted is None:
                raise SettingsError("access mode proxy needs the proxy's addresses and headers")
            self.trusted.networks()
        for name, template in self.links.items():
            if not template.startswith(("https://", "http://")):
                raise SettingsError(f"link {name!r}: {template!r} does not start with http(s)://")


def is_loopback(host: str) -> bool:
    """Say whether an address or name is this machine's own."""
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def is_origin_of(origin: str, host: str) -> bool:
    """Say whether an `Origin` header is that of a page under this `Host`."""
    scheme, mark, place = origin.lower().partition("://")
    return bool(mark) and scheme in ("http", "https") and place == host.lower()
