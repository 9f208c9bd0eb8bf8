"""Fields of the answer that hold the value of another field of the same record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwitness.normalize.values import find_values, missing
from spanwitness.rules import tool_names
from spanwitness.rules.decoded import decoded
from spanwitness.rules.wording import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwitness.model import AssessedClaim
    from spanwitness.rules.facts import Facts

__all__ = ["Misread", "misread_fields"]


class Misread(msgspec.Struct, frozen=True, kw_only=True):
    """A field of the answer with the value of another field."""

    field: str
    span_id: str


def misread_fields(facts: Facts) -> tuple[Misread, ...]:
    """Return the fields of the answer whose value stands under other names only.

    The result that holds it has to have another value under the field's own name.
    """
    found: list[Misread] = []
    for claim in facts.claims:
        if claim.claim.field is None or claim.receipt.state != "in_window":
            continue
        span = _misread(facts, claim)
        if span is not None:
            found.append(Misread(field=claim.claim.field, span_id=span))
    return tuple(found)


def _misread(facts: Facts, claim: AssessedClaim) -> str | None:
    places = claim.receipt.places
    if not places or any(p.source != "result" or p.path is None for p in places):
        return None
    name = _words(claim.claim.field or "")
    if not name or any(_words(p.path or "") == name for p in places):
        return None
    values = {v for v in find_values(claim.text) if v.startswith(("number:", "date:"))}
    if not values:
        return None
    for place in places:
        execution = facts.execution_of.get(place.call_id or "")
        if execution is None:
            return None
        own = [as_text(v) for key, v in _leaves(decoded(execution.result)) if key == name]
        if not own or not missing(values, own):
            return None
    return places[0].span_id


def _words(path: str) -> tuple[str, ...]:
    """Return the words of the last name of a path."""
    last = path.rsplit(".", 1)[-1].split("[", 1)[0]
    return tool_names.words_of(last)


def _leaves(value: object) -> Iterator[tuple[tuple[str, ...], object]]:
    pending: list[tuple[tuple[str, ...], object]] = [((), value)]
    while pending:
        key, item = pending.pop()
        if isinstance(item, dict):
            pending.extend((_words(str(k)), v) for k, v in item.items())
        elif isinstance(item, list):
            pending.extend((key, v) for v in item)
        elif item is not None and key:
            yield key, item
