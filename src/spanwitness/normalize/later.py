"""What came after a model call: the later calls, and the results that stood in their requests.

A request of a loop repeats every earlier result, so to look through them anew for each call would
take time with the third power of the number of calls. Here each is looked at once.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanwitness.model import ChatCall, Run

__all__ = ["Following", "LaterCalls"]


class Following(NamedTuple):
    """What is known of the later calls that could carry a result."""

    is_empty: bool
    """There is none."""
    shows_all: bool
    """Each of them shows what was delivered to it."""
    hides_some: bool
    """One of them does not, or its input is partly held by the provider."""


_NOTHING = Following(is_empty=True, shows_all=True, hides_some=False)


class LaterCalls:
    """The model calls of a run in their order, and what follows each.

    Args:
        run: The run.
        places: Position of everything in it, by span id.
    """

    def __init__(self, run: Run, places: Mapping[str, int]) -> None:
        self._places = places
        self._chats = sorted(run.chats, key=lambda chat: places[chat.span_id])
        self._order = [places[chat.span_id] for chat in self._chats]
        self._has_children = bool(run.child_run_ids)
        self._last = _last_places(self._chats, self._order)
        self._tails = _tails(self._chats)
        self._known: dict[str, Following] = {}

    def states(self, call_id: str, after: ChatCall | None) -> frozenset[str]:
        """Return the states in which a result stood in requests after a call.

        Args:
            call_id: Of the call that gave the result.
            after: The call that asked for it; `None` = in any request.
        """
        last = self._last.get(call_id)
        if last is None:
            return frozenset()
        place = -1 if after is None else self._places[after.span_id]
        return frozenset(state for state, at in last.items() if after is None or at > place)

    def all(self) -> Following:
        """Return what is known of all calls of the run."""
        return self._tails[0]

    def after(self, chat: ChatCall) -> Following:
        """Return what is known of the later calls that could carry a result of this one.

        With child runs in the run these are the calls of the same loop: another agent's history
        does not hold what this one asked for.
        """
        found = self._known.get(chat.span_id)
        if found is None:
            found = self._known[chat.span_id] = self._after(chat)
        return found

    def _after(self, chat: ChatCall) -> Following:
        start = bisect_right(self._order, self._places[chat.span_id])
        if not self._has_children:
            return self._tails[start]
        carried = {d.call_id for d in chat.delivered or ()}
        loop = chat.parent_span_id, chat.step_span_id
        same = [
            c
            for c in self._chats[start:]
            if (c.parent_span_id, c.step_span_id) == loop
            or any(d.call_id in carried for d in c.delivered or ())
        ]
        return _tails(same)[0]


def _last_places(chats: Sequence[ChatCall], order: Sequence[int]) -> dict[str, dict[str, int]]:
    """Return the last place at which each result stood in each state, by call id."""
    found: dict[str, dict[str, int]] = {}
    known: tuple[object, ...] = ()
    for chat, place in zip(reversed(chats), reversed(order), strict=True):
        delivered = chat.delivered or ()
        if delivered == known[: len(delivered)]:
            continue  # all of it stood, alike, in a later request
        known = delivered
        for one in delivered:
            if one.call_id is not None:
                found.setdefault(one.call_id, {}).setdefault(one.state, place)
    return found


def _tails(chats: Sequence[ChatCall]) -> list[Following]:
    """Return what is known of the calls from each place on; the last entry is for none."""
    found = [_NOTHING]
    for chat in reversed(chats):
        rest = found[-1]
        is_shown = chat.delivered is not None
        found.append(
            Following(
                is_empty=False,
                shows_all=rest.shows_all and is_shown,
                hides_some=rest.hides_some or not is_shown or chat.has_server_state,
            )
        )
    return found[::-1]
