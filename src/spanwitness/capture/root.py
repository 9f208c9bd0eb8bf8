"""The root of a run: what opens a run, and the order of what happens when it ends."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import msgspec

from spanwitness.capture import defaults, spans
from spanwitness.capture.content import Encoded, digest_value, encode
from spanwitness.capture.context import RunState, get_current, set_current
from spanwitness.capture.marks import Mark, marks
from spanwitness.capture.results import is_cancel
from spanwitness.errors import SettingsError
from spanwitness.guard import faults, guard
from spanwitness.model import Claim, Submission
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opentelemetry.trace import Span

    from spanwitness.capture.content import ContentMode, ContentPolicy
    from spanwitness.capture.spans import Attributes

__all__ = ["ClosingHook", "Root", "closing_hook", "freeze", "set_closing_hook", "tool_names"]

Phase: TypeAlias = Literal["before_submit", "after_submit"]
ClosingHook: TypeAlias = Callable[[RunState, "Span | None"], None]

_SUBMIT: Final = "spanwitness.step submit"
_closing_hook: ClosingHook | None = None


def set_closing_hook(hook: ClosingHook | None) -> None:
    """Set what is called just before the root of a run ends, to judge the run; `None` = nothing.

    It is called as `hook(state, span)`, contained by a guard. In an unsampled run `state.records`
    then holds every record of the run, the root's included, and `span` records nothing.
    """
    global _closing_hook  # noqa: PLW0603
    _closing_hook = hook


def closing_hook() -> ClosingHook | None:
    """Return what was set by `set_closing_hook`."""
    return _closing_hook


def tool_names(tools: Iterable[object] | None) -> list[str] | None:
    """Return names of configured tools, given as names, callables or definitions; `None` stays.

    Raises:
        SettingsError: One of them has no name.
    """
    if tools is None:
        return None
    return [_tool_name(tool) for tool in tools]


_NAMES: Final = ("__spanwitness_name__", "name", "__name__")


def _tool_name(tool: object) -> str:
    if isinstance(tool, str):
        return tool
    if isinstance(tool, dict):
        function = tool.get("function")
        found = function.get("name") if isinstance(function, dict) else tool.get("name")
    else:
        while isinstance(tool, functools.partial):
            tool = tool.func
        names = (getattr(tool, name, None) for name in _NAMES)
        found = next((name for name in names if isinstance(name, str)), None)
    if not isinstance(found, str):
        raise SettingsError(f"a configured tool needs a name: {type(tool).__qualname__!r} has none")
    return found


def check_phases(phases: Mapping[str, Phase] | None) -> dict[str, Phase]:
    """Return a checked copy of a table of phases.

    Raises:
        SettingsError: A phase is not known.
    """
    checked: dict[str, Phase] = dict(phases or {})
    for tool, phase in checked.items():
        if phase not in get_args(Phase):
            raise SettingsError(f"phase {phase!r} of {tool!r} is not one of {get_args(Phase)!r}")
    return checked


class Root:
    """A run in progress and its root span. `open` never raises, `close` runs once."""

    __slots__ = ("_before_context", "_before_state", "_handle", "_is_entered", "_marked", "state")

    def __init__(self, name: str, policy: ContentPolicy | ContentMode | None) -> None:
        parent = get_current()
        chosen = defaults.policy_of(policy)
        if chosen is None:
            chosen = defaults.policy() if parent is None else parent.policy
        run_id = f"{random.getrandbits(128):032x}"
        self.state = RunState(run_id=run_id, name=name, policy=chosen, parent=parent)
        self._handle: spans.Handle | None = None
        self._marked: list[Mark] = []
        self._before_state: RunState | None = parent
        self._before_context: object = None
        self._is_entered = False

    @property
    def handle(self) -> spans.Handle | None:
        """The root span."""
        return self._handle

    def open(self, span_name: str, attributes: Attributes) -> None:
        """Start the root span and make the run current."""
        state = self.state
        attributes[own.CONTENT] = state.policy.mode
        with guard("capture.root.open"):
            self._handle = handle = spans.start(span_name, attributes=attributes, state=state)
            handle.closer = self._close_unfinished
            state.span = handle.otel
            state.is_recording = handle.is_recording
            context = None if handle.otel is None else handle.otel.get_span_context()
            is_valid = context is not None and context.is_valid
            trace = (
                context.trace_id if context is not None and is_valid else random.getrandbits(128)
            )
            state.trace_id = f"{trace:032x}"
            if not handle.is_recording:
                handle.make_structural()

    def enter(self) -> None:
        """Make the run and its span current."""
        self._before_state = get_current()
        set_current(self.state)
        if self._handle is not None:
            self._before_context = self._handle.enter()
        self._is_entered = True

    def leave(self) -> None:
        """Make current again what was so before; safe from another task or thread."""
        if not self._is_entered:
            return
        self._is_entered = False
        if self._handle is not None:
            self._handle.leave(self._before_context)
        if get_current() is self.state:
            set_current(self._before_state)

    def put(self, key: str, value: object) -> None:
        """Set an attribute that holds content, under the run's policy."""
        encoded = encode(value, self.state.policy)
        if encoded.text is None or self._handle is None:
            return
        if self._handle.is_recording:
            self._handle.set({key: encoded.text})
            self._mark(key, encoded)

    def _mark(self, key: str, encoded: Encoded) -> None:
        if encoded.is_truncated or encoded.is_repaired:
            self._marked = [*(m for m in self._marked if m.key != key), Mark(key, encoded)]

    def close(self, error: BaseException | None = None) -> None:
        """End the run: settle what waits, digest the answer again, let it be judged, end."""
        state = self.state
        if state.is_closed:
            return
        state.is_closed = True
        self.leave()
        handle = self._handle
        if handle is None:
            return
        for settle in state.before_end:
            with guard("capture.root.before_end"):
                settle(state)
        with guard("capture.root.close"):
            self._record_end(handle, error)
        if not handle.is_recording:
            handle.end()  # its record must stand beside the others when the run is judged
            state.is_root_ended = True
        hook = _closing_hook
        if hook is not None:
            with guard("capture.root.closing_hook"):
                hook(state, handle.otel)
        with guard("capture.root.close"):
            handle.set(_completeness(state))
        handle.end()

    def _close_unfinished(self) -> None:
        self.close()

    def _record_end(self, handle: spans.Handle, error: BaseException | None) -> None:
        state = self.state
        last: Attributes = {}
        if error is not None:
            cancelled = is_cancel(error)
            if cancelled:
                last[own.CANCELLED] = True
            handle.fail(error, state.policy, is_error=not isinstance(error, GeneratorExit))
        if state.is_submitted and state.submission is not None:
            final = digest_value(state.answer, state.policy)
            if final is not None:
                last[own.SUBMISSION_FINAL_DIGEST] = final
        if state.board.evicted:
            state.mark_incomplete("board_overflow")
        if self._marked:
            last.update(marks(self._marked))
        last.update(state.root_attributes)  # type: ignore[arg-type]
        last.update(_completeness(state))
        handle.set(last)


def _completeness(state: RunState) -> Attributes:
    # The root has not ended yet, but will have when anybody reads this.
    started, ended = state.started, state.ended + (0 if state.is_root_ended else 1)
    errors = sum(faults().values()) - state.faults_before
    if errors > 0:
        state.mark_incomplete("internal_error")
    if ended < started:
        state.mark_incomplete("open_spans")
    out: Attributes = {
        own.SPANS_STARTED: started,
        own.SPANS_ENDED: ended,
        own.INTERNAL_ERRORS: max(errors, 0),
        own.COMPLETE: not state.incomplete_reasons,
    }
    if state.incomplete_reasons:
        out[own.INCOMPLETE_REASONS] = list(state.incomplete_reasons)
    return out


def freeze(
    state: RunState,
    answer: object,
    claims: Sequence[Claim] | None,
    *,
    within: spans.Handle | None = None,
) -> None:
    """Freeze the answer of a run: a submit step with its digest; the run's last digest is compared.

    A second submission is recorded as a step, too, and replaces the first.

    Args:
        state: The run.
        answer: The answer.
        claims: What it states; `None` = not declared.
        within: The submit step that is going on; `None` = one is recorded here.
    """
    with guard("capture.root.freeze"):
        digest = digest_value(answer, state.policy)
        attributes: Attributes = {own.STEP_NAME: "submit", own.STEP_KIND: "submit"}
        handle = within or spans.start(_SUBMIT, attributes=attributes, state=state)
        last: Attributes = {}
        if digest is not None:
            last[own.SUBMISSION_DIGEST] = digest
        marked: list[Mark] = []
        if handle.is_recording and state.policy.is_on:
            _put_content(last, marked, own.SUBMISSION_ANSWER, encode(answer, state.policy))
            if claims is not None:
                plain = [_claim(claim) for claim in claims]
                _put_content(last, marked, own.SUBMISSION_CLAIMS, encode(plain, state.policy))
        last.update(marks(marked))
        handle.set(last)
        if within is None:
            handle.end()
        state.submission = Submission(
            span_id=handle.span_id,
            start_ns=handle.start_ns,
            digest=digest,
            answer=answer,
            has_answer=True,
            claims=None if claims is None else tuple(claims),
        )
        state.answer = answer
    state.is_submitted = True


def _claim(claim: Claim) -> dict[str, object]:
    found: dict[str, object] = msgspec.structs.asdict(claim)
    return {name: value for name, value in found.items() if value is not None}


def _put_content(into: Attributes, marked: list[Mark], key: str, encoded: Encoded) -> None:
    if encoded.text is not None:
        into[key] = encoded.text
        marked.append(Mark(key, encoded))
