"""From the spans of one trace to its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeVar

from spanwitness.model import ChatCall, Discovery, Run, Step, Submission, TextPart, ToolCall
from spanwitness.normalize import otel_genai, own_spans
from spanwitness.normalize.boundaries import find_regions
from spanwitness.normalize.completeness import incomplete_reasons
from spanwitness.normalize.joins import Joins, fill
from spanwitness.normalize.own_spans import Deliveries
from spanwitness.normalize.protocol import read_step, read_submission, root_facts
from spanwitness.normalize.returned import ReturnedResults
from spanwitness.normalize.stack import stack_of
from spanwitness.normalize.stored_messages import History
from spanwitness.normalize.surroundings import Surroundings
from spanwitness.normalize.tree import SpanTree
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanwitness.model import SpanRecord
    from spanwitness.normalize.boundaries import Region, Regions
    from spanwitness.normalize.dialects import Role

__all__ = ["build_runs"]

T = TypeVar("T")
_CONTENT_WORDS: Final[tuple[Literal["on", "off", "digests"], ...]] = ("on", "off", "digests")


def build_runs(spans: Iterable[SpanRecord]) -> list[Run]:
    """Build the runs of one trace.

    Args:
        spans: The spans of one trace, in any order. A span that stands twice counts once.

    Returns:
        Its runs, outermost first, each child run after its parent. A trace that says nothing about
        models, tools or steps has none. Equal spans in another order give equal runs.
    """
    tree = SpanTree(spans)
    if not tree.spans:
        return []
    found = find_regions(tree)
    if not found.regions:
        return []
    calls = _Calls(tree, found)
    return [_run(region, calls) for region in found.regions]


class _Calls:
    """The calls, steps and listings of a trace, read once for all its runs."""

    def __init__(self, tree: SpanTree, found: Regions) -> None:
        self.tree = tree
        self.found = found
        self.chats: dict[str, ChatCall] = {}
        self.tools: dict[str, ToolCall] = {}
        self.steps: dict[str, Step] = {}
        self.discoveries: dict[str, Discovery] = {}
        self.submissions: dict[str, SpanRecord] = {}
        self.places: dict[str, int] = {}
        self.surroundings = Surroundings(tree, found.roles)
        self._number()
        self._read_tools()
        self._history = History(ReturnedResults(self.tools.values(), tree.by_id).judge)
        self._deliveries: dict[object, Deliveries] = {}
        self._read()
        self._join()

    def _number(self) -> None:
        spans = self.tree.spans
        is_counted = _is_counted_once(spans, self.found.roles)
        for place, span in enumerate(spans, 1):
            seq = span.attributes.get(own.SEQ) if is_counted else place
            self.places[span.span_id] = seq if isinstance(seq, int) else place

    def _read_tools(self) -> None:
        found = self.found
        handing_over = self.surroundings.handing_over
        for span in found.of_role("tool"):
            id_ = span.span_id
            read = own_spans.read_tool if found.is_own(span) else otel_genai.read_tool
            self.tools[id_] = read(
                span,
                self.places[id_],
                self.surroundings.step[id_],
                is_handed_over=id_ in handing_over,
            )

    def _read(self) -> None:
        found, places = self.found, self.places
        for span in found.of_role("chat"):
            self.chats[span.span_id] = self._chat(span)
        for span in found.of_role("step"):
            self.steps[span.span_id] = read_step(span, places[span.span_id])
            if span.attributes.get(own.STEP_KIND) == "submit":
                self.submissions[span.span_id] = span
        for span in found.of_role("discovery"):
            listing = own_spans if found.is_own(span) else otel_genai
            self.discoveries[span.span_id] = listing.read_discovery(span, places[span.span_id])

    def _chat(self, span: SpanRecord) -> ChatCall:
        place, step = self.places[span.span_id], self.surroundings.step[span.span_id]
        if not self.found.is_own(span):
            return otel_genai.read_chat(span, self._history, place, step)
        run_id = span.attributes.get(own.RUN_ID)
        deliveries = self._deliveries.get(run_id)
        if deliveries is None:
            deliveries = self._deliveries[run_id] = Deliveries()
        return own_spans.read_chat(span, self._history, deliveries, place, step)

    def of(self, items: dict[str, T], spans: list[SpanRecord], *, is_all: bool) -> list[T]:
        """Return the items of these spans in order; all of them when these are all spans."""
        if is_all or not items:
            return list(items.values())
        return [items[span.span_id] for span in spans if span.span_id in items]

    def spans_of(self, region: Region) -> list[SpanRecord]:
        """Return the spans of a run and of its child runs, in order."""
        spans = region.all_spans()
        if len(spans) == len(self.tree.spans):
            return self.tree.spans
        places = self.places
        return sorted(spans, key=lambda span: (places[span.span_id], span.span_id))

    def _join(self) -> None:
        joins = Joins(self.tree, self.found, self.surroundings, self.tools)
        for gone, stays in joins.pairs():
            if gone in self.chats:
                self.chats[stays] = fill(self.chats[stays], self.chats.pop(gone))
            elif gone in self.tools:
                self.tools[stays] = fill(self.tools[stays], self.tools.pop(gone))
            else:
                self.discoveries.pop(gone, None)


def _is_counted_once(spans: list[SpanRecord], roles: dict[str, Role]) -> bool:
    """Say whether one count of one run numbers all that matters, so that it is the order."""
    run_id: object = None
    for span in spans:
        if own.SEQ in span.attributes:
            found = span.attributes.get(own.RUN_ID)
            if found is None or (run_id is not None and found != run_id):
                return False
            run_id = found
        elif roles[span.span_id] != "other":
            return False
    return run_id is not None


def _run(region: Region, calls: _Calls) -> Run:
    found = calls.found
    spans = calls.spans_of(region)
    is_all = spans is calls.tree.spans
    chats = calls.of(calls.chats, spans, is_all=is_all)
    root = region.root
    heads = _heads(region, found)
    facts = root_facts(heads or spans[:1])
    submission = _submission(region, spans, calls)
    status, is_cancelled = _status(root), bool(facts.pop("is_cancelled", False))
    _add_defaults(facts, region, chats, spans)
    reasons = incomplete_reasons(region, calls.tree, found.roles, found.dialects)
    return Run(
        run_id=region.key,
        trace_id=(root or spans[0]).trace_id,
        root_span_id=(root or spans[0]).span_id,
        name=root.name if root is not None else spans[0].name,
        parent_run_id=None if region.parent is None else region.parent.key,
        child_run_ids=tuple(child.key for child in _ordered(region.children, calls)),
        dialects=_dialects(spans, found),
        chats=tuple(chats),
        tools=tuple(calls.of(calls.tools, spans, is_all=is_all)),
        steps=tuple(calls.of(calls.steps, spans, is_all=is_all)),
        discoveries=tuple(calls.of(calls.discoveries, spans, is_all=is_all)),
        submission=submission,
        status=status,
        is_cancelled=is_cancelled,
        content=_content(heads, chats),
        is_complete=not reasons,
        incomplete_reasons=reasons,
        **facts,
    )


def _heads(region: Region, found: Regions) -> list[SpanRecord]:
    """Return the root and, after it, the agents and workflows that are one with it."""
    root = region.root
    heads = [] if root is None else [root]
    if "agent" in found.by_role or "workflow" in found.by_role:
        roles = found.roles
        heads += [
            span
            for span in region.spans
            if span is not root and roles[span.span_id] in ("agent", "workflow")
        ]
    return heads


def _ordered(regions: list[Region], calls: _Calls) -> list[Region]:
    return sorted(
        regions,
        key=lambda r: (calls.places[(r.root or r.spans[0]).span_id] if r.spans else 0, r.key),
    )


def _status(root: SpanRecord | None) -> Literal["unset", "ok", "error"]:
    return "unset" if root is None else root.status


def _submission(region: Region, spans: list[SpanRecord], calls: _Calls) -> Submission | None:
    """Return the last submission: a later one replaces those before."""
    if not calls.submissions:
        return None
    own_ids = {span.span_id for span in region.spans}
    submits = [
        span.span_id
        for span in spans
        if span.span_id in calls.submissions and span.span_id in own_ids
    ]
    if not submits:
        return None
    span = calls.submissions[submits[-1]]
    return read_submission(span, calls.places[span.span_id], region.root)


def _dialects(spans: list[SpanRecord], found: Regions) -> tuple[str, ...]:
    named = {found.dialects[span.span_id] for span in spans}
    return tuple(sorted(name for name in named if name is not None))


def _content(
    heads: list[SpanRecord], chats: list[ChatCall]
) -> Literal["on", "off", "digests", "unknown"]:
    for span in heads:
        mode = span.attributes.get(own.CONTENT)
        for word in _CONTENT_WORDS:
            if mode == word:
                return word
    if not chats:
        return "unknown"
    is_on = any(c.input_messages is not None or c.output_messages is not None for c in chats)
    return "on" if is_on else "off"


def _add_defaults(
    facts: dict[str, object], region: Region, chats: list[ChatCall], spans: list[SpanRecord]
) -> None:
    """Fill what the root does not say from what the calls show."""
    last = chats[-1] if chats else None
    if "final_text" not in facts and last is not None and last.output_messages is not None:
        facts["final_text"] = _visible_text(last) or None
    if "has_final" not in facts and not region.is_own and last is not None:
        is_shown = last.text_chars is not None
        facts["has_final"] = bool(last.text_chars) if is_shown else None
    if "input_text" not in facts and chats and chats[0].input_messages is not None:
        facts["input_text"] = _first_question(chats[0])
    if "stack" not in facts:
        facts["stack"] = stack_of(chats)
    if "conversation_id" not in facts:
        for span in spans:
            value = span.attributes.get(gen_ai.CONVERSATION_ID)
            if isinstance(value, str):
                facts["conversation_id"] = value
                break


def _visible_text(chat: ChatCall) -> str:
    return "".join(
        part.text
        for message in chat.output_messages or ()
        for part in message.parts
        if isinstance(part, TextPart)
    )


def _first_question(chat: ChatCall) -> str | None:
    for message in chat.input_messages or ():
        if message.role == "user":
            found = "".join(part.text for part in message.parts if isinstance(part, TextPart))
            return found or None
    return None
