"""What a decorated tool call costs: `python -m benchmarks tool_calls`.

The base (1.0) is what one writes by hand with OpenTelemetry: `start_as_current_span`, eight
`set_attribute` and `json.dumps` of arguments and result. All candidates use a provider with one
processor that does nothing, inside a run (the base: inside a span). Calls are timed in groups, as
reading the clock between any two slows both. Before each group the model's requests for it, one a
tool, are put on the run's board, so that each call finds its id there; that is the work of the
client's side and not timed here. One row has five parallel calls of the same tool open.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import spanwitness as sw
from benchmarks.peer_tools import decorators
from benchmarks.table import Row, at_most
from benchmarks.timing import Candidate, compare, keep, paired_difference_ns, paired_ratio
from spanwitness.capture import spans
from spanwitness.capture.context import current_run
from spanwitness.model import ToolRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from benchmarks.timing import Timing

_QUERIES = tuple(f"maximum supply voltage {i}" for i in range(5))
_PAGE = "AX100 operating conditions: supply voltage 1.7 to 3.6 V, supply current 345 uA. " * 5
_SMALL = {"pages": [{"page": 3, "text": "supply voltage 1.7 to 3.6 V"}], "found": True}
_RESULTS = {
    "small": _SMALL,
    "10 kB": {"pages": [{"page": i, "text": _PAGE} for i in range(24)], "found": True},
    "1 MB": {"pages": [{"page": i, "text": _PAGE} for i in range(2380)], "found": True},
    "1 MB of text": _PAGE * 2500,
}
_BARS = {"small": 0.70, "10 kB": 0.80, "1 MB": 0.05, "1 MB of text": 0.05}
_N_CALLS = {"small": 250, "10 kB": 200, "1 MB": 8, "1 MB of text": 40}
_GROUP = {"small": 25, "10 kB": 10, "1 MB": 1, "1 MB of text": 1}
_OFF_BAR_US, _UNSAMPLED_BAR_US = 0.5, 1.5
_BASE, _LEAN, _BARE = "plain OpenTelemetry", "plain, attributes at start", "bare function"
_FIVE = "spanwitness, five parallel calls of this tool open"
_OURS, _DETECTED = "spanwitness", "spanwitness, detector and export on"


def rows(*, n_batches: int = 15, sizes: tuple[str, ...] = tuple(_RESULTS)) -> list[Row]:
    """Time decorated calls of every kind."""
    with _Providers() as providers:
        found = [row for size in sizes for row in _sync_rows(providers, size, n_batches)]
        found += _kind_rows(providers, "async", _async_tool, _drive, n_batches)
        found += _kind_rows(providers, "generator", _generator_tool, list, n_batches)
        return found + _idle_rows(providers, n_batches)


class _Providers:
    """Tracer providers: with a processor that does nothing, one that drops all, one watched."""

    def __init__(self) -> None:
        self.plain = _provider()
        self.off = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
        self._state_dir = tempfile.TemporaryDirectory(prefix="spanwitness-bench-")
        # As it comes: detector, batch export to local files. Its threads are not the caller's CPU.
        self._witness = sw.configure(service_name="bench", state_dir=self._state_dir.name)
        self.watched = self._witness.provider

    def __enter__(self) -> _Providers:
        return self

    def __exit__(self, *_: object) -> None:
        spans.use_provider(None)
        self._witness.shutdown()
        self._state_dir.cleanup()


def _provider() -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SpanProcessor())
    return provider


# --- the tools


def _sync_tool(result: object) -> Callable[..., Any]:
    def search_text(query: str, page: int = 1) -> object:  # noqa: ARG001
        return result

    return search_text


def _async_tool(result: object) -> Callable[..., Any]:
    async def search_text(query: str, page: int = 1) -> object:  # noqa: ARG001
        return result

    return search_text


def _generator_tool(result: object) -> Callable[..., Any]:
    def search_text(query: str, page: int = 1) -> Iterator[object]:  # noqa: ARG001
        yield result
        yield result
        yield result

    return search_text


def _drive(coroutine: Any) -> object:
    """Run a coroutine that never waits, without the cost of an event loop."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waited")


# --- plain OpenTelemetry, by hand


def _describe(span: Any, query: str, page: int) -> None:
    span.set_attribute("gen_ai.operation.name", "execute_tool")
    span.set_attribute("gen_ai.tool.name", "search_text")
    span.set_attribute("gen_ai.tool.type", "function")
    span.set_attribute("gen_ai.tool.description", "Search the datasheet.")
    span.set_attribute("gen_ai.tool.call.id", "call_1")
    span.set_attribute("gen_ai.agent.name", "datasheet-agent")
    arguments = json.dumps({"query": query, "page": page})
    span.set_attribute("gen_ai.tool.call.arguments", arguments)


def _plain(kind: str, provider: TracerProvider, bare: Callable[..., Any]) -> Callable[..., Any]:
    tracer = provider.get_tracer("bench")

    def sync_call(query: str, page: int = 1) -> object:
        with tracer.start_as_current_span("execute_tool search_text") as span:
            _describe(span, query, page)
            result = bare(query, page)
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
            return result

    async def async_call(query: str, page: int = 1) -> object:
        with tracer.start_as_current_span("execute_tool search_text") as span:
            _describe(span, query, page)
            result = await bare(query, page)
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
            return result

    def generator_call(query: str, page: int = 1) -> Iterator[object]:
        with tracer.start_as_current_span("execute_tool search_text") as span:
            _describe(span, query, page)
            items = []
            for item in bare(query, page):
                items.append(item)
                yield item
            span.set_attribute("gen_ai.tool.call.result", json.dumps(items))

    return {"sync": sync_call, "async": async_call, "generator": generator_call}[kind]


def _lean(provider: TracerProvider, bare: Callable[..., Any]) -> Callable[..., Any]:
    tracer = provider.get_tracer("bench")

    def call(query: str, page: int = 1) -> object:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "search_text",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": "Search the datasheet.",
            "gen_ai.tool.call.id": "call_1",
            "gen_ai.agent.name": "datasheet-agent",
            "gen_ai.tool.call.arguments": json.dumps({"query": query, "page": page}),
        }
        with tracer.start_as_current_span("execute_tool x", attributes=attributes) as span:
            result = bare(query, page)
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
            return result

    return call


def _empty(provider: TracerProvider) -> Callable[..., Any]:
    tracer = provider.get_tracer("bench")

    def call(query: str, page: int = 1) -> None:  # noqa: ARG001
        tracer.start_span("execute_tool search_text").end()

    return call


# --- candidates: calls inside a run or a span


def _group(
    calls: list[Callable[..., Any]],
    drive: Callable[[Any], object] | None = None,
    queries: tuple[str, ...] = _QUERIES[:1],
) -> Callable[[], None]:
    """Call each with each query."""

    def group() -> None:
        for query in queries:
            for call in calls:
                call(query, page=2)

    def driven() -> None:
        for query in queries:
            for call in calls:
                drive(call(query, page=2))

    return group if drive is None else driven


def _in_span(
    provider: TracerProvider,
    call: Callable[..., Any],
    drive: Callable[[Any], object] | None = None,
    *,
    n_group: int = 25,
) -> Candidate:
    tracer = provider.get_tracer("bench")

    def around() -> Any:
        return tracer.start_as_current_span("run")

    return Candidate(
        call=_group([call] * n_group, drive),
        n_calls=n_group,
        prepare=lambda: None,
        around=around,
    )


def _in_run(
    provider: TracerProvider,
    bare: Callable[..., Any],
    drive: Callable[[Any], object] | None = None,
    *,
    is_on: bool = True,
    n_group: int = 25,
    queries: tuple[str, ...] = _QUERIES[:1],
) -> Candidate:
    @contextmanager
    def around() -> Iterator[None]:
        spans.use_provider(provider)
        spans.set_enabled(is_on)
        try:
            with sw.run("bench"):
                yield
        finally:
            spans.set_enabled(True)
            spans.use_provider(None)

    names = [f"search_text_{number}" for number in range(n_group)]
    return Candidate(
        call=_group([sw.tool(effect="read", name=name)(bare) for name in names], drive, queries),
        n_calls=n_group * len(queries),
        prepare=partial(_post_calls, names, queries),
        around=around,
    )


_number = 0


def _post_calls(names: list[str], queries: tuple[str, ...]) -> None:
    """Do what the client's side does for a reply with calls: put them on the run's board."""
    global _number  # noqa: PLW0603
    state = current_run()
    if state is None:
        return
    requests = []
    for query in queries:
        for name in names:
            _number += 1
            arguments = {"query": query, "page": 2}
            requests.append(ToolRequest(name=name, call_id=f"call_{_number}", arguments=arguments))
    state.board.post(requests, "0000000000000001")


# --- rows


def _sync_rows(providers: _Providers, size: str, n_batches: int) -> list[Row]:
    bare = _sync_tool(_RESULTS[size])
    n_group = _GROUP[size]
    in_span = partial(_in_span, n_group=n_group)
    candidates = {
        _BASE: in_span(providers.plain, _plain("sync", providers.plain, bare)),
        _OURS: _in_run(providers.plain, bare, n_group=n_group),
        _DETECTED: _in_run(providers.watched, bare, n_group=n_group),
    }
    for name, decorate in decorators(providers.plain).items():
        candidates[name] = in_span(providers.plain, decorate(_sync_tool(_RESULTS[size])))
    if size == "small":
        candidates[_FIVE] = _in_run(providers.plain, bare, n_group=5, queries=_QUERIES)
        candidates[_LEAN] = in_span(providers.plain, _lean(providers.plain, bare))
        candidates["start and end of an empty span"] = in_span(
            providers.plain, _empty(providers.plain)
        )
    is_slow = size.startswith("1 MB")
    timings = compare(
        candidates,
        n_calls=_N_CALLS[size] // n_group,
        n_batches=min(n_batches, 7) if is_slow else n_batches,
    )
    keep(f"tool_calls_{size.replace(' ', '_')}", timings)
    return _ratio_rows(f"decorated call, sync, {size}", timings, _BARS[size])


def _kind_rows(
    providers: _Providers,
    kind: str,
    make: Callable[[object], Callable[..., Any]],
    drive: Callable[[Any], object],
    n_batches: int,
) -> list[Row]:
    bare = make(_SMALL)
    timings = compare(
        {
            _BASE: _in_span(providers.plain, _plain(kind, providers.plain, bare), drive),
            _OURS: _in_run(providers.plain, bare, drive),
            _DETECTED: _in_run(providers.watched, bare, drive),
            **{
                name: _in_span(providers.plain, decorate(make(_SMALL)), drive)
                for name, decorate in decorators(providers.plain).items()
            },
        },
        n_calls=_N_CALLS["small"] // _GROUP["small"],
        n_batches=n_batches,
    )
    keep(f"tool_calls_{kind}", timings)
    return _ratio_rows(f"decorated call, {kind}, small", timings, _BARS["small"])


def _ratio_rows(what: str, timings: dict[str, Timing], bar: float) -> list[Row]:
    base_us = timings[_BASE].median_us
    found = []
    for name, timing in timings.items():
        if name == _BASE:
            continue
        ratio = paired_ratio(timings, name, _BASE)
        figure = f"{ratio:.2f} x plain OTel ({timing.median_us:.1f} of {base_us:.1f} us)"
        if name == _OURS:
            found.append(at_most(what, ratio, bar, figure=figure, bar=f"<= {bar:.2f}"))
        else:
            found.append(Row(what=f"  {name}", figure=figure))
    return found


def _idle_rows(providers: _Providers, n_batches: int) -> list[Row]:
    """Give the rows of calls that record nothing, as cost above the bare function."""
    found = []
    for size in ("small", "1 MB"):
        bare = _sync_tool(_RESULTS[size])
        timings = compare(
            {
                _BARE: _in_span(providers.off, bare),
                "switched off": _in_run(providers.plain, bare, is_on=False),
                "unsampled": _in_run(providers.off, bare),
            },
            n_calls=20,
            n_batches=n_batches,
        )
        keep(f"tool_calls_idle_{size.replace(' ', '_')}", timings)
        for name, bar in (("switched off", _OFF_BAR_US), ("unsampled", _UNSAMPLED_BAR_US)):
            added_us = paired_difference_ns(timings, name, _BARE) / 1000
            found.append(
                at_most(
                    f"decorated call, {name}, {size}",
                    added_us,
                    bar,
                    figure=f"{added_us:.2f} us above the bare function",
                    bar=f"<= {bar} us",
                )
            )
    return [*found, _nothing_serialised(providers.off)]


class _Counting(dict):
    """Counts how often it is read."""

    n_reads = 0

    def _count(self) -> None:
        type(self).n_reads += 1

    def __iter__(self) -> Iterator[object]:
        self._count()
        return super().__iter__()

    def items(self) -> Any:
        self._count()
        return super().items()

    def __repr__(self) -> str:
        self._count()
        return super().__repr__()


def _nothing_serialised(provider: TracerProvider) -> Row:
    """Call an unsampled tool with arguments and a result that notice being read."""
    _Counting.n_reads = 0
    candidate = _in_run(provider, _sync_tool(_Counting(a=1)))
    with candidate.around():
        sw.tool(_sync_tool(_Counting(a=1)))(_Counting(query="x"))
    n_reads = _Counting.n_reads
    return Row(
        what="unsampled: arguments and results read",
        figure=f"{n_reads} times",
        bar="0",
        is_met=n_reads == 0,
    )
