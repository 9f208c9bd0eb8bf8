"""The kit of this folder: a recipe is an `Ask`, a script, a host loop, and what must be found.

A case goes the whole road: real SDK, scripted provider, spans, local files, the archive's reader,
the rules. What the live detector said must be equal to what the stored trace gives.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.catalogue.surfaces import Ask, Asked, Clients, Conversation, Surface

import spanwitness as sw
from spanwitness.archive import read_traces
from spanwitness.model.verdict import at_least
from spanwitness.normalize import build_runs
from spanwitness.rules.engine import evaluate
from spanwitness.testing import ScriptedProvider, error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from spanwitness.model import Verdict
    from spanwitness.rules.engine import Evaluation


@dataclass(frozen=True)
class Tool:
    """A traced local tool together with its definition."""

    call: Callable[..., object]
    definition: dict[str, Any]
    forget: Callable[[], None] = lambda: None
    """Empties its cache."""

    @property
    def name(self) -> str:
        return self.definition["name"]


def tool(
    name: str,
    gives: object,
    /,
    *,
    takes: Iterable[str] = (),
    is_memoised: bool = False,
    **options: Any,
) -> Tool:
    """Make a traced tool.

    Args:
        name: Its name.
        gives: What it returns, a function of its arguments, or an exception that it raises.
        takes: Names of its arguments, `page:integer` for others than strings.
        is_memoised: Put `functools.lru_cache` below our decorator.
        options: Further options of `sw.tool`; `effect` is "read" unless given.
    """
    properties = {}
    for argument in takes:
        argument_name, _, kind = argument.partition(":")
        properties[argument_name] = {"type": kind or "string"}

    def run(**arguments: Any) -> object:
        if isinstance(gives, Exception):
            raise gives
        return gives(**arguments) if callable(gives) else gives

    traced = sw.tool(name=name, **{"effect": "read", **options})
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    defined = definition(name, parameters)
    if is_memoised:
        cached = functools.lru_cache(run)
        return Tool(traced(cached), defined, cached.cache_clear)
    return Tool(traced(run), defined)


def definition(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Write the definition of a tool."""
    return {"name": name, "description": f"The tool {name}.", "parameters": parameters}


def _as_it_is(value: object) -> object:
    return value


def _nothing(run: Any, answer: str) -> None:
    pass


def _rescue(found: Exception) -> object:
    return f"Error: {found}"


@dataclass(frozen=True, kw_only=True)
class Host:
    """The agent loop. Its fields are the places where a harness goes wrong."""

    dispatches: Callable[[list[Asked]], list[Asked]] = list
    """Which of the asked calls are run."""
    arguments: Callable[[dict[str, Any]], dict[str, Any]] = dict
    """What a tool gets of its arguments."""
    sends: Callable[[object], object] = _as_it_is
    """What of a result goes into the next request."""
    pairs: Callable[[list[Any]], list[Any]] = list
    """What is sent for which call, and in which order: pairs of a call and its value."""
    rescues: Callable[[Exception], object] = _rescue
    """What stands for a tool's exception."""
    compacts: str | None = None
    """Before the last turn, all turns but one are replaced by this note."""
    compacts_at: int = 2
    forgets: tuple[str, ...] = ()
    """Kinds of parts that are not sent back."""
    in_threads: bool = False
    asks_again: str | None = None
    """What the user says after an empty reply."""
    gives_up_on: tuple[str, ...] = ()
    """Errors of the SDK, by class, that end the run."""
    caches: bool = False
    """Whether a second call with the same arguments gets the first one's result."""
    max_turns: int = 8
    run: dict[str, Any] = field(default_factory=dict)
    """Options of `sw.run`."""
    ends: Callable[[Any, str], None] = _nothing
    """What is done with the answer before the run ends."""

    async def loop(self, conversation: Conversation, tools: Iterable[Tool]) -> str:
        """Ask until the model asks for no tool; return what it said."""
        known = {tool.name: tool for tool in tools}
        cache: dict[str, object] = {}
        for n in range(self.max_turns):
            if self.compacts is not None and n == self.compacts_at:
                conversation.compact(self.compacts)
            said = await conversation.turn()
            self._forget(conversation)
            calls = self.dispatches(said.calls)
            if not (calls or said.text) and self.asks_again is not None:
                conversation.add(self.asks_again)
                continue
            if not calls:
                return said.text
            values = await self._run(calls, known, cache)
            sent = [(c, self.sends(v)) for c, v in zip(calls, values, strict=True)]
            conversation.give(self.pairs([(c, v) for c, v in sent if v is not NOTHING]))
        return ""

    async def _run(
        self, calls: list[Asked], known: dict[str, Tool], cache: dict[str, object]
    ) -> list[object]:
        if self.in_threads:
            with sw.ContextThreadPoolExecutor(4) as pool:
                return list(pool.map(lambda asked: self._call(asked, known), calls))
        values = []
        for asked in calls:
            key = f"{asked.name} {asked.arguments}"
            if not self.caches or key not in cache:
                value = self._call(asked, known)
                cache[key] = await value if inspect.isawaitable(value) else value
            values.append(cache[key])
        return values

    def _call(self, asked: Asked, known: dict[str, Tool]) -> object:
        try:
            return known[asked.name].call(**self.arguments(asked.arguments))
        except Exception as found:
            return self.rescues(found)

    def _forget(self, conversation: Conversation) -> None:
        if not self.forgets:
            return
        for message in conversation.exchanges[-1]:
            content = message.get("content") if isinstance(message, dict) else None
            if isinstance(content, list):
                message["content"] = [p for p in content if p["type"] not in self.forgets]
        conversation.exchanges[-1] = [
            m for m in conversation.exchanges[-1] if m.get("type") not in self.forgets
        ]


NOTHING = object()
"""A result of which nothing is sent."""
Script = Any
"""Turns of `spanwitness.testing`, or a function of the surface that gives them."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One run of an agent."""

    ask: Ask = field(default_factory=Ask)
    tools: tuple[Tool, ...] = ()
    script: Script = ()
    host: Host = field(default_factory=Host)
    contracts: tuple[Any, ...] = ()
    body: Callable[[Stage, Surface], Any] | None = None
    """The traced program, where it is more than one loop; called with the stage and the surface."""

    def varied(self, **changes: Any) -> Case:
        """Return the case with other fields; those of `Ask` and `Host` by their own names."""
        asks = {k: changes.pop(k) for k in list(changes) if k in Ask.__dataclass_fields__}
        hosts = {k: changes.pop(k) for k in list(changes) if k in Host.__dataclass_fields__}
        host = changes.pop("host", self.host)
        return replace(self, ask=replace(self.ask, **asks), host=replace(host, **hosts), **changes)


_BADNESS = ("not_applicable", "holds", "not_assessed", "violated")


class Trial:
    """What a case left behind, as the stored trace tells it."""

    def __init__(self, evaluations: list[Evaluation], directory: Path, answer: str) -> None:
        self.evaluations = evaluations
        self.directory = directory
        self.answer = answer

    @property
    def found(self) -> set[tuple[str, str]]:
        """Rule and fault of each unexplained violation at `warning` or above."""
        findings = [v for e in self.evaluations for v in e.findings]
        return {(v.rule, v.fault) for v in findings if at_least(v.severity, "warning")}

    def verdict(self, rule: str) -> Verdict:
        """Return what a rule says: the worst of all runs."""
        said = [v for e in self.evaluations for v in e.verdicts if v.rule == rule]
        return max(said, key=lambda v: _BADNESS.index(v.verdict))

    def told(self) -> str:
        """Return the violations in words, for a test that fails."""
        lines = [
            f"{v.rule} {v.severity}/{v.fault} by={v.explained_by}: {v.reason}"
            for e in self.evaluations
            for v in e.verdicts
            if v.verdict == "violated"
        ]
        return "\n".join(lines) or "no violation"


class _Keep:
    def __init__(self) -> None:
        self.judged: list[Any] = []

    def take(self, judged: Any) -> None:
        self.judged.append(judged)


class Stage:
    """A scripted provider, its wrapped clients, and an event loop, shared by all tests."""

    directory: Path

    def __enter__(self) -> Stage:
        self._turns: Any = iter(())
        self._provider = ScriptedProvider(self._answer).start()
        self._clients = Clients(self._provider)
        self._runner = asyncio.Runner()
        return self

    def __exit__(self, *_: object) -> None:
        for kind, is_async, client in self._clients.made():
            if is_async:
                closing = client.aio.aclose if kind == "gemini" else client.close
                self._runner.run(closing())
            else:
                client.close()
        self._runner.close()
        self._provider.close()

    @property
    def requests(self) -> list[Any]:
        """The requests of the last case."""
        return self._provider.requests

    def _answer(self, request: Any) -> Any:
        return next(self._turns, error(400, "the script is over", kind="invalid_request_error"))

    def play(self, case: Case, surface: Surface, *, content: str = "on") -> Trial:
        """Run a case on a surface."""
        for each_tool in case.tools:
            each_tool.forget()

        async def body() -> str:
            if case.body is not None:
                return await case.body(self, surface)
            answer = ""
            try:
                with sw.run("extract", **case.host.run) as run:
                    offers = tuple(tool.definition for tool in case.tools)
                    ask = replace(case.ask, offers=case.ask.offers or offers)
                    conversation = Conversation(surface, self._clients, ask)
                    answer = await case.host.loop(conversation, case.tools)
                    case.host.ends(run, answer)
            except Exception as found:
                if type(found).__name__ not in case.host.gives_up_on:
                    raise
            return answer

        return self.perform(body, case.script, surface, content=content, contracts=case.contracts)

    def conversation(self, surface: Surface, ask: Ask) -> Conversation:
        """Open a conversation, for a case that brings its own body."""
        return Conversation(surface, self._clients, ask)

    def perform(
        self,
        body: Callable[[], Any],
        script: Script,
        surface: Surface,
        *,
        content: str = "on",
        contracts: Iterable[Any] = (),
    ) -> Trial:
        """Run a coroutine function as the traced program; judge live and from the file."""
        self._turns = iter(script(surface) if callable(script) else script)
        self._provider.requests.clear()
        keep = _Keep()
        state = self.directory / f"state{len(list(self.directory.iterdir()))}"
        witness = sw.configure(
            "catalogue", content=content, state_dir=state, sinks=[keep], contracts=list(contracts)
        )
        try:
            answer = self._drive(body, is_async=surface.is_async)
            assert witness.flush(10) is True
            assert witness.faults == {}
            stored = judge_stored([witness.trace_dir], contracts)
            assert _comparable(stored) == {
                j.run.run_id: (j.verdicts, j.run.is_complete, j.contract) for j in keep.judged
            }
            assert {e.run.run_id for e in stored if e.is_flagged} == _flagged(keep.judged)
            return Trial(stored, witness.trace_dir, answer)
        finally:
            witness.shutdown()

    def _drive(self, body: Callable[[], Any], *, is_async: bool) -> str:
        if is_async:
            return self._runner.run(body())
        coroutine = body()
        try:
            coroutine.send(None)
        except StopIteration as done:
            return done.value
        raise AssertionError("a body without async calls may not wait")


def judge_stored(paths: Iterable[Path], contracts: Iterable[Any] = ()) -> list[Evaluation]:
    """Judge every run of stored traces."""
    reader = read_traces(paths)
    found = [evaluate(run, list(contracts)) for spans in reader for run in build_runs(spans)]
    assert reader.problems == []
    return found


def _comparable(evaluations: list[Evaluation]) -> dict[str, Any]:
    return {e.run.run_id: (e.verdicts, e.run.is_complete, e.contract) for e in evaluations}


def _flagged(judged: list[Any]) -> set[str]:
    return {j.run.run_id for j in judged if j.is_flagged}


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A reported failure, and the same step gone well."""

    name: str
    faulty: Case
    finds: frozenset[tuple[str, str]]
    healthy: Case | None
    surfaces: tuple[Surface, ...]
    off: dict[str, str]
    """With content off, the rules of `finds` say this."""


def recipe(
    name: str,
    faulty: Case,
    *,
    finds: dict[str, str],
    healthy: Case | None,
    on: Iterable[Surface],
    off: str | dict[str, str] = "violated",
) -> Recipe:
    """Write a recipe; `finds` maps rule to fault, `off` rule to word (or is the word of all)."""
    return Recipe(
        name=name, faulty=faulty, finds=frozenset(finds.items()), healthy=healthy,
        surfaces=tuple(on),
        off=off if isinstance(off, dict) else dict.fromkeys(finds, off),
    )  # fmt: skip


def each(recipes: Iterable[Recipe], *, healthy: bool = False) -> pytest.MarkDecorator:
    """Parametrize a test over recipes and their surfaces."""
    pairs = [
        pytest.param(r, surface, id=f"{r.name} on {surface}".replace(" ", "-"))
        for r in recipes
        for surface in r.surfaces
        if not healthy or r.healthy is not None
    ]
    return pytest.mark.parametrize(("recipe", "surface"), pairs)


def assert_faulty(stage: Stage, recipe: Recipe, surface: Surface) -> None:
    """The faulty run gives exactly the expected findings."""
    trial = stage.play(recipe.faulty, surface)
    assert trial.found == recipe.finds, trial.told()


def assert_healthy(stage: Stage, recipe: Recipe, surface: Surface) -> None:
    """The healthy variant gives none, whether content is on or off."""
    assert recipe.healthy is not None
    assert_clean(stage, recipe.healthy, surface)
    assert_clean(stage, recipe.healthy, surface, content="off")


def assert_clean(stage: Stage, case: Case, surface: Surface, *, content: str = "on") -> Trial:
    """Nothing is found at `warning` or above."""
    trial = stage.play(case, surface, content=content)
    assert trial.found == frozenset(), trial.told()
    return trial


def assert_unseen_is_not_fine(stage: Stage, recipe: Recipe, surface: Surface) -> None:
    """With content off: the same structural finding or `not_assessed`, never `holds`."""
    trial = stage.play(recipe.faulty, surface, content="off")
    said = {rule: trial.verdict(rule).verdict for rule, _ in recipe.finds}
    assert said == recipe.off, (said, trial.told())
    assert trial.found <= recipe.finds, trial.told()
