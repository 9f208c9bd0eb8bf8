"""One agent's errand in one trade, written as what was asked, what was looked up, what was said.

`talk("Where is order 1?", "It is on its way.", use("get_order", {"state": "on its way"}, id="1"))`
is a run with a turn for each use; `use(..., beside=True)` joins the turn before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests.rules.builders import call, chat, json_schema, offer, run, submission, system, tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from spanwitness.model import Message, Run

__all__ = ["FORMS", "Talk", "Use", "as_run", "talk", "use"]

FORMS: dict[str, dict[str, Any]] = {
    "openai chat": {},
    "openai responses, streaming": {"wire": "openai_responses", "is_streaming": True},
    "anthropic": {"wire": "anthropic_messages"},
    "gemini, streaming": {"wire": "gemini", "is_streaming": True},
    "foreign spans": {"wire": "unknown", "dialect": "otel_genai"},
}
"""In which form the same errand may be recorded."""


@dataclass(frozen=True)
class Use:
    """One call, and what came of it."""

    name: str
    gives: object
    arguments: dict[str, Any]
    error: str | None = None
    beside: bool = False


@dataclass(frozen=True, kw_only=True)
class Talk:
    """One errand."""

    prompt: str
    says: str | Mapping[str, object]
    uses: tuple[Use, ...] = ()
    system: str = ""
    schema: dict[str, Any] | None = None
    offers: tuple[str, ...] = ()
    history: tuple[Message, ...] = ()
    subject: str | None = None
    is_submitted: bool = False

    def saying(self, says: str | Mapping[str, object]) -> Talk:
        """The same errand with another answer."""
        return replace(self, says=says)

    def submitting(self, says: str | Mapping[str, object]) -> Talk:
        """The same errand with another answer, which is submitted."""
        return replace(self, says=says, is_submitted=True)

    def given(self, *gives: object) -> Talk:
        """The same errand with other results, in their order."""
        pairs = zip(self.uses, gives, strict=True)
        return replace(self, uses=tuple(replace(u, gives=g) for u, g in pairs))

    def asking(self, n: int, **arguments: Any) -> Talk:
        """The same errand with other arguments of a use."""
        uses = list(self.uses)
        uses[n] = replace(uses[n], arguments=uses[n].arguments | arguments)
        return replace(self, uses=tuple(uses))

    def without(self, *names: str) -> Talk:
        """The same errand, where these tools were offered and not used."""
        left = tuple(u for u in self.uses if u.name not in names)
        return replace(self, uses=left, offers=(*self.offers, *names))


def use(
    name: str,
    gives: object = "ok",
    /,
    *,
    error: str | None = None,
    beside: bool = False,
    **arguments: Any,
) -> Use:
    """A call with its result."""
    return Use(name, gives, arguments, error, beside)


def talk(prompt: str, says: str | Mapping[str, object], *uses: Use, **fields: Any) -> Talk:
    """An errand."""
    return Talk(prompt=prompt, says=says, uses=uses, **fields)


def as_run(talk: Talk, form: Mapping[str, Any] | None = None) -> Run:
    """Return the run of an errand."""
    more = dict(form or {})
    more["offers"] = tuple(_offers(talk))
    if talk.schema is not None:
        more["format"] = json_schema({"type": "object", "properties": talk.schema})
    items: list[Any] = []
    for turn in _turns(talk.uses):
        items.append(
            chat(calls=[call(u.name, id=f"c{n}", arguments=u.arguments) for n, u in turn], **more)
        )
        items += [
            tool(u.name, gives=u.gives, error=u.error, id=f"c{n}", arguments=u.arguments)
            for n, u in turn
        ]
    answer = chat(talk.says, **more)
    ending = [answer, submission(talk.says)] if talk.is_submitted else [answer]
    opening = (*([system(talk.system)] if talk.system else []), *talk.history)
    dialect = more.get("dialect", "spanwitness")
    return run(
        *items, *ending, prompt=talk.prompt, opening=opening,
        dialects=(dialect,), subject=talk.subject,
    )  # fmt: skip


def _turns(uses: Iterable[Use]) -> list[list[tuple[int, Use]]]:
    found: list[list[tuple[int, Use]]] = []
    for n, each in enumerate(uses):
        if each.beside and found:
            found[-1].append((n, each))
        else:
            found.append([(n, each)])
    return found


_TYPES = {bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}


def _offers(talk: Talk) -> Iterable[Any]:
    known: dict[str, Any] = {}
    for each in talk.uses:
        kinds = {k: _TYPES.get(type(v), "string") for k, v in each.arguments.items()}
        known.setdefault(each.name, offer(each.name, **kinds))
    for name in talk.offers:
        known.setdefault(name, offer(name))
    return known.values()
