"""What holds in this process where a run or a decorator says nothing: policy, agent name."""

from __future__ import annotations

from opentelemetry import trace as otel_trace

from spanwitness import settings
from spanwitness.capture import spans
from spanwitness.capture.content import ContentMode, ContentPolicy
from spanwitness.errors import SettingsError
from spanwitness.guard import record

__all__ = ["agent", "policy", "policy_of", "use"]

_policy: ContentPolicy | None = None
_agent: str | None = None


def use(*, policy: ContentPolicy | None = None, agent: str | None = None) -> None:
    """Set the defaults of the process; `None` = as the environment and the provider say.

    Args:
        policy: What content may leave.
        agent: Name of the agent for runs that name none; otherwise the service name is taken.
    """
    global _policy, _agent  # noqa: PLW0603
    _policy = None if policy is None else policy.limited_to(spans.attribute_limit())
    _agent = agent


def policy() -> ContentPolicy:
    """Return the content policy of the process.

    Without `use`, the environment decides; a variable that cannot be read keeps all content in,
    since this may be called on the traced path, where nothing may be refused.
    """
    global _policy  # noqa: PLW0603
    if _policy is None:
        mode: ContentMode = "off"
        try:
            mode = settings.read().content or "on"
        except SettingsError as error:
            record("capture.defaults.policy", error)
        _policy = ContentPolicy(mode=mode).limited_to(spans.attribute_limit())
    return _policy


def policy_of(content: ContentPolicy | ContentMode | None) -> ContentPolicy | None:
    """Make a policy of what a decorator or a run was given; `None` stays `None`.

    Raises:
        SettingsError: The mode is not known.
    """
    if content is None or isinstance(content, ContentPolicy):
        return None if content is None else content.limited_to(spans.attribute_limit())
    return policy().with_mode(content)


def agent() -> str | None:
    """Return the default agent name: as set, else the provider's service name, else `None`."""
    if _agent is not None:
        return _agent
    provider = spans.provider() or otel_trace.get_tracer_provider()
    attributes = getattr(getattr(provider, "resource", None), "attributes", None) or {}
    name = attributes.get("service.name")
    if not isinstance(name, str) or name.startswith("unknown_service"):
        return None
    return name
