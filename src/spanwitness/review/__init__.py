"""The human review queue: its store, its page, and what goes out from it.

Its names are loaded when first used: SQLAlchemy is heavy, and in an extra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.errors import MissingExtraError

if TYPE_CHECKING:
    from spanwitness.review.sink import QueueSink
    from spanwitness.review.store.queue import Queue
    from spanwitness.review.store.values import Item, ItemFilter

__all__ = ["Item", "ItemFilter", "Queue", "QueueSink"]

_PLACES = {
    "Item": "spanwitness.review.store.values",
    "ItemFilter": "spanwitness.review.store.values",
    "Queue": "spanwitness.review.store.queue",
    "QueueSink": "spanwitness.review.sink",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'spanwitness.review' has no attribute {name!r}")
    import importlib

    try:
        found: object = getattr(importlib.import_module(_PLACES[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise MissingExtraError(error.name, extra="review") from None
    globals()[name] = found
    return found
