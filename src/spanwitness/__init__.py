"""spanwitness watches what an agent really did, tool call by tool call, and says where it breaks.

Every public name is loaded when it is first used, so that `import spanwitness` stays cheap; the
import itself starts nothing and changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwitness import errors
    from spanwitness.capture.agent import agent
    from spanwitness.capture.client import wrap_client
    from spanwitness.capture.content import ContentPolicy
    from spanwitness.capture.context import current_run
    from spanwitness.capture.http_client import http_client
    from spanwitness.capture.instrument import instrument, uninstrument
    from spanwitness.capture.outcomes import record_outcome
    from spanwitness.capture.run import run
    from spanwitness.capture.step import step, step_scope
    from spanwitness.capture.step_facts import current_step, shuffled
    from spanwitness.capture.threads import ContextThreadPoolExecutor, bind_context
    from spanwitness.capture.tool import mark_cached, tool, tool_call
    from spanwitness.contracts import Contract
    from spanwitness.live.configure import configure
    from spanwitness.live.detector import Detector
    from spanwitness.live.witness import Witness
    from spanwitness.model import Claim

    __version__: str

_PLACES = {
    "Claim": "spanwitness.model",
    "ContentPolicy": "spanwitness.capture.content",
    "ContextThreadPoolExecutor": "spanwitness.capture.threads",
    "Contract": "spanwitness.contracts",
    "Detector": "spanwitness.live.detector",
    "Witness": "spanwitness.live.witness",
    "agent": "spanwitness.capture.agent",
    "bind_context": "spanwitness.capture.threads",
    "configure": "spanwitness.live.configure",
    "current_run": "spanwitness.capture.context",
    "current_step": "spanwitness.capture.step_facts",
    "http_client": "spanwitness.capture.http_client",
    "instrument": "spanwitness.capture.instrument",
    "mark_cached": "spanwitness.capture.tool",
    "record_outcome": "spanwitness.capture.outcomes",
    "run": "spanwitness.capture.run",
    "shuffled": "spanwitness.capture.step_facts",
    "step": "spanwitness.capture.step",
    "step_scope": "spanwitness.capture.step",
    "tool": "spanwitness.capture.tool",
    "tool_call": "spanwitness.capture.tool",
    "uninstrument": "spanwitness.capture.instrument",
    "wrap_client": "spanwitness.capture.client",
}

__all__ = [
    "Claim",
    "ContentPolicy",
    "ContextThreadPoolExecutor",
    "Contract",
    "Detector",
    "Witness",
    "__version__",
    "agent",
    "bind_context",
    "configure",
    "current_run",
    "current_step",
    "errors",
    "http_client",
    "instrument",
    "mark_cached",
    "record_outcome",
    "run",
    "shuffled",
    "step",
    "step_scope",
    "tool",
    "tool_call",
    "uninstrument",
    "wrap_client",
]


def __getattr__(name: str) -> object:
    if name == "errors":
        import importlib

        return importlib.import_module("spanwitness.errors")
    if name == "__version__":
        from importlib.metadata import version

        found: object = version("spanwitness")
    elif name in _PLACES:
        import importlib

        found = getattr(importlib.import_module(_PLACES[name]), name)
    else:
        raise AttributeError(f"module 'spanwitness' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
