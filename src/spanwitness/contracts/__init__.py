"""The contract language: what is expected of a run.

The names below load pydantic and YAML when they are first asked for; the rules, which need only the
matching of names, do without.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spanwitness.contracts.loading import load, loads
    from spanwitness.contracts.model import Clause, Contract, When
    from spanwitness.contracts.schema import contract_schema

__all__ = ["Clause", "Contract", "When", "contract_schema", "load", "loads"]

_HOMES = {
    "Clause": "model",
    "Contract": "model",
    "When": "model",
    "contract_schema": "schema",
    "load": "loading",
    "loads": "loading",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
