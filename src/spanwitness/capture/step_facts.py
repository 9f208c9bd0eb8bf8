"""A protocol step in progress, and the facts that may be stated about it from inside."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

import msgspec

from spanwitness.capture import defaults, spans
from spanwitness.capture.content import clean, encode
from spanwitness.capture.context import get_current
from spanwitness.capture.marks import Mark, marks
from spanwitness.capture.results import is_cancel, is_empty
from spanwitness.guard import guard
from spanwitness.model.digest import digest_text
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from spanwitness.capture.content import ContentPolicy
    from spanwitness.capture.spans import Attributes, Handle
    from spanwitness.model.span import AttributeValue

__all__ = ["EscalationOutcome", "Step", "current_step", "note_model_call"]

EscalationOutcome: TypeAlias = Literal["recovered", "deferred", "unresolved"]

_SPAN_NAME: Final = "spanwitness.step"
_MAX_OPERATIONS: Final = 64
_guard = guard("capture.step")
_current: ContextVar[Step | None] = ContextVar("spanwitness_step", default=None)


class Step:
    """A step in progress: `sw.current_step()`, or what `run.step(...)` gives."""

    __slots__ = ("_handle", "_operations", "_policy")

    def __init__(self, name: str, attributes: Attributes) -> None:
        state = get_current()
        self._policy: ContentPolicy = defaults.policy() if state is None else state.policy
        self._operations: set[str] = set()
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

    def note_operation(self, text: str) -> None:
        """Add what one model call says about the operation; equal ones count once."""
        if len(self._operations) < _MAX_OPERATIONS:
            self._operations.add(text)


class _Before(NamedTuple):
    step: Step | None
    span: object


def as_bool(value: object) -> bool | None:
    """Return a bool, NumPy's too; `None` for everything else, so that no word passes for a yes."""
    if type(value) is bool:
        return value
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"):
        return bool(value)
    return None


def current_step() -> Step | None:
    """Return the innermost step that is going on in this context, or `None`."""
    return _current.get()


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
