"""`run`: the unit that is judged, as a context manager, sync and async."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from spanwitness.capture import defaults, spans
from spanwitness.capture.root import Root, check_phases, freeze, set_closing_hook, tool_names
from spanwitness.capture.step import StepScope, step_scope
from spanwitness.errors import SettingsError
from spanwitness.guard import guard
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import TracebackType

    from spanwitness.capture.content import ContentMode, ContentPolicy
    from spanwitness.model import Claim
    from spanwitness.model.run import StepKind

__all__ = ["run", "set_closing_hook"]

Phase: TypeAlias = Literal["before_submit", "after_submit"]
_UNSET = object()


class run:  # noqa: N801  reads as a statement
    """Open a run: `with sw.run("extract-claim", item_id="dps310-vdd") as run:`; `async with`, too.

    All that happens inside, in tasks and threads that inherit the context as well, belongs to it.
    It always ends: on errors, on cancellation, in another task than it began in, and at process
    exit (marked as unfinished). Runs may be nested; each is judged on its own, and what the inner
    one did counts for the outer.

    Args:
        name: Name of the workflow; low cardinality.
        agent: Name of the agent; `None` = as configured, else the service name.
        item_id: The item of work, by which outcomes and repeated runs are joined.
        subject: What the run is about (a part number, a customer), for rules on sources.
        tags: Free labels that contracts may ask for.
        conversation_id: Joins the runs of one conversation.
        tools: Tools configured for this run: names, callables or definitions.
        content: Another content policy or mode for this run.
        phases: Tools that are exposed only before or only after `submit`, by name.
        max_turns: The cap on turns that the caller enforces.
        input: What the run was given; recorded under the content policy.
        on_violation: What happens to a tool called out of its phase: `flag` records it, `refuse`
            raises `PhaseError` before its body runs.

    Attributes:
        id: Identifies the run, for `record_outcome`.

    Raises:
        SettingsError: An argument cannot be used.
    """

    def __init__(  # noqa: PLR0913  keyword arguments
        self,
        name: str,
        *,
        agent: str | None = None,
        item_id: str | None = None,
        subject: str | None = None,
        tags: Iterable[str] = (),
        conversation_id: str | None = None,
        tools: Iterable[object] | None = None,
        content: ContentPolicy | ContentMode | None = None,
        phases: Mapping[str, Phase] | None = None,
        max_turns: int | None = None,
        input: object = _UNSET,  # noqa: A002
        on_violation: Literal["flag", "refuse"] = "flag",
    ) -> None:
        if on_violation not in ("flag", "refuse"):
            raise SettingsError(f"on_violation {on_violation!r} is not 'flag' or 'refuse'")
        self._name = name
        self._root = Root(name, content)
        state = self._root.state
        state.phases = check_phases(phases)
        state.on_violation = on_violation
        configured = tool_names(tools)
        state.configured = configured or []
        self._input = input
        self.id = state.run_id
        self._attributes = spans.cleaned(
            {
                gen_ai.OPERATION_NAME: gen_ai.INVOKE_WORKFLOW,
                gen_ai.WORKFLOW_NAME: name,
                gen_ai.AGENT_NAME: agent,
                gen_ai.CONVERSATION_ID: conversation_id,
                own.ITEM_ID: item_id,
                own.SUBJECT: subject,
                own.TAGS: list(tags) or None,
                own.TOOLS_CONFIGURED: configured,
                own.MAX_TURNS: max_turns,
            }
        )

    def __enter__(self) -> run:
        """Start the run."""
        if not spans.is_on:
            return self
        root = self._root
        with guard("capture.run.enter"):
            if gen_ai.AGENT_NAME not in self._attributes:
                agent = defaults.agent()
                if agent is not None:
                    self._attributes[gen_ai.AGENT_NAME] = agent
            root.open(f"{gen_ai.INVOKE_WORKFLOW} {self._name}", self._attributes)
            root.enter()
            if self._input is not _UNSET:
                root.put(own.RUN_INPUT, self._input)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the run; the exception goes on."""
        with guard("capture.run.exit"):
            self._root.close(error)

    async def __aenter__(self) -> run:
        """Start the run."""
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the run; the exception goes on."""
        self.__exit__(kind, error, trace)

    def submit(self, answer: object, claims: Sequence[Claim] | None = None) -> None:
        """Freeze the answer: it is digested deeply now and again at the end of the run.

        Args:
            answer: The answer, of any type. A change inside an object that is not looked into (see
                `ContentPolicy`) does not show.
            claims: What the answer states and what it rests on.
        """
        if self._root.handle is not None and not self._root.state.is_closed:
            freeze(self._root.state, answer, claims)

    def set(
        self,
        *,
        turns: int | None = None,
        max_turns: int | None = None,
        termination: str | None = None,
        compacted: bool | None = None,
        output: object = _UNSET,
    ) -> None:
        """Record what the loop knows.

        Args:
            turns: Turns taken so far.
            max_turns: The cap that the loop enforces.
            termination: Why the loop stopped: `completed`, `max_turns`, ...
            compacted: The history was shortened on purpose; results may be gone from it.
            output: What the run gives back.
        """
        root = self._root
        if root.handle is None or root.state.is_closed:
            return
        with guard("capture.run.set"):
            root.handle.set(
                spans.cleaned(
                    {
                        own.TURNS: turns,
                        own.MAX_TURNS: max_turns,
                        own.TERMINATION: termination,
                        own.COMPACTED: compacted,
                    }
                )
            )
            if output is not _UNSET:
                root.handle.set({own.HAS_OUTPUT: output is not None})
                root.put(own.RUN_OUTPUT, output)

    def step(
        self,
        name: str,
        *,
        kind: StepKind = "solve",
        tools: Iterable[object] | None = None,
        inputs: str | None = None,
        operation: str | None = None,
    ) -> StepScope:
        """Open a protocol step: `with run.step("check", kind="verify") as step: ...`.

        Args:
            name: The step's name.
            kind: Kind of the step.
            tools: Tools configured for it.
            inputs: Label of its input configuration.
            operation: What defines this operation; `None` = taken from the model calls inside.

        Returns:
            A context manager, sync and async; its `set` records facts, its `output` the result.

        Raises:
            SettingsError: The kind is not known, or a tool has no name.
        """
        return step_scope(name, kind=kind, tools=tools, inputs=inputs, operation=operation)
