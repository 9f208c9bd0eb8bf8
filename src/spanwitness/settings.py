"""What the environment says. The only reader of it.

| variable | meaning |
| --- | --- |
| `SPANWITNESS_CONTENT` | `on`, `off` or `digests`: whether prompts, results, ... are recorded |
| `SPANWITNESS_STATE_DIR` | folder for local traces and findings; unset: the user's state folder |
| `SPANWITNESS_QUEUE` | address of the review queue; unset: `queue.db` in that folder |
| `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` | read when the first one is unset |
| `OTEL_SDK_DISABLED` | `true` switches spanwitness off with the rest of OpenTelemetry |
| `OTEL_TRACES_EXPORTER`, `OTEL_METRICS_EXPORTER` | `otlp` or `none` |
| `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER` | read by the SDK itself |
| `OTEL_EXPORTER_OTLP_*`, `OTEL_BSP_*` | where and how spans and metrics leave |

A variable that is set to the empty string counts as unset, as OpenTelemetry has it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast, get_args

from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ContentWord", "Settings", "read"]

ContentWord: TypeAlias = Literal["on", "off", "digests"]
ExporterWord: TypeAlias = Literal["otlp", "none"]

CONTENT: Final = "SPANWITNESS_CONTENT"
STATE_DIR: Final = "SPANWITNESS_STATE_DIR"
QUEUE: Final = "SPANWITNESS_QUEUE"
OTEL_CONTENT: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
SDK_DISABLED: Final = "OTEL_SDK_DISABLED"

_OTEL_CONTENT_WORDS: Final[Mapping[str, ContentWord]] = {
    "no_content": "off",
    "false": "off",
    # Content is asked for on events only; ours would stand on spans.
    "event_only": "off",
    "span_only": "on",
    "span_and_event": "on",
    "true": "on",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The environment at one moment."""

    is_disabled: bool = False
    """`OTEL_SDK_DISABLED`."""
    content: ContentWord | None = None
    """`None` when neither variable is set."""
    state_dir: Path
    """Folder for local traces and findings; it need not exist yet."""
    queue: str = field(repr=False)
    """Address of the review queue. It may hold a password."""
    traces_exporter: ExporterWord | None = None
    metrics_exporter: ExporterWord | None = None
    otel: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Every `OTEL_*` variable as it stands. It may hold secrets (headers)."""

    def has(self, name: str) -> bool:
        """Say whether an `OTEL_*` variable is set to anything."""
        return bool(self.otel.get(name, "").strip())


def read(variables: Mapping[str, str] | None = None) -> Settings:
    """Read the environment.

    Args:
        variables: Read instead of the process's environment; `None` = the environment.

    Raises:
        SettingsError: A variable holds a word that is not known. A privacy switch that cannot be
            read must not turn into a default.
    """
    found = os.environ if variables is None else variables
    state_dir = _state_dir(found)
    return Settings(
        is_disabled=found.get(SDK_DISABLED, "").strip().lower() == "true",
        content=_content(found),
        state_dir=state_dir,
        queue=found.get(QUEUE, "").strip() or f"sqlite:///{state_dir / 'queue.db'}",
        traces_exporter=_exporter(found, "OTEL_TRACES_EXPORTER"),
        metrics_exporter=_exporter(found, "OTEL_METRICS_EXPORTER"),
        otel={name: value for name, value in found.items() if name.startswith("OTEL_")},
    )


def _content(variables: Mapping[str, str]) -> ContentWord | None:
    word = variables.get(CONTENT, "").strip()
    if word:
        if word.lower() not in get_args(ContentWord):
            known = ", ".join(get_args(ContentWord))
            raise SettingsError(f"{CONTENT}={word!r}: set it to one of {known}, or unset it")
        return cast("ContentWord", word.lower())
    word = variables.get(OTEL_CONTENT, "").strip()
    if not word:
        return None
    if word.lower() not in _OTEL_CONTENT_WORDS:
        known = ", ".join(name.upper() for name in _OTEL_CONTENT_WORDS)
        raise SettingsError(f"{OTEL_CONTENT}={word!r}: set it to one of {known}, or set {CONTENT}")
    return _OTEL_CONTENT_WORDS[word.lower()]


def _state_dir(variables: Mapping[str, str]) -> Path:
    given = variables.get(STATE_DIR, "").strip()
    if given:
        return Path(given).expanduser().absolute()
    from platformdirs import user_state_path

    return user_state_path("spanwitness", appauthor=False)


def _exporter(variables: Mapping[str, str], name: str) -> ExporterWord | None:
    word = variables.get(name, "").strip().lower()
    if not word:
        return None
    if word not in get_args(ExporterWord):
        raise SettingsError(
            f"{name}={word!r}: spanwitness sends by OTLP or not at all; set it to `otlp` or "
            "`none`, or give `configure` an exporter or a provider"
        )
    return cast("ExporterWord", word)
