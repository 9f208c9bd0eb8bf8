"""Test doubles for agents: a scripted model provider on this machine that real SDKs can talk to."""

from __future__ import annotations

from spanwitness.testing.provider import ScriptedProvider
from spanwitness.testing.script import (
    Call,
    Item,
    Reply,
    Say,
    SeenRequest,
    Think,
    call,
    error,
    item,
    raw,
    reply,
    text,
    think,
)

__all__ = [
    "Call",
    "Item",
    "Reply",
    "Say",
    "ScriptedProvider",
    "SeenRequest",
    "Think",
    "call",
    "error",
    "item",
    "raw",
    "reply",
    "text",
    "think",
]
