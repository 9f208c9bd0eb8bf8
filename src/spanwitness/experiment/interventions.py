"""Evidence made worse on purpose, in a way that can be repeated and is written down.

The first three conditions are those of the evidence-state study (compressed and lossy, partly
dropped, noisy and conflicting); stale, truncated and wrong-document evidence are ours. Evidence is
a text, or a list of passages; the result has the same form.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeAlias, TypeVar, get_args

from spanwitness.capture.step_facts import current_step
from spanwitness.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["CONDITIONS", "Condition", "Degraded", "degrade"]

Condition: TypeAlias = Literal[
    "clean",
    "compressed_lossy",
    "partial_dropout",
    "noisy_conflicting",
    "stale",
    "truncated",
    "wrong_document",
]
CONDITIONS: Final[tuple[Condition, ...]] = get_args(Condition)

EvidenceT = TypeVar("EvidenceT", str, list[str])

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")


@dataclass(frozen=True, kw_only=True, slots=True)
class Degraded(Generic[EvidenceT]):
    """Evidence under a condition."""

    evidence: EvidenceT
    """What the stage is to be given."""
    condition: Condition
    case_id: str
    seed: int
    strength: float
    is_changed: bool
    """Whether it differs from what was given: one short passage may leave nothing to change."""


def degrade(
    evidence: EvidenceT,
    condition: Condition,
    *,
    case_id: str,
    seed: int,
    strength: float = 0.5,
    other: Sequence[EvidenceT] = (),
) -> Degraded[EvidenceT]:
    """Put evidence under a condition; inside a step, condition and case are recorded on its span.

    The draw depends on the seed, the case and the condition alone, so that cases may be run in any
    order. Compare a case under a condition with the same case under `clean`.

    Args:
        evidence: A text, or a list of passages.
        condition: `clean` leaves it as it is. `compressed_lossy` keeps the first words of every
            sentence. `partial_dropout` leaves passages out (of a text, sentences), at least one
            where there are two. `noisy_conflicting` adds copies of passages with other numbers, and
            passages of `other`, at random places. `truncated` cuts the end off, within a word if it
            comes so. `stale` and `wrong_document` give one of `other` in its place.
        case_id: The base case.
        seed: Of all draws.
        strength: How much is lost or added, as a share of words, passages or characters: above 0
            and below 1. Of no meaning for `clean`, `stale` and `wrong_document`.
        other: For `stale`, earlier versions of this evidence; for `wrong_document` and, if you
            like, `noisy_conflicting`, evidence of other cases.

    Raises:
        SettingsError: The condition is not known, the strength is out of range, or `other` holds
            nothing that differs where it is needed.
    """
    if condition not in CONDITIONS:
        raise SettingsError(f"condition {condition!r} is none of {', '.join(CONDITIONS)}")
    if not 0 < strength < 1:
        raise SettingsError(f"strength {strength!r} is not between 0 and 1")
    draw = random.Random(f"{seed}\x00{case_id}\x00{condition}")  # noqa: S311  a seeded experiment
    if condition in ("stale", "wrong_document"):
        changed = _another(evidence, condition, other, draw)
    elif condition == "clean":
        changed = evidence
    else:
        noise = [passage for each in other for passage in _passages(each)]
        changed = _in_passages(
            evidence, lambda found: _CHANGES[condition](found, strength, draw, noise)
        )
    _record(condition, case_id, seed, strength)
    return Degraded(
        evidence=changed,
        condition=condition,
        case_id=case_id,
        seed=seed,
        strength=strength,
        is_changed=changed != evidence,
    )


def _another(
    evidence: EvidenceT, condition: Condition, other: Sequence[EvidenceT], draw: random.Random
) -> EvidenceT:
    different = [each for each in other if each != evidence]
    if not different:
        raise SettingsError(
            f"{condition} evidence needs `other`: at least one that differs from what is given"
        )
    return draw.choice(different)


def _record(condition: Condition, case_id: str, seed: int, strength: float) -> None:
    step = current_step()
    if step is not None:
        step.note_intervention(condition=condition, case_id=case_id, seed=seed, strength=strength)


def _passages(evidence: str | list[str]) -> list[str]:
    if isinstance(evidence, str):
        return [sentence for sentence in _SENTENCE_END.split(evidence) if sentence.strip()]
    return list(evidence)


def _in_passages(evidence: EvidenceT, change: Callable[[list[str]], list[str]]) -> EvidenceT:
    changed = change(_passages(evidence))
    if isinstance(evidence, str):
        joint = "\n" if "\n" in evidence else " "
        return joint.join(changed)
    return changed


def _compress(
    passages: list[str], strength: float, _draw: random.Random, _noise: list[str]
) -> list[str]:
    kept = []
    for passage in passages:
        sentences = []
        for sentence in _passages(passage):
            words = sentence.split()
            n = max(1, round(len(words) * (1 - strength)))
            sentences.append(" ".join(words[:n]))
        kept.append(" ".join(sentences))
    return kept


def _drop(
    passages: list[str], strength: float, draw: random.Random, _noise: list[str]
) -> list[str]:
    n = len(passages)
    if n < 2:
        return passages
    n_kept = min(max(1, round(n * (1 - strength))), n - 1)
    kept = sorted(draw.sample(range(n), n_kept))
    return [passages[place] for place in kept]


def _conflict(
    passages: list[str], strength: float, draw: random.Random, noise: list[str]
) -> list[str]:
    n_added = max(1, round(len(passages) * strength))
    with_numbers = [passage for passage in passages if _NUMBER.search(passage)]
    conflicting = [
        _NUMBER.sub(lambda found: _other_number(found[0], draw), passage)
        for passage in draw.sample(with_numbers, min(n_added, len(with_numbers)))
    ]
    foreign = [passage for passage in noise if passage not in passages]
    added = conflicting + draw.sample(foreign, min(n_added, len(foreign)))
    mixed = list(passages)
    for passage in added:
        mixed.insert(draw.randint(0, len(mixed)), passage)
    return mixed


def _other_number(written: str, draw: random.Random) -> str:
    """Return another number with as many decimals, from 0.5 to 2 times as large."""
    decimals = len(written.partition(".")[2])
    value = float(written)
    for factor in (draw.uniform(1.1, 2.0), draw.uniform(0.5, 0.9)):
        found = f"{value * factor:.{decimals}f}"
        if float(found) != value:
            return found
    return f"{value + 10.0**-decimals:.{decimals}f}"


def _truncate(
    passages: list[str], strength: float, _draw: random.Random, _noise: list[str]
) -> list[str]:
    left = round(sum(map(len, passages)) * (1 - strength))
    kept = []
    for passage in passages:
        if left <= 0:
            break
        kept.append(passage[:left])
        left -= len(passage)
    return kept


_CHANGES: Final = {
    "compressed_lossy": _compress,
    "partial_dropout": _drop,
    "noisy_conflicting": _conflict,
    "truncated": _truncate,
}
