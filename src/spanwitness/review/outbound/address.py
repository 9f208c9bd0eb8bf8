"""Where a URL really leads: resolved once, checked, and then called by exactly that address.

A name that is checked and resolved again when it is called can lead elsewhere the second time.
"""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

__all__ = ["AddressRefusedError", "Pinned", "check_url", "is_public", "pin", "resolve"]

_NAT64: Final = ip_network("64:ff9b::/96")
_LOCAL: Final = (ip_network("64:ff9b:1::/48"), ip_network("fec0::/10"))
"""For use within a network, though the standard library calls them global."""


class AddressRefusedError(Exception):
    """A name leads to an address that must not be called."""


class Pinned(NamedTuple):
    """A URL with its host replaced by an address, and what keeps TLS and the server right."""

    url: str
    host_header: str
    server_name: str
    """The name that the certificate must be for."""


def check_url(url: str, *, is_private_allowed: bool, is_http_allowed: bool) -> None:
    """Refuse at set-up what could never be called.

    Args:
        url: Where to.
        is_private_allowed: Addresses of this machine and of private networks may be called.
        is_http_allowed: Without TLS.

    Raises:
        SettingsError: It is no such URL, or its host is an address that is not allowed.
    """
    parts = urlsplit(url)
    shown = f"{parts.scheme}://{parts.hostname}"
    schemes = ("https", "http") if is_http_allowed else ("https",)
    if parts.scheme not in schemes or not parts.hostname:
        raise SettingsError(f"{shown}: give a full URL that starts with {schemes[0]}://")
    if parts.username is not None or parts.password is not None:
        raise SettingsError(f"{shown}: leave user and password out of the URL; give a header")
    try:
        address = ip_address(parts.hostname)
    except ValueError:
        return
    if not is_private_allowed and not is_public(address):
        raise SettingsError(
            f"{shown}: an address that is not public; allow_private: true allows it"
        )


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Say whether an address is one of the open internet, also where it wraps another one."""
    if isinstance(address, IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _NAT64:
            inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is None and address.teredo is not None:
            inner = address.teredo[1]
        if inner is not None:
            return is_public(inner)
        if address.scope_id is not None or any(address in network for network in _LOCAL):
            return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified
    )


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a name, in the order in which the system prefers them.

    Raises:
        OSError: It has none.
    """
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


async def pin(
    url: str,
    *,
    is_private_allowed: bool,
    look_up: Callable[[str, int], Awaitable[Sequence[str]]] = resolve,
) -> Pinned:
    """Resolve a URL's host and replace it by its first address.

    Args:
        url: Where to.
        is_private_allowed: As of `check_url`.
        look_up: Resolves a name.

    Raises:
        OSError: The name has no address.
        AddressRefusedError: One of its addresses is not public. All must be: which of them is
            called must not be a matter of luck.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    addresses = [ip_address(text) for text in await look_up(host, port)]
    if not addresses:
        raise OSError(f"{host!r} has no address")
    if not is_private_allowed and not all(map(is_public, addresses)):
        raise AddressRefusedError(f"{host!r} leads to an address that is not public")
    first = addresses[0]
    shown = f"[{first}]" if first.version == 6 else str(first)
    path = parts.path or "/"
    query = f"?{parts.query}" if parts.query else ""
    return Pinned(
        url=f"{parts.scheme}://{shown}:{port}{path}{query}",
        host_header=parts.netloc.rpartition("@")[2],
        server_name=host,
    )
