"""What the verbs of `spanwitness review` have in common: the queue, who asks, times."""

from __future__ import annotations

import contextlib
import getpass
import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer

from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanwitness.review import ItemFilter, Queue
    from spanwitness.review.web.settings import TrustedHeaders

QueueUrl: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--queue",
        help="sqlite:///PATH or postgresql://...; default: SPANWITNESS_QUEUE, else in the state "
        "folder.",
    ),
]
By: TypeAlias = Annotated[
    str | None, typer.Option("--by", metavar="NAME", help="Who you are; default: your login.")
]
ItemId: TypeAlias = Annotated[int, typer.Argument(metavar="ID", help="Number of the item.")]
Rule: TypeAlias = Annotated[
    list[str] | None, typer.Option("--rule", help="Only of this rule; may be repeated.")
]
Agent: TypeAlias = Annotated[str | None, typer.Option("--agent", help="Only of this agent.")]
Service: TypeAlias = Annotated[str | None, typer.Option("--service", help="Only of this service.")]


class AccessWord(StrEnum):
    """Who may come in to a page."""

    local = "local"
    tokens = "tokens"
    proxy = "proxy"


Host: TypeAlias = Annotated[str, typer.Option(help="Address to listen on.")]
LocalName: TypeAlias = Annotated[
    str | None, typer.Option("--by", help="Your name, with --access local; default: your login.")
]
Access: TypeAlias = Annotated[
    AccessWord, typer.Option(help="Who may come in: this machine, tokens, or whom a proxy names.")
]
Proxy: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="Address or network of the proxy; may be repeated.")
]
AllowHost: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="A name the page is reached by; may be repeated.")
]
Link: TypeAlias = Annotated[
    list[str] | None, typer.Option(help="NAME=URL with {trace_id}, to a backend; may be repeated.")
]
Https: TypeAlias = Annotated[
    bool, typer.Option("--https", help="A proxy serves it by HTTPS: cookies need it.")
]


class RoleWord(StrEnum):
    """Roles of who may come in."""

    viewer = "viewer"
    reviewer = "reviewer"
    admin = "admin"


UserHeader: TypeAlias = Annotated[
    str, typer.Option(help="With --access proxy: the header that names the user.")
]
RoleHeader: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The header that says viewer, reviewer or admin; default: none is read."),
]
ContentHeader: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The header that says yes or no to seeing content; default: none is read."),
]
ProxyRole: TypeAlias = Annotated[
    RoleWord, typer.Option(help="With --access proxy: role of a user without a role header.")
]
ProxyContent: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--proxy-content", help="With --access proxy: users without that header see content."
    ),
]


class Format(StrEnum):
    """How to print."""

    text = "text"
    json = "json"


class StateWord(StrEnum):
    """States of an item."""

    open = "open"
    claimed = "claimed"
    snoozed = "snoozed"
    resolved = "resolved"


class SeverityWord(StrEnum):
    """Severities."""

    info = "info"
    warning = "warning"
    error = "error"
    critical = "critical"


class VerdictWord(StrEnum):
    """What a person may say of an item."""

    confirmed = "confirmed"
    false_positive = "false_positive"
    expected = "expected"
    cannot_tell = "cannot_tell"
    duplicate = "duplicate"


@contextlib.contextmanager
def opened(url: str | None) -> Iterator[Queue]:
    """Open the queue that is meant, and close it.

    Raises:
        ReviewError: It cannot be opened.
        MissingExtraError: The extra `review` is not installed.
    """
    from spanwitness.review import Queue
    from spanwitness.settings import read

    queue = Queue.open(url or read().queue)
    try:
        yield queue
    finally:
        queue.close()


def login() -> str:
    """Return the user's login name, for the history."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "someone"


def read_trusted(
    proxies: Sequence[str] | None,
    *,
    user: str,
    role: str | None,
    content: str | None,
    default_role: RoleWord,
    default_content: bool,
) -> TrustedHeaders | None:
    """Return what is believed of an authenticating proxy; `None` = there is none."""
    from spanwitness.review.web.settings import TrustedHeaders

    if not proxies:
        return None
    return TrustedHeaders(
        proxies=tuple(proxies),
        user=user,
        role=role,
        default_role=default_role.value,
        content=content,
        default_content=default_content,
    )


def make_filter(
    *,
    state: Sequence[StateWord] = (),
    rule: Sequence[str] | None = None,
    agent: str | None = None,
    service: str | None = None,
    severity: SeverityWord = SeverityWord.info,
    text: str = "",
) -> ItemFilter:
    """Return the filter that the options describe."""
    from spanwitness.review import ItemFilter

    return ItemFilter(
        states=tuple(each.value for each in state),
        rules=tuple(rule or ()),
        agent=agent,
        service=service,
        min_severity=severity.value,
        text=text,
    )


_SPAN: Final = re.compile(r"(\d{1,6})\s*([mhdw])")
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def read_span(text: str, *, option: str) -> timedelta:
    """Read a span of time: `30m`, `4h`, `7d`, `2w`.

    Raises:
        SettingsError: It is none.
    """
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise SettingsError(f"{option} {text!r}: give a span such as 30m, 4h, 7d or 2w")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def read_moment(text: str, *, option: str, is_ahead: bool) -> datetime:
    """Read a moment: a date, a date with a time (UTC unless it says so), or a span from now.

    Args:
        text: `2026-12-01`, `2026-12-01T09:30`, `7d`.
        option: Where it was given, for errors.
        is_ahead: A span is counted forwards, else backwards.

    Raises:
        SettingsError: It is none of these.
    """
    if _SPAN.fullmatch(text.strip()) is not None:
        span = read_span(text, option=option)
        return datetime.now(UTC) + (span if is_ahead else -span)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise SettingsError(
            f"{option} {text!r}: give a date (2026-12-01), a time (2026-12-01T09:30, in UTC unless "
            "it says otherwise) or a span (30m, 4h, 7d, 2w)"
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
