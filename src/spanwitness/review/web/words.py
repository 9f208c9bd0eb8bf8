"""How the page says things: ages, durations, lines of the history, names of verdicts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwitness.review.store.values import Event, VerdictWord

VERDICT_NAMES: Final[Mapping[VerdictWord, str]] = {
    "confirmed": "Confirmed",
    "false_positive": "False positive",
    "expected": "Expected",
    "cannot_tell": "Cannot tell",
    "duplicate": "Duplicate",
}
VERDICT_CHOICES: Final[tuple[tuple[VerdictWord, str, str], ...]] = (
    ("confirmed", "c", "a real failure"),
    ("false_positive", "f", "the rule is wrong: the account is sound"),
    ("expected", "e", "it happened as the rule says, and it is accepted"),
    ("cannot_tell", "u", "what is recorded does not decide it"),
    ("duplicate", "d", "the same as another item"),
)
"""The word, its key, and what it means."""

KEYS: Final = (
    (
        "Everywhere",
        (
            ("?", "this list"),
            ("]", "take the next item"),
            ("q", "back to the queue"),
            ("z", "undo the last verdict or snooze"),
            ("Esc", "leave a field"),
        ),
    ),
    (
        "In the queue",
        (
            ("j k", "next, previous item"),
            ("Enter", "open the item and claim it"),
            ("x", "choose it for a verdict on several"),
            ("/", "search"),
        ),
    ),
    (
        "On an item",
        (
            ("Enter", "claim it"),
            ("c", "confirmed: a real failure"),
            ("f", "false positive: the account is sound"),
            ("e", "expected: it is accepted"),
            ("u", "cannot tell from what is recorded"),
            ("d", "duplicate of another item"),
            ("s", "snooze: choose for how long"),
            ("n", "write a note (Ctrl+Enter adds it)"),
            ("o", "open the trace where it was sent"),
        ),
    ),
    ("In audit mode", (("1", "sound"), ("2", "not sound"), ("3", "cannot tell"))),
)

_ACTIONS: Final = {
    "opened": "opened it",
    "regressed": "opened it again: it came back",
    "pruned": "removed what was kept of it",
    "reopened_by_hand": "opened it again",
    "claimed": "took it",
    "released": "gave it back",
    "renewed": "held it for longer",
    "expired": "opened it: the lease was over",
    "woke": "opened it: its rest was over",
    "snoozed": "let it rest",
    "undone": "took the last act back",
    "verdict": "judged it",
}


def said(event: Event) -> str:
    """Say what a line of the history tells, after its actor."""
    data = event.data or {}
    if event.action == "verdict":
        word = data.get("verdict")
        name = next((name for key, name in VERDICT_NAMES.items() if key == word), None)
        return f"judged it: {name.lower()}" if name else "judged it"
    if event.action == "snoozed" and isinstance(data.get("until"), str):
        return f"let it rest until {str(data['until'])[:16].replace('T', ' ')}"
    return _ACTIONS.get(event.action, event.action.replace("_", " "))


def ago(moment: datetime, now: datetime | None = None) -> str:
    """Say how long ago a moment is, or in how long it will be."""
    seconds = ((now or datetime.now(UTC)) - moment).total_seconds()
    size = abs(seconds)
    for limit, unit, word in (
        (90, 1, "s"),
        (90 * 60, 60, "min"),
        (36 * 3600, 3600, "h"),
        (60 * 86400, 86400, "days"),
    ):
        if size < limit:
            n = max(1, round(size / unit))
            shown = "1 day" if word == "days" and n == 1 else f"{n} {word}"
            if size < 5:
                return "just now"
            return f"in {shown}" if seconds < 0 else f"{shown} ago"
    return moment.strftime("%Y-%m-%d")


def until(moment: datetime, now: datetime | None = None) -> str:
    """Say a moment to come, as a clock shows it."""
    is_today = moment.date() == (now or datetime.now(UTC)).date()
    return moment.strftime("%H:%M UTC" if is_today else "%Y-%m-%d %H:%M UTC")


def duration(ms: float) -> str:
    """Say a duration."""
    if ms < 1000:
        return f"{ms:.0f} ms"
    return f"{ms / 1000:.1f} s" if ms < 120_000 else f"{ms / 60_000:.0f} min"


def query(**values: str | None) -> str:
    """Return a query string of the values that are not empty, with its question mark."""
    given = {name: value for name, value in values.items() if value}
    return f"?{urlencode(given)}" if given else "?"


def number(text: str | None, *, digits: int = 17) -> int | None:
    """Read a whole number out of an address or a form; `None` = it is none of so few digits."""
    if not text or len(text) > digits or not (text.isascii() and text.isdigit()):
        return None
    return int(text)
