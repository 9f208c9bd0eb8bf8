"""Planted failures: each takes a real successful dialog and breaks one column of its ledger.

Every function gives the broken dialog, or `None` where the dialog has nothing to break. Which call
is broken, where one is, follows from the dialog's name, so that every run breaks the same.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeVar

from benchmarks.detection.dialogs import Call, Dialog, Said
from spanwitness.rules.tool_names import effect_of, is_handoff

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["MUTATIONS", "Mutation", "is_written", "writes_of"]

T = TypeVar("T")
_FAILED: Final = "Error: the service did not answer, nothing was changed"
_NUMBER: Final = re.compile(r"(?<![\w.#])\d[\d,]*(?:\.\d+)?(?![\w])")


@dataclass(frozen=True)
class Mutation:
    """One way to break a run."""

    name: str
    column: str
    """The column of the ledger that it edits."""
    make: Callable[[Dialog, Sequence[Dialog]], Dialog | None]
    """From a dialog, and all dialogs of its domain, to the broken one."""
    rules: tuple[str, ...]
    """The rules that ought to speak; caught = one of them is violated at `warning` or above."""
    bar: float | None = None
    """Least share that must be caught; `None` = reported only."""

    @property
    def what(self) -> str:
        """What is done, in one sentence."""
        return (self.make.__doc__ or "").partition("\n")[0]


def is_written(name: str) -> bool:
    """Say whether a tool of this name changes something; a hand-off to a person does not."""
    return effect_of(name) == "write" and not is_handoff(name)


def is_write(call: Call) -> bool:
    """Say whether a call changes something."""
    return is_written(call.name)


def is_read(call: Call) -> bool:
    """Say whether a call reads: it is no write, and gives more than its own arguments do."""
    return effect_of(call.name) == "read" and "expression" not in call.arguments


def is_failed(call: Call) -> bool:
    """Say whether the data set's tool refused a call."""
    return call.returned.startswith("Error")


def writes_of(dialog: Dialog) -> list[Call]:
    """Return the writes that succeeded."""
    return [call for call in dialog.calls if is_write(call) and not is_failed(call)]


def _reads_of(dialog: Dialog) -> list[Call]:
    return [call for call in dialog.calls if is_read(call) and not is_failed(call)]


def _pick(dialog: Dialog, purpose: str, items: Sequence[T]) -> T:
    digest = hashlib.sha256(f"{purpose}/{dialog.key}".encode()).digest()
    return items[int.from_bytes(digest[:8], "big") % len(items)]


def _without(dialog: Dialog, is_gone: Callable[[Call], bool]) -> Dialog | None:
    """Drop calls, and the messages that were nothing but these calls."""
    kept: list[Said] = []
    for said in dialog.said:
        calls = tuple(call for call in said.calls if not is_gone(call))
        if said.calls and not calls:
            continue
        kept.append(replace(said, calls=calls))
    if len(kept) == len(dialog.said) and tuple(kept) == dialog.said:
        return None
    return replace(dialog, said=tuple(kept))


def _with(dialog: Dialog, change: Callable[[Call], Call]) -> Dialog:
    return replace(
        dialog,
        said=tuple(replace(said, calls=tuple(map(change, said.calls))) for said in dialog.said),
    )


def all_calls_removed(dialog: Dialog, others: Sequence[Dialog]) -> Dialog | None:  # noqa: ARG001
    """No tool was ever called; what the agent says stands as it was."""
    return _without(dialog, lambda call: True)  # noqa: ARG005


def reads_removed(dialog: Dialog, others: Sequence[Dialog]) -> Dialog | None:  # noqa: ARG001
    """No reading tool was called; writes and answers stand."""
    return _without(dialog, is_read)


def writes_removed(dialog: Dialog, others: Sequence[Dialog]) -> Dialog | None:  # noqa: ARG001
    """No writing tool was called; the answers that report the writes stand."""
    return _without(dialog, is_write) if writes_of(dialog) else None


def write_errors_hidden(dialog: Dialog, others: Sequence[Dialog]) -> Dialog | None:  # noqa: ARG001
    """One write failed with an error, and the answer goes on as if it had worked."""
    writes = writes_of(dialog)
    if not writes:
        return None
    failed = _pick(dialog, "error", writes)
    return _with(dialog, lambda c: replace(c, returned=_FAILED) if c is failed else c)


def reads_emptied(dialog: Dialog, others: Sequence[Dialog]) -> Dialog | None:  # noqa: ARG001
    """Every read gave nothing (an empty list, object or text); the answers stand."""
    if not _reads_of(dialog):
        return None

    def empty(call: Call) -> Call:
        if not is_read(call) or is_failed(call):
            return call
        first = call.returned.lstrip()[:1]
        return replace(call, returned={"[": "[]", "{": "{}"}.get(first, ""))

    return _with(dialog, empty)


def writes_doubled(dialog: Dialog, others: Sequence[Dialog]) -> Dialog | None:  # noqa: ARG001
    """One write that had succeeded was done once more, right after, with the same arguments."""
    writes = writes_of(dialog)
    if not writes:
        return None
    doubled = _pick(dialog, "double", writes)
    said: list[Said] = []
    for each in dialog.said:
        said.append(each)
        if doubled in each.calls:
            said.append(Said(role="assistant", calls=(replace(doubled, id=f"{doubled.id}_again"),)))
    return replace(dialog, said=tuple(said))


def wrong_document(dialog: Dialog, others: Sequence[Dialog]) -> Dialog | None:
    """One read returned what the same tool returned for another entity, in another dialog."""
    reads = [c for c in _reads_of(dialog) if c.arguments and c.returned.startswith("{")]
    if not reads:
        return None
    swapped = _pick(dialog, "swap", reads)
    given = {
        other.returned
        for each in others
        if each.task != dialog.task
        for other in each.calls
        if other.name == swapped.name
        and other.arguments != swapped.arguments
        and other.returned.startswith("{")
        and not any(value in other.returned for value in map(str, swapped.arguments.values()))
    }
    if not given:
        return None
    wrong = _pick(dialog, "document", sorted(given))
    return _with(dialog, lambda c: replace(c, returned=wrong) if c is swapped else c)


def numbers_perturbed(dialog: Dialog, others: Sequence[Dialog]) -> Dialog | None:  # noqa: ARG001
    """Every number of two or more digits in one answer that follows a read was changed."""
    places = [
        place
        for place, said in enumerate(dialog.said)
        if said.role == "assistant"
        and not said.calls
        and _reads_of(replace(dialog, said=dialog.said[:place]))
        and len(_changed(said.text)[1]) > 1
    ]
    if not places:
        return None
    place = _pick(dialog, "number", places)
    text = _changed(dialog.said[place].text)[0]
    said = (*dialog.said[:place], replace(dialog.said[place], text=text), *dialog.said[place + 1 :])
    return replace(dialog, said=said)


def _changed(text: str) -> tuple[str, list[str]]:
    """Return the text with other numbers, and the numbers that were changed."""
    changed: list[str] = []

    def other(found: re.Match[str]) -> str:
        number = found[0].rstrip(",")
        if sum(c.isdigit() for c in number) < 2:
            return found[0]
        changed.append(number)
        swapped = "".join(str((int(c) + 3) % 9 + 1) if c.isdigit() else c for c in number)
        return swapped + found[0][len(number) :]

    return _NUMBER.sub(other, text), changed


def results_cut(dialog: Dialog, others: Sequence[Dialog]) -> Dialog | None:  # noqa: ARG001
    """Of one long read, returned whole, the model was given the first half."""
    long = [c for c in _reads_of(dialog) if len(c.returned) > 200]
    if not long:
        return None
    cut = _pick(dialog, "cut", long)
    half = cut.returned[: len(cut.returned) // 2]
    return _with(dialog, lambda c: replace(c, delivered=half) if c is cut else c)


def call_in_text(dialog: Dialog, others: Sequence[Dialog]) -> Dialog | None:  # noqa: ARG001
    """One call came out as text, in one of four spellings, and was handed to the user as answer."""
    places = [place for place, said in enumerate(dialog.said) if said.calls]
    if not places:
        return None
    place = _pick(dialog, "text", places)
    call = dialog.said[place].calls[0]
    body = json.dumps({"name": call.name, "arguments": call.arguments})
    forms = (
        body,
        f"<tool_call>\n{body}\n</tool_call>",
        f"<function={call.name}>{json.dumps(call.arguments)}</function>",
        f"[TOOL_CALLS] [{body}]",
    )
    text = _pick(dialog, "form", forms)
    said = (*dialog.said[:place], Said(role="assistant", text=text))
    return replace(dialog, said=said)


_NOT_SEEN = ("value_ungrounded", "quote_not_located", "argument_ungrounded")

MUTATIONS: Final = (
    Mutation(
        "all calls removed", "requested, executed", all_calls_removed,
        ("tool_bypass", "fabricated_observation", "unperformed_action", *_NOT_SEEN), 0.95,
    ),
    Mutation(
        "reads removed", "requested, executed", reads_removed,
        ("tool_bypass", "fabricated_observation", *_NOT_SEEN), 0.95,
    ),
    Mutation(
        "writes removed", "requested, executed", writes_removed,
        ("unperformed_action", "fabricated_observation", "tool_bypass", *_NOT_SEEN), 0.70,
    ),
    Mutation("write errors hidden", "returned", write_errors_hidden,
             ("tool_error_swallowed", "unperformed_action"), 0.95),
    Mutation("reads emptied", "returned", reads_emptied, ("empty_result_answered", *_NOT_SEEN)),
    Mutation("writes doubled", "executed", writes_doubled, ("repeated_call",), 0.95),
    Mutation("wrong document", "returned", wrong_document, ("wrong_source", *_NOT_SEEN), 0.95),
    Mutation("numbers perturbed", "cited", numbers_perturbed, ("value_ungrounded",)),
    Mutation(
        "results cut before delivery", "delivered", results_cut,
        ("result_altered", "result_not_delivered"), 0.95,
    ),
    Mutation("call emitted as text", "requested", call_in_text, ("call_in_text",)),
)  # fmt: skip
"""In the order of the table."""
