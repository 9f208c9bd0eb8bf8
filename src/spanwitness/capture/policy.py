"""What content may leave a process, as the user decided."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from spanwitness.capture.plain import clean, type_name
from spanwitness.capture.redact import REDACTION_FAILED, redact_secrets
from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ALLOWED_HEADERS", "ContentMode", "ContentPolicy"]

ContentMode: TypeAlias = Literal["on", "off", "digests"]

DEFAULT_MAX_CHARS: Final = 16_384
_MIN_CHARS: Final = 16

ALLOWED_HEADERS: Final = frozenset(
    {"openai-processing-ms", "request-id", "retry-after", "x-request-id"}
)
"""Response headers of model calls that are recorded unless a policy says otherwise."""


@dataclass(frozen=True, kw_only=True)
class ContentPolicy:
    """Say what content may leave.

    Args:
        mode: `on` records texts; `off` records lengths, and digests under a random key of the
            process; `digests` is `off` with your own `digest_key`, so that digests of several
            processes can be compared.
        redact: Called with every text, key and number (as text) that is about to leave; returns
            what may leave. A call that raises lets nothing of that text leave.
        redact_secrets: Also replace what looks like a credential (see `redact_secrets`).
        max_chars: Cap of one attribute, in characters, at least 16. What is cut is marked, with its
            length and digest.
        tools: Other modes or policies for single tools, by name.
        headers: Names of response headers of model calls that are recorded, whatever the mode
            (`http.response.header.<name>`, redacted). An allow list: every other one stays in.
        digest_key: 1 to 64 bytes, for `mode="digests"` only. Keep it secret.

    Raises:
        SettingsError: An argument cannot be used. A mode that is not known refuses to start.
    """

    mode: ContentMode = "on"
    redact: Callable[[str], str] | None = None
    redact_secrets: bool = True
    max_chars: int = DEFAULT_MAX_CHARS
    tools: Mapping[str, ContentMode | ContentPolicy] = field(default_factory=dict)
    headers: frozenset[str] = ALLOWED_HEADERS
    digest_key: bytes | None = None

    def __post_init__(self) -> None:
        if self.mode not in get_args(ContentMode):
            raise SettingsError(f"content mode {self.mode!r} is not one of 'on', 'off', 'digests'")
        if self.redact is not None and not callable(self.redact):
            raise SettingsError(f"redact must be callable, not {type_name(self.redact)}")
        if isinstance(self.max_chars, bool) or self.max_chars < _MIN_CHARS:
            raise SettingsError(
                f"max_chars {self.max_chars!r} is not a whole number >= {_MIN_CHARS}"
            )
        if self.digest_key is not None and not (
            self.mode == "digests" and 1 <= len(self.digest_key) <= 64
        ):
            raise SettingsError("digest_key needs mode='digests' and 1 to 64 bytes")
        lowered = frozenset(name.lower() for name in self.headers)
        object.__setattr__(self, "headers", lowered)
        by_tool: dict[str, ContentPolicy] = {}
        for name, wanted in self.tools.items():
            if isinstance(wanted, ContentPolicy):
                by_tool[name] = wanted
            else:
                by_tool[name] = self.with_mode(wanted)
        object.__setattr__(self, "tools", MappingProxyType(by_tool))
        object.__setattr__(self, "is_on", self.mode == "on")
        object.__setattr__(self, "is_fast", self.mode == "on" and self.redact is None)

    is_on: bool = field(init=False, default=True)
    """Texts may leave."""
    is_fast: bool = field(init=False, default=True)
    """Texts may leave as they are but for credentials."""

    def for_tool(self, name: str) -> ContentPolicy:
        """Return the policy for one tool."""
        found = self.tools.get(name)
        return found if isinstance(found, ContentPolicy) else self

    def with_mode(self, mode: ContentMode) -> ContentPolicy:
        """Return this policy in another mode, for every tool."""
        key = self.digest_key if mode == "digests" else None
        return replace(self, mode=mode, digest_key=key, tools={})

    def limited_to(self, max_chars: int | None) -> ContentPolicy:
        """Return this policy with a lower cap, where the tracer itself would cut and break JSON."""
        if max_chars is None or max_chars >= self.max_chars:
            return self
        return replace(
            self,
            max_chars=max(max_chars, _MIN_CHARS),
            tools={name: p.limited_to(max_chars) for name, p in self._policies.items()},
        )

    def scrub(self, text: str) -> str:
        """Redact a text: the caller's function first, then credentials. Fails closed."""
        if self.redact is not None:
            try:
                text = str(self.redact(text))
            except Exception:  # noqa: BLE001  the caller's function; nothing may leave then
                return REDACTION_FAILED
        return redact_secrets(text) if self.redact_secrets else text

    def pick_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Return the headers on the allow list, names in lower case, values redacted."""
        picked: dict[str, str] = {}
        for name, value in headers.items():
            lower = name.lower()
            if lower in self.headers:
                picked[lower] = self.scrub(clean(value))[: self.max_chars]
        return picked

    @cached_property
    def _policies(self) -> dict[str, ContentPolicy]:
        return {n: p for n, p in self.tools.items() if isinstance(p, ContentPolicy)}
