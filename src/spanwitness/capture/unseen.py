"""Traffic that goes round the watched transport: said loudly once, and the run is incomplete."""

from __future__ import annotations

import logging

from spanwitness.capture.context import current_run

__all__ = ["notice", "notice_endpoint"]

_log = logging.getLogger("spanwitness")
_told: set[str] = set()
_MAX_TOLD = 256
_ENDPOINTS = (
    ("/batches", "a batch: its replies come outside any run"),
    (":batchGenerateContent", "a batch: its replies come outside any run"),
    ("/realtime/", "a realtime session: it goes over its own connection"),
    ("/realtime", "a realtime session: it goes over its own connection"),
)


def notice(what: str) -> None:
    """Mark the run in progress as incomplete, and warn once per process and kind.

    Args:
        what: The traffic that cannot be seen, without content.
    """
    state = current_run()
    if state is not None:
        state.mark_incomplete("unseen_traffic")
    if what in _told or len(_told) >= _MAX_TOLD:
        return
    _told.add(what)
    _log.warning(
        "spanwitness.unseen_traffic what=%r (model calls there are not recorded, so absence in "
        "this run proves nothing; further ones are only marked on their runs)",
        what,
    )


def notice_endpoint(method: str, path: str) -> None:
    """Notice requests to endpoints that do model work which no chat span can stand for."""
    if method != "POST":
        return
    for mark, what in _ENDPOINTS:
        if path.endswith(mark) or (mark.endswith("/") and mark in path):
            notice(what)
            return
