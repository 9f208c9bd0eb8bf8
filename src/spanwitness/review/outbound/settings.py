"""Who is told what: the file that `--outbound` names.

It holds secrets, so it must be readable by its owner only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, model_validator

from spanwitness.errors import SettingsError
from spanwitness.model.verdict import Severity  # noqa: TC001  pydantic reads the annotations

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "FeedbackSettings",
    "LangfuseSettings",
    "OtlpSettings",
    "OutboundSettings",
    "PhoenixSettings",
    "RetrySettings",
    "WebhookSettings",
    "read_outbound",
]

Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9._-]+$")]
Seconds: TypeAlias = Annotated[float, Field(gt=0, le=86_400)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WebhookSettings(_Part):
    """One receiver of signed messages."""

    name: Name
    url: str
    secrets: tuple[SecretStr, ...] = Field(min_length=1)
    """`whsec_` and base64; each message is signed by all of them."""
    topics: tuple[str, ...] = ("item.*",)
    """Globs of topics."""
    min_severity: Severity = "warning"
    """Messages about items below it are passed over."""
    headers: dict[str, SecretStr] = {}
    timeout_s: Seconds = 10.0
    """Bound on one attempt."""
    allow_private: bool = False
    """This machine and private networks may be called."""
    allow_http: bool = False
    """Without TLS."""
    content: bool = False
    """Send the item's reason and its latest evidence too; else ids, names and counts only."""


class PhoenixSettings(_Part):
    """Verdicts as span annotations of Arize Phoenix."""

    kind: Literal["phoenix"]
    name: Name
    url: str
    """Of the server, such as `http://localhost:6006`."""
    api_key: SecretStr | None = None
    timeout_s: Seconds = 10.0


class LangfuseSettings(_Part):
    """Verdicts as scores of Langfuse."""

    kind: Literal["langfuse"]
    name: Name
    url: str
    """Of the server, such as `https://cloud.langfuse.com`."""
    public_key: str
    secret_key: SecretStr
    timeout_s: Seconds = 10.0


class OtlpSettings(_Part):
    """Verdicts as `gen_ai.evaluation.result` events on a span in the judged trace."""

    kind: Literal["otlp"]
    name: Name
    endpoint: str
    """The full URL of the traces signal, such as `http://localhost:4318/v1/traces`."""
    headers: dict[str, SecretStr] = {}
    timeout_s: Seconds = 10.0


FeedbackSettings: TypeAlias = Annotated[
    PhoenixSettings | LangfuseSettings | OtlpSettings, Field(discriminator="kind")
]


class RetrySettings(_Part):
    """When a delivery is tried again."""

    max_attempts: int = Field(default=10, ge=1, le=100)
    first_pause_s: Seconds = 5.0
    factor: float = Field(default=4.0, ge=1, le=100)
    max_pause_s: Seconds = 5 * 3600.0
    max_retry_after_s: Seconds = 24 * 3600.0


class OutboundSettings(_Part):
    """All that leaves the queue."""

    webhooks: tuple[WebhookSettings, ...] = ()
    feedback: tuple[FeedbackSettings, ...] = ()
    retry: RetrySettings = RetrySettings()

    @model_validator(mode="after")
    def _names_are_unique(self) -> OutboundSettings:
        names = [each.name for each in (*self.webhooks, *self.feedback)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"the name {twice[0]!r} stands twice; deliveries are kept by name")
        return self


def read_outbound(path: Path) -> OutboundSettings:
    """Read the file.

    Raises:
        SettingsError: It cannot be read, others may read it, or a part of it is malformed; the
            place is named, and no value is quoted.
    """
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no UTF-8 text"
        raise SettingsError(f"{path}: cannot be read: {reason}") from None
    if mode & 0o077:
        raise SettingsError(f"{path}: others may read its secrets: chmod 600 {path}")
    try:
        document = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else 1
        raise SettingsError(f"{path}:{line}: no YAML: {error.problem}") from None
    except yaml.YAMLError:
        raise SettingsError(f"{path}: no YAML") from None
    try:
        return OutboundSettings.model_validate(document or {})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise SettingsError(f"{path}: {place}: {first['msg']}") from None
