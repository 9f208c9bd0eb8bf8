"""`google.rpc.Status`, which OTLP answers errors with."""

from __future__ import annotations

import importlib
from typing import Final

__all__ = ["INVALID_ARGUMENT", "UNAVAILABLE", "status_message"]

INVALID_ARGUMENT: Final = 3
UNAVAILABLE: Final = 14


def status_message(code: int, message: str, *, retry_after_s: int | None = None) -> bytes:
    """Return an encoded status.

    Args:
        code: Of gRPC's codes.
        message: What is wrong.
        retry_after_s: Told in a `RetryInfo`; `None` = nothing is told.
    """
    # By name, since "google" is also the name of a provider's SDK, which is imported nowhere.
    status = importlib.import_module("google.rpc.status_pb2").Status(code=code, message=message)
    if retry_after_s is not None:
        details = importlib.import_module("google.rpc.error_details_pb2")
        info = details.RetryInfo()
        info.retry_delay.seconds = retry_after_s
        status.details.add().Pack(info)
    encoded: bytes = status.SerializeToString()
    return encoded
