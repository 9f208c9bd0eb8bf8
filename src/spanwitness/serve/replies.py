"""Replies that are remembered, so that a request sent twice is done once."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Final, NamedTuple

from spanwitness.review.web.identity import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

__all__ = ["RememberedReplies"]

_MAX_REPLIES: Final = 10_000
_MAX_KEY_CHARS: Final = 255


class _Reply(NamedTuple):
    digest: bytes
    response: Response | None
    """`None` = it is being made."""


class RememberedReplies:
    """Replies by `Idempotency-Key`, of this process, the latest ten thousand.

    Verdicts are remembered by the queue as well, for all processes and beyond a restart.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._replies: OrderedDict[tuple[str, str], _Reply] = OrderedDict()

    def once(
        self, who: str, key: str | None, request: bytes, make: Callable[[], Response]
    ) -> Response:
        """Return the reply to a request, which is made at the first time only.

        Args:
            who: Whose key it is.
            key: The header; `None` = the request is done each time.
            request: Method, path and body: another request by the same key is refused.
            make: Does the request. A reply that asks to come again (5xx) is not remembered.

        Raises:
            Refusal: The key is too long (400), was used for another request (422), or its first
                request is not done yet (409).
        """
        if key is None:
            return make()
        if not 0 < len(key) <= _MAX_KEY_CHARS:
            raise Refusal(400, f"Idempotency-Key: give 1 to {_MAX_KEY_CHARS} characters", actor=who)
        digest = hashlib.sha256(request).digest()
        place = who, key
        with self._lock:
            known = self._replies.get(place)
            if known is None:
                self._replies[place] = _Reply(digest, None)
                if len(self._replies) > _MAX_REPLIES:
                    self._replies.popitem(last=False)
        if known is not None:
            return _known(known, digest, who)
        try:
            response = make()
        except BaseException:
            self._put(place, None)
            raise
        self._put(place, None if response.status_code >= 500 else _Reply(digest, response))
        return response

    def _put(self, place: tuple[str, str], reply: _Reply | None) -> None:
        with self._lock:
            if reply is None:
                self._replies.pop(place, None)
            else:
                self._replies[place] = reply


def _known(known: _Reply, digest: bytes, who: str) -> Response:
    if known.digest != digest:
        raise Refusal(422, "the Idempotency-Key was used for another request", actor=who)
    if known.response is None:
        raise Refusal(409, "the first request with this Idempotency-Key is not done", actor=who)
    return known.response
