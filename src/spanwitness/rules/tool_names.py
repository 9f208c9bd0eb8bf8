"""What the name of a tool says about it, where nothing better is declared.

Names are split into words (`sendEmail`, `orders.send-email` and `send_email` alike). A declared
effect or a contract's group always comes first; a name that says nothing stays unknown.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

ACTIONS: dict[str, tuple[str, ...]] = {
    "add": ("added",), "approve": ("approved",), "archive": ("archived",), "assign": ("assigned",),
    "book": ("booked",), "buy": ("bought", "purchased"), "cancel": ("cancelled", "canceled"),
    "charge": ("charged",), "close": ("closed",), "create": ("created",), "delete": ("deleted",),
    "deploy": ("deployed",), "disable": ("disabled",), "edit": ("edited", "updated"),
    "email": ("emailed", "sent"), "enable": ("enabled",), "insert": ("inserted", "added"),
    "exchange": ("exchanged",), "issue": ("issued",), "merge": ("merged",),
    "modify": ("modified", "changed", "updated"),
    "notify": ("notified",), "order": ("ordered",), "pay": ("paid",), "place": ("placed",),
    "post": ("posted", "published"), "publish": ("published",), "purchase": ("purchased", "bought"),
    "refund": ("refunded",), "register": ("registered",), "reject": ("rejected",),
    "remove": ("removed", "deleted"), "rename": ("renamed",), "reply": ("replied",),
    "reschedule": ("rescheduled",), "reserve": ("reserved", "booked"), "reset": ("reset",),
    "restart": ("restarted",), "return": ("returned",), "revoke": ("revoked",), "save": ("saved",),
    "schedule": ("scheduled",), "send": ("sent",), "set": ("set", "changed", "updated"),
    "store": ("stored", "saved"), "transfer": ("transferred",), "update": ("updated", "changed"),
    "upload": ("uploaded",), "write": ("wrote", "written", "saved"),
}  # fmt: skip
"""Verbs in the names of tools that change something, and the words that claim it is done."""

_READS = frozenset(
    {
        "calculate", "check", "compute", "count", "describe", "detect", "download", "evaluate",
        "extract", "fetch", "find", "get", "grep", "inspect", "list", "load", "locate", "look",
        "lookup", "measure", "navigate", "open", "parse", "query", "read", "recall", "resolve",
        "retrieve", "scan", "search", "select", "show", "status", "summarize", "validate", "verify",
        "view", "weather",
    }
)  # fmt: skip
_POLLS = frozenset(
    {
        "await", "check", "heartbeat", "health", "job", "monitor", "ping", "poll", "progress",
        "sleep", "state", "status", "tail", "wait", "watch",
    }
)  # fmt: skip
_TERMINAL = re.compile(
    r"(?:submit|final|finish|complete|end|done|respond|answer|exit|stop|terminate|"
    r"attempt_completion|structured_?output|json_tool_call|return_result)(?:_|$)"
)
_HANDOFF = re.compile(
    r"(?:^|_)(?:transfer|hand_?off|delegate|route|escalate)_?(?:to|back|task|work)(?:_|$)|^handoff"
)


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a name, in lower case."""
    return tuple(word.lower() for word in _WORDS.findall(name))


@lru_cache(maxsize=4096)
def effect_of(name: str) -> Literal["read", "write"] | None:
    """Say what the first telling word of a name suggests; `None` when it says nothing."""
    for word in words_of(name):
        if word in ACTIONS:
            return "write"
        if word in _READS:
            return "read"
    return None


@lru_cache(maxsize=4096)
def is_poll(name: str) -> bool:
    """Say whether the name is that of a tool one asks again and again."""
    return not _POLLS.isdisjoint(words_of(name))


@lru_cache(maxsize=4096)
def is_terminal(name: str) -> bool:
    """Say whether the name is that of a tool that only gives the answer or ends the run."""
    return _TERMINAL.match("_".join(words_of(name))) is not None


@lru_cache(maxsize=4096)
def is_handoff(name: str) -> bool:
    """Say whether the name is that of a hand-off to another agent."""
    return _HANDOFF.search("_".join(words_of(name))) is not None


@lru_cache(maxsize=4096)
def bare(name: str) -> str:
    """Return a name without the server or toolset before it, in one spelling.

    `mcp__files__read_page`, `files.read_page` and `files/read_page` are all `read_page`.
    """
    return re.split(r"__|[./:]", name)[-1].replace("-", "_").casefold()
