"""The text of an error, made ready to leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.capture.content import encode_text
from spanwitness.capture.redact import redact_named

if TYPE_CHECKING:
    from spanwitness.capture.content import ContentPolicy

__all__ = ["encode_error"]

_LOOK_AHEAD: Final = 4096
"""Characters beyond the cut that are looked at, so that a value across it is recognised."""


def encode_error(text: str, policy: ContentPolicy, *, max_chars: int | None = None) -> str | None:
    """Return what may leave of an error's text, or `None` when the policy keeps content in.

    An error often echoes the request that failed, its headers included. They have no form that
    tells a secret, so what stands beside the name of a credential is replaced here.
    """
    if not policy.is_on:
        return None
    cap = policy.max_chars if max_chars is None else max_chars
    text = text[: cap + _LOOK_AHEAD]
    if policy.redact_secrets:
        text = redact_named(text)
    return encode_text(text, policy, max_chars=max_chars).text
