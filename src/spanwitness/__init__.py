"""spanwitness watches what an agent really did, tool call by tool call, and says where it breaks.

Every public name is loaded when it is first used, so that `import spanwitness` stays cheap; the
import itself starts nothing and changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwitness import errors
    from spanwitness.capture.client import wrap_client
    from spanwitness.capture.content import ContentPolicy
    from spanwitness.capture.context import current_run
    from spanwitness.capture.decorators import agent, step, tool
    from spanwitness.capture.http_client import http_client
    from spanwitness.capture.instrument import instrument, uninstrument
    from spanwitness.capture.outcomes import record_outcome
    from spanwitness.capture.run import run
    from spanwitness.contracts import Contract
    from spanwitness.live.configure import configure
    from spanwitness.live.detector import Detector
    from spanwitness.live.witness import Witness
    from spanwitness.model import Claim

    __version__: str

_PLACES = {
    "Claim": "spanwitness.model",
    "ContentPolicy": "spanwitness.capture.content",
    "Contract": "spanwitness.contracts",
    "Detector": "spanwitness.live.detector",
    "Witness": "spanwitness.live.witness",
    "agent": "spanwitness.capture.decorators",
    "configure": "spanwitness.live.configure",
    "current_run": "spanwitness.capture.context",
    "http_client": "spanwitness.capture.http_client",
    "instrument": "spanwitness.capture.instrument",
    "record_outcome": "spanwitness.capture.outcomes",
    "run": "spanwitness.capture.run",
    "step": "spanwitness.capture.decorators",
    "tool": "spanwitness.capture.decorators",
    "uninstrument": "spanwitness.capture.instrument",
    "wrap_client": "spanwitness.capture.client",
}

__all__ = [
    "Claim",
    "ContentPolicy",
    "Contract",
    "Detector",
    "Witness",
    "__version__",
    "agent",
    "configure",
    "current_run",
    "errors",
    "http_client",
    "instrument",
    "record_outcome",
    "run",
    "step",
    "tool",
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
