"""The course of a run as a picture: filled marks for what ran, hollow ones for what did not.

Places are by order, not by time: clocks of several machines differ, and a long wait would push
apart what belongs together.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from spanwitness.normalize.executions import executions
from spanwitness.normalize.order import positions
from spanwitness.review.web.shown_text import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from spanwitness.model import ChatCall, Execution, LedgerRow, Run
    from spanwitness.review.web.gap import Column, Gap

WINDOW: Final = 60
"""Events in one picture."""
MAX_LANES: Final = 14
_STEP, _LANE, _TOP = 44, 34, 20

Kind = Literal["chat", "tool", "missing", "submit", "discovery"]


class Event(msgspec.Struct, frozen=True):
    """One thing that happened, or that should have and did not."""

    kind: Kind
    name: str
    """The tool, the model, `submit`."""
    says: str
    """One line, without content."""
    span_id: str
    order: float
    tone: str
    is_named: bool = False
    """The finding points at it."""
    step: str | None = None
    start_ns: int = 0
    duration_ms: float | None = None
    number: int = 0
    """Place in the run, from 1."""
    x: int = 0
    y: int = 0


class Lane(msgspec.Struct, frozen=True):
    """A row of the picture."""

    name: str
    y: int
    is_used: bool


class Timeline(msgspec.Struct, frozen=True):
    """A window of the course of a run."""

    lanes: tuple[Lane, ...]
    events: tuple[Event, ...]
    width: int
    height: int
    first: int
    """Number of the first event shown, from 1."""
    n_events: int
    n_missing: int
    """Hollow marks in the whole run."""
    n_lanes_hidden: int = 0

    @property
    def last(self) -> int:
        """Number of the last event shown."""
        return self.first + len(self.events) - 1

    @property
    def earlier(self) -> int | None:
        """Where the window before this one starts; `None` = there is none."""
        return max(1, self.first - WINDOW) if self.first > 1 else None

    @property
    def later(self) -> int | None:
        """Where the next window starts; `None` = there is none."""
        return self.last + 1 if self.last < self.n_events else None


def timeline(
    run: Run,
    ledger: Sequence[LedgerRow],
    gap: Gap,
    span_ids: Collection[str],
    *,
    first: int | None = None,
) -> Timeline:
    """Lay out the course of a run.

    Args:
        run: The run.
        ledger: Its ledger: what was offered and never called is hollow where the finding says so.
        gap: What the finding says about the ledger.
        span_ids: The spans that the finding names.
        first: Number of the first event shown, from 1; `None` = so that what the finding names is
            in sight.
    """
    events = sorted(_events(run, ledger, gap, span_ids), key=lambda e: e.order)
    events = [msgspec.structs.replace(e, number=n) for n, e in enumerate(events, 1)]
    start = _start(events, first)
    window = events[start - 1 : start - 1 + WINDOW]
    lanes, n_hidden = _lanes(window, ledger)
    y_of = {lane.name: lane.y for lane in lanes}
    last_y = lanes[-1].y if lanes else _TOP
    placed = tuple(
        msgspec.structs.replace(event, x=22 + place * _STEP, y=y_of.get(_lane_of(event), last_y))
        for place, event in enumerate(window)
    )
    return Timeline(
        lanes=lanes,
        events=placed,
        width=max(len(window), 4) * _STEP,
        height=last_y + _LANE // 2 + 10,
        first=start,
        n_events=len(events),
        n_missing=sum(e.kind == "missing" for e in events),
        n_lanes_hidden=n_hidden,
    )


def _start(events: Sequence[Event], first: int | None) -> int:
    if first is not None:
        return min(max(1, first), max(1, len(events)))
    if len(events) <= WINDOW:
        return 1
    told = next((e.number for e in events if e.is_named or e.kind == "missing"), 1)
    return max(1, min(told - WINDOW // 4, len(events) - WINDOW + 1))


def _lane_of(event: Event) -> str:
    if event.kind == "chat":
        return "model"
    return "answer" if event.kind == "submit" else event.name


def _lanes(window: Sequence[Event], ledger: Sequence[LedgerRow]) -> tuple[tuple[Lane, ...], int]:
    used = dict.fromkeys(_lane_of(e) for e in window if e.kind in ("tool", "missing", "discovery"))
    ran = {e.name for e in window if e.kind == "tool"}
    idle = dict.fromkeys(row.tool for row in ledger if row.tool not in used)
    names = [*used, *idle]
    n_hidden = max(0, len(names) - MAX_LANES)
    names = ["model", *names[:MAX_LANES]]
    if any(e.kind == "submit" for e in window):
        names.append("answer")
    made = tuple(
        Lane(name, _TOP + place * _LANE, name in ran or name in ("model", "answer"))
        for place, name in enumerate(names)
    )
    return made, n_hidden


def _events(
    run: Run, ledger: Sequence[LedgerRow], gap: Gap, span_ids: Collection[str]
) -> Iterator[Event]:
    places = positions(run)
    steps = {step.span_id: step.name for step in run.steps}
    named = frozenset(span_ids)
    found = executions(run, places)
    for chat in run.chats:
        yield _chat(chat, places[chat.span_id], steps, named)
    for execution in found:
        yield _execution(execution, steps, named, gap)
    for listing in run.discoveries:
        yield Event(
            kind="discovery",
            name=one_line(listing.server or "tool listing", limit=40),
            says="listing of tools"
            + (f" failed: {listing.error_type}" if listing.error_type else ""),
            span_id=listing.span_id,
            order=places[listing.span_id],
            tone="bad" if listing.error_type else "good",
            is_named=listing.span_id in named,
            start_ns=listing.start_ns,
        )
    if run.submission is not None:
        yield Event(
            kind="submit",
            name="submit",
            says="the answer is submitted",
            span_id=run.submission.span_id,
            order=places[run.submission.span_id],
            tone="good",
            is_named=run.submission.span_id in named,
            start_ns=run.submission.start_ns,
        )
    yield from _missing_calls(run, found, places, gap)
    yield from _missing_tools(run, ledger, places, gap, named)


def _chat(chat: ChatCall, place: int, steps: dict[str, str], named: Collection[str]) -> Event:
    n_calls = len(chat.requested) if chat.requested is not None else None
    says = [f"{n_calls} calls asked for" if n_calls != 1 else "1 call asked for"]
    if n_calls is None:
        says = ["calls not recorded"]
    elif n_calls == 0:
        says = ["no call asked for"]
    says += [f"finish {', '.join(chat.finish_reasons)}"] if chat.finish_reasons else []
    says += [f"failed: {chat.error_type}"] if chat.error_type else []
    return Event(
        kind="chat",
        name=one_line(chat.response_model or chat.request_model or "model", limit=60),
        says=one_line("; ".join(says)),
        span_id=chat.span_id,
        order=place,
        tone="bad" if chat.error_type else "good",
        is_named=chat.span_id in named,
        step=steps.get(chat.step_span_id or ""),
        start_ns=chat.start_ns,
        duration_ms=_duration_ms(chat.start_ns, chat.end_ns),
    )


_OUTCOMES = {"error": "bad", "cancelled": "weak", "empty": "weak", "cached": "weak"}
_HOW = {
    "span": "ran", "provider": "ran at the provider", "messages": "ran (its result stands in a "
    "later request)", "cache": "was served from a cache",
}  # fmt: skip


def _execution(
    execution: Execution, steps: dict[str, str], named: Collection[str], gap: Gap
) -> Event:
    call = execution.call
    says = f"{_HOW[execution.how]}, returned {execution.outcome.replace('_', ' ')}"
    is_named = call is not None and call.span_id in named
    if execution.call_id is not None and execution.call_id in gap.call_ids:
        is_named = True
    return Event(
        kind="tool",
        name=one_line(execution.tool, limit=60),
        says=says,
        span_id=execution.span_id,
        # What only messages show has the place of the model call that asked for it.
        order=execution.order + (0.0 if call is not None else 0.25),
        tone=_OUTCOMES.get(execution.outcome, "good"),
        is_named=is_named,
        step=steps.get(execution.step_span_id or ""),
        start_ns=call.start_ns if call is not None else 0,
        duration_ms=_duration_ms(call.start_ns, call.end_ns) if call is not None else None,
    )


def _duration_ms(start_ns: int, end_ns: int) -> float | None:
    return (end_ns - start_ns) / 1e6 if start_ns and end_ns >= start_ns else None


def _missing_calls(
    run: Run, found: Sequence[Execution], places: dict[str, int], gap: Gap
) -> Iterator[Event]:
    """Calls that the model asked for and nothing executed, where that is a fault."""
    done = {e.call_id for e in found}
    seen: set[str] = set()
    for chat in run.chats:
        for request in chat.requested or ():
            call_id = request.call_id
            if request.side != "client" or call_id is None or call_id in done or call_id in seen:
                continue
            seen.add(call_id)
            if call_id in gap.call_ids or (gap.columns == ("requested", "executed")):
                yield Event(
                    kind="missing",
                    name=one_line(request.name, limit=60),
                    says="asked for, never executed",
                    span_id=chat.span_id,
                    order=places[chat.span_id] + 0.5,
                    tone="bad",
                    is_named=True,
                )


_NEVER: Final[Mapping[tuple[Column, ...], str]] = {
    ("configured", "offered"): "configured, never offered",
    ("offered", "requested"): "offered, never asked for",
    ("requested", "executed"): "expected, never executed",
}


def _missing_tools(
    run: Run,
    ledger: Sequence[LedgerRow],
    places: dict[str, int],
    gap: Gap,
    named: Collection[str],
) -> Iterator[Event]:
    """Tools that nobody called, where the finding says that they should have been."""
    says = _NEVER.get(gap.columns)
    if says is None:
        return
    last = max(places.values(), default=0)
    at = next((places[c.span_id] for c in run.chats if c.span_id in named), last)
    kinds = Counter(row.tool for row in ledger)
    for row in ledger:
        if kinds[row.tool] > 1 or row.call_id is not None:
            continue
        if gap.touches(row) and any(gap.breaks_at(row, column) for column in gap.columns):
            yield Event(
                kind="missing",
                name=one_line(row.tool, limit=60),
                says=says,
                span_id="",
                order=at + 0.5,
                tone="bad",
                is_named=True,
            )
