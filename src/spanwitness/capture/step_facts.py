"""A protocol step in progress, and the facts that may be stated about it from inside."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, TypeVar, get_args

import msgspec

from spanwitness.capture import defaults, spans
from spanwitness.capture.content import clean, digest_value, encode
from spanwitness.capture.context import get_current
from spanwitness.capture.judging import as_bool
from spanwitness.capture.marks import Mark, marks
from spanwitness.capture.results import is_cancel, is_empty
from spanwitness.capture.selection import present
from spanwitness.guard import guard
from spanwitness.model.digest import digest_text
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwitness.capture.content import ContentPolicy
    from spanwitness.capture.selection import Presented
    from spanwitness.capture.spans import Attributes, Handle
    from spanwitness.model.span import AttributeValue

__all__ = ["EscalationOutcome", "Step", "current_step", "note_model_call", "shuffled"]

T = TypeVar("T")

EscalationOutcome: TypeAlias = Literal["recovered", "deferred", "unresolved"]

_SPAN_NAME: Final = "spanwitness.step"
_MAX_OPERATIONS: Final = 64
_guard = guard("capture.step")
_current: ContextVar[Step | None] = ContextVar("spanwitness_step", default=None)


class Step:
    """A step in progress: `sw.current_step()`, or what `run.step(...)` gives."""

    __slots__ = ("_handle", "_operations", "_policy", "presented")

    def __init__(self, name: str, attributes: Attributes) -> None:
        state = get_current()
        self._policy: ContentPolicy = defaults.policy() if state is None else state.policy
        self._operations: set[str] = set()
        self.presented: Presented[object] | None = None
        """The candidates that this step chooses among, once they were stated."""
        self._handle: Handle = spans.start(
            f"{_SPAN_NAME} {name}", attributes=spans.cleaned(attributes), state=state
        )

    def set(  # noqa: PLR0913  facts by name
        self,
        *,
        parser_valid: bool | None = None,
        validity: bool | None = None,
        evidence_adequate: bool | None = None,
        audit_detected: bool | None = None,
        audit_false_assurance: bool | None = None,
        escalation_outcome: EscalationOutcome | None = None,
        condition: str | None = None,
        case_id: str | None = None,
        verdict: bool | None = None,
        success_before: bool | None = None,
        success_after: bool | None = None,
    ) -> None:
        """State facts about this step; a value of another type than named here is left out.

        Args:
            parser_valid: The output parsed.
            validity: The output is right, as far as this stage can say.
            evidence_adequate: The evidence before it was enough.
            audit_detected: An audit found the fault.
            audit_false_assurance: An audit passed what was wrong.
            escalation_outcome: How an escalation ended: `recovered`, `deferred`, `unresolved`.
            condition: Experimental condition.
            case_id: The case, to match steps of several runs.
            verdict: What a judging step decided.
            success_before: Whether the answer was right before a revising step.
            success_after: Whether it is right after it.
        """
        booleans = {
            own.PARSER_VALID: parser_valid,
            own.VALIDITY: validity,
            own.EVIDENCE_ADEQUATE: evidence_adequate,
            own.AUDIT_DETECTED: audit_detected,
            own.AUDIT_FALSE_ASSURANCE: audit_false_assurance,
            own.VERDICT: verdict,
            own.SUCCESS_BEFORE: success_before,
            own.SUCCESS_AFTER: success_after,
        }
        with _guard:
            facts: dict[str, AttributeValue] = {}
            for key, value in booleans.items():
                said = as_bool(value)
                if said is not None:
                    facts[key] = said
            if escalation_outcome in get_args(EscalationOutcome):
                facts[own.ESCALATION_OUTCOME] = str(escalation_outcome)
            for key, text in ((own.CONDITION, condition), (own.CASE_ID, case_id)):
                if isinstance(text, str):
                    facts[key] = clean(text)
            self._handle.set(facts)

    def note_intervention(
        self, *, condition: str, case_id: str, seed: int, strength: float
    ) -> None:
        """Record that the evidence of this step was degraded on purpose, and how.

        Args:
            condition: The condition it was put under.
            case_id: The base case.
            seed: Seed of the draws.
            strength: How much was lost or added, between 0 and 1.
        """
        self.set(condition=condition, case_id=case_id)
        with _guard:
            self._handle.set({own.INTERVENTION_SEED: seed, own.INTERVENTION_STRENGTH: strength})

    def candidates(
        self,
        candidates: Sequence[T],
        *,
        anchor: int = 0,
        success: Callable[[T], bool | None] | None = None,
    ) -> Presented[T]:
        """State the candidates that this step chooses among, in the order they are presented.

        `sw.shuffled` does the same for a shuffled order.

        Args:
            candidates: At least one.
            anchor: Position of the one that would stand without this step.
            success: Says whether a candidate is right; `None` = the step's own success rule.

        Returns:
            The candidates; its `choose(position)` records the choice and gives the candidate back.

        Raises:
            CountError: There is no candidate, or the anchor is none of them.
        """
        return present(self, candidates, anchor=anchor, success=success)

    def output(self, value: object) -> None:
        """Record what the step gave; a decorated step does it by itself."""
        with _guard:
            handle = self._handle
            last: Attributes = {own.STEP_OUTPUT_EMPTY: is_empty(value)}
            if handle.is_recording and self._policy.is_on:
                encoded = encode(value, self._policy)
                if encoded.text is not None:
                    last[own.STEP_OUTPUT] = encoded.text
                    last.update(marks([Mark(own.STEP_OUTPUT, encoded)]))
            handle.set(last)

    # --- for the decorator and the context manager

    def enter(self) -> object:
        """Become the current step and span."""
        before = _Before(_current.get(), self._handle.enter())
        _current.set(self)
        return before

    def leave(self, before: object) -> None:
        """Stop being current."""
        if isinstance(before, _Before):
            self._handle.leave(before.span)
            if _current.get() is self:
                _current.set(before.step)

    def end(self, attributes: Attributes | None = None) -> None:
        """End the span, with the operation that its model calls define."""
        last = attributes or {}
        with _guard:
            if self._operations and own.STEP_OPERATION not in last:
                last[own.STEP_OPERATION] = digest_text("\n".join(sorted(self._operations)))
        self._handle.end(last)

    def fail(self, error: BaseException) -> None:
        """Record an exception or a cancellation."""
        with _guard:
            if is_cancel(error):
                self._handle.set({own.CANCELLED: True})
            self._handle.fail(error, self._policy, is_error=not isinstance(error, GeneratorExit))

    @property
    def handle(self) -> Handle:
        """The step's span."""
        return self._handle

    def use(self, policy: ContentPolicy) -> None:
        """Take another content policy."""
        self._policy = policy

    def record(self, attributes: Attributes) -> None:
        """Set attributes of the step's span."""
        self._handle.set(attributes)

    def digest(self, value: object) -> str | None:
        """Return the keyed digest of a value; `None` when it is too large."""
        return digest_value(value, self._policy)

    def note_operation(self, text: str) -> None:
        """Add what one model call says about the operation; equal ones count once."""
        if len(self._operations) < _MAX_OPERATIONS:
            self._operations.add(text)


class _Before(NamedTuple):
    step: Step | None
    span: object


def current_step() -> Step | None:
    """Return the innermost step that is going on in this context, or `None`.

    Where spanwitness is switched off no step is told from another: then what is returned takes
    facts and keeps none, so that `current_step().set(...)` goes on working.
    """
    found = _current.get()
    return Step("off", {}) if found is None and not spans.is_on else found


def shuffled(
    candidates: Sequence[T],
    *,
    item_id: str,
    seed: int | None,
    anchor: int = 0,
    success: Callable[[T], bool | None] | None = None,
) -> Presented[T]:
    """Shuffle the candidates of a choice, and record the order on the current step.

    The order depends on the item and the seed alone: run an audit again and it is the same. Present
    `.candidates` to the judge and give its answer to `.choose(position)`, which records it and
    gives the candidate back.

    Args:
        candidates: At least one, in the standard order.
        item_id: The item: another item gets another order.
        seed: Seed of the audit; `None` = the standard order, recorded by the same code.
        anchor: Position, in the standard order, of the candidate that would stand without the step.
        success: Says whether a candidate is right; `None` = the step's own success rule.

    Raises:
        CountError: There is no candidate, or the anchor is none of them.
    """
    return present(
        _current.get(), candidates, anchor=anchor, success=success, item_id=item_id, seed=seed
    )


def note_model_call(
    *,
    model: str | None,
    instruction: str | None = None,
    decoding: object = None,
    output_form: str | None = None,
    tools: str | None = None,
    provider: str | None = None,
) -> None:
    """Tell the current step of a model call: together they define its operation.

    Args:
        model: The model as requested.
        instruction: Digest of the system text.
        decoding: Sampling settings, as JSON-able builtins.
        output_form: Digest of the output format or schema.
        tools: Digest of the offered tools.
        provider: The provider's name.
    """
    step = _current.get()
    if step is None:
        return
    with guard("capture.step.note_model_call"):
        parts = [provider, model, instruction, decoding, output_form, tools]
        step.note_operation(msgspec.json.encode(parts, order="deterministic").decode())
