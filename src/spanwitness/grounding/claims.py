"""What an answer claims: declared claims, fields of structured output, and statements in text.

A claim is something that evidence can hold: a number, a date, an identifier, a name, a quotation.
The model's own judgements (a confidence, a verdict), enum labels, booleans and its reasoning are no
claims.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

import msgspec

from spanwitness.grounding.folding import fold_word
from spanwitness.grounding.numbers import number_at
from spanwitness.grounding.statements import (
    SHORT,
    SMALL,
    FoundClaim,
    Origin,
    is_identifier,
    statements_of,
)
from spanwitness.grounding.units import LETTERS, scales_of, units_of
from spanwitness.model import Claim
from spanwitness.normalize.json_schema import unfenced
from spanwitness.normalize.values import JUDGEMENT_KEY, PAGE_KEY, QUOTE_KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from spanwitness.model import ClaimKind, Run

__all__ = ["FoundClaim", "claims_of"]

MAX_CLAIMS: Final = 200
"""Claims of one answer that are looked at; the rest is left out."""
_MAX_DEPTH: Final = 32
_MAX_WORDS: Final = 6
_REASONING_KEY = re.compile(
    r"reason|rationale|explanation|thought|thinking|analysis|justification|scratch|chain|plan$"
    r"|comment|note|verdict|status|^type$|^kind$|^role$",
    re.IGNORECASE,
)
_ANSWER_KEY = re.compile(
    r"(?:answer|name|title|entity|value|result|city|country|place|author|person|product)(?:\[\d+\])?$",
    re.IGNORECASE,
)
_UNIT_KEY = re.compile(r"^(?:.*_)?units?(?:_of_measure\w*)?$|^currency$", re.IGNORECASE)
_KEY_TAIL = re.compile(r"(?:^|_|\(|\[|\s)([^\W_]+(?:/[^\W_]+)?|%)[)\]]?$")


def claims_of(run: Run, answer: str | None) -> tuple[FoundClaim, ...]:
    """Return what the answer of a run claims, in its order; the declared claims come first.

    Args:
        run: The run; its submission holds the claims that the caller declared.
        answer: The answer as text or JSON; `None` = not recorded.

    Returns:
        At most 200 claims. The same value in two fields is two claims, the same words twice in a
        text are one.
    """
    found: list[FoundClaim] = []
    if run.submission is not None:
        for claim in run.submission.claims or ():
            found.extend(_declared(claim))
    if answer:
        labels = _labels_of(run)
        structured = _structured(answer)
        if structured is None:
            found.extend(statements_of(answer, origin="text"))
        else:
            found.extend(_of_fields(structured, labels))
    unique: dict[object, FoundClaim] = {}
    for one in found:
        unique.setdefault(_identity(one), one)
        if len(unique) >= MAX_CLAIMS:
            break
    return tuple(unique.values())


def _identity(one: FoundClaim) -> object:
    """What makes two claims one: a text repeats itself, and the caller declared what it says."""
    said = one.numbers[0].amounts[0] if one.numbers else one.text.casefold().strip()
    return (one.kind, said, one.claim.field if one.origin == "field" else None)


# --- declared


def _declared(claim: Claim) -> Iterator[FoundClaim]:
    value = claim.value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield _number_of(value, claim.unit, claim, "declared")
    elif isinstance(value, str) and value.strip():
        yield from _of_leaf(value, claim.unit, claim, "declared")
    if claim.quote and claim.quote.strip():
        yield FoundClaim(claim=claim, kind="quotation", origin="declared", text=claim.quote)


def _number_of(
    value: float, unit: str | None, claim: Claim, origin: Origin, *, letter: str | None = None
) -> FoundClaim:
    text = f"{format(value, 'f') if 1e-6 < abs(value) < 1e-4 else value!r}"
    text = text.removesuffix(".0")
    shown = f"{text} {unit}" if unit else text
    numbers = number_at(
        fold_word(shown), 1 if text[0] == "-" else 0, unit=unit and fold_word(unit), ask_pint=True
    )
    if letter is not None:
        numbers += number_at(fold_word(shown), 1 if text[0] == "-" else 0, unit=letter)
    return FoundClaim(
        claim=claim,
        kind="number",
        origin=origin,
        text=shown,
        numbers=tuple(numbers),
        is_small=unit is None and abs(value) <= SMALL and value == int(value),
    )


# --- structured output


def _structured(answer: str) -> object | None:
    text = answer.strip()
    inner = unfenced(text)
    if inner is not None:
        text = inner.strip()
    if text[:1] not in ("{", "["):
        return None
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _labels_of(run: Run) -> frozenset[str]:
    """Return the enum labels and constants of the output schemas of a run."""
    found: set[str] = set()
    pending: list[object] = [
        chat.output_format.schema for chat in run.chats if chat.output_format is not None
    ]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, dict):
            for key in ("enum", "const", "default"):
                labels = node.get(key)
                found.update(str(x) for x in (labels if isinstance(labels, list) else [labels]))
            pending.extend(node.values())
        elif isinstance(node, list):
            pending.extend(node)
    return frozenset(found)


def _of_fields(value: object, labels: frozenset[str]) -> Iterator[FoundClaim]:
    for path, key, leaf, named in _leaves(value):
        if isinstance(leaf, bool) or leaf is None:
            continue
        if key and (JUDGEMENT_KEY.search(key) or _REASONING_KEY.search(key)):
            continue
        if isinstance(leaf, (int, float)):
            unit = named or _unit_of_key(key)
            claim = Claim(value=leaf, unit=unit, field=path)
            if key and PAGE_KEY.search(key):
                yield FoundClaim(
                    claim=claim, kind="identifier", origin="field", text=f"page {leaf}"
                )
            else:
                letter = _letter_of_key(key) if unit is None else None
                yield _number_of(leaf, unit, claim, "field", letter=letter)
        elif isinstance(leaf, str) and leaf.strip() and leaf not in labels:
            if key and _UNIT_KEY.match(key):
                continue
            yield from _of_string(leaf, key, path, named)


def _of_string(leaf: str, key: str, path: str, unit: str | None) -> Iterator[FoundClaim]:
    if key and QUOTE_KEY.search(key):
        claim = Claim(value=leaf, quote=leaf, field=path)
        yield FoundClaim(claim=claim, kind="quotation", origin="field", text=leaf)
    elif len(leaf) <= SHORT and "\n" not in leaf:
        yield from _of_leaf(leaf, unit, Claim(value=leaf, unit=unit, field=path), "field")
    else:
        yield from statements_of(leaf, origin="field", field=path)


def _leaves(value: object) -> Iterator[tuple[str, str, object, str | None]]:
    """Yield path, key, leaf and the unit that a sibling names, in order."""
    pending: list[tuple[str, str, object, str | None, int]] = [("", "", value, None, 0)]
    while pending:
        path, key, item, unit, depth = pending.pop()
        if depth > _MAX_DEPTH:
            continue
        if isinstance(item, dict):
            named = _sibling_unit(item)
            pending.extend(
                (f"{path}.{k}" if path else str(k), str(k), v, named, depth + 1)
                for k, v in reversed(item.items())
            )
        elif isinstance(item, list):
            pending.extend(
                (f"{path}[{i}]", key, v, unit, depth + 1)
                for i, v in reversed(list(enumerate(item)))
            )
        else:
            yield path, key, item, unit


def _sibling_unit(item: Mapping[str, object]) -> str | None:
    for key, value in item.items():
        if isinstance(value, str) and _UNIT_KEY.match(str(key)) and len(value) <= 24:
            return value
    return None


def _unit_of_key(key: str) -> str | None:
    """Return the unit that a key ends with, as `vdd_mv` and `Width (mm)` do."""
    found = _KEY_TAIL.search(key)
    if found is None or found[1] == key:
        return None
    word = found[1]
    is_known = bool(units_of(word)) or scales_of(word) is not None
    return word if is_known and (len(word) > 1 or "(" in key or word == "%") else None


def _letter_of_key(key: str) -> str | None:
    """Return the unit that the last letter of a key may mean, as in `distance_m`."""
    stem, _, letter = key.rpartition("_")
    return LETTERS.get(letter) if stem else None


def _of_leaf(leaf: str, unit: str | None, claim: Claim, origin: Origin) -> Iterator[FoundClaim]:
    """A short text of a field: what is it, as a whole?"""
    text = leaf.strip()
    inside = statements_of(text, origin=origin, field=claim.field, unit=unit)
    whole = max(inside, key=lambda one: len(one.text), default=None)
    if whole is not None and len(whole.text) >= len(text) - 4:
        yield msgspec.structs.replace(whole, claim=claim)
        return
    if inside and all(one.kind in ("number", "date") for one in inside) and len(text) <= 40:
        yield from inside
        return
    words = text.split()
    if len(words) <= _MAX_WORDS and text[-1] not in ".?!:" and any(c.isalnum() for c in text):
        yield FoundClaim(claim=claim, kind=_kind_of(text, claim.field), origin=origin, text=text)
        return
    yield from inside


def _kind_of(text: str, field: str | None) -> ClaimKind:
    """Say what a short text of a field is; words in lower case name nothing, unless asked for."""
    if is_identifier(text):
        return "identifier"
    if text != text.lower() or (field and _ANSWER_KEY.search(field)):
        return "name"
    return "text"
