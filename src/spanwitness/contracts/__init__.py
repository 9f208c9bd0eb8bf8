"""The contract language: what is expected of a run."""

from __future__ import annotations

from spanwitness.contracts.load import load, loads
from spanwitness.contracts.model import Clause, Contract, When
from spanwitness.contracts.schema import contract_schema

__all__ = ["Clause", "Contract", "When", "contract_schema", "load", "loads"]
