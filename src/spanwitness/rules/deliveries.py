"""What became of a result on its way: swapped with another one, or a list that lost elements."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from spanwitness.model import TextPart, ToolResultPart
from spanwitness.normalize.delivery import compare
from spanwitness.rules import tool_names
from spanwitness.rules.decoded import decoded

if TYPE_CHECKING:
    from spanwitness.model import Execution
    from spanwitness.rules.facts import Arrival, Facts

__all__ = ["CutList", "cut_list", "part_of", "swapped_results"]

_TOTALS = frozenset({"count", "len", "length", "matches", "num", "n", "size", "total", "totals"})
_MAX_PARALLEL = 32
_ELEMENT = re.compile(r"[{\[]")


def part_of(arrival: Arrival) -> ToolResultPart | None:
    """Return the result as it stood in the request; `None` when content is not recorded."""
    for message in arrival.chat.input_messages or ():
        for part in message.parts:
            if isinstance(part, ToolResultPart) and part.call_id == arrival.delivery.call_id:
                return part
    return None


def swapped_results(facts: Facts) -> list[Execution]:
    """Return executions whose results were delivered under each other's call ids.

    Only calls of one reply whose results differ, and none of which was ever delivered whole under
    its own id.
    """
    by_reply: dict[int, list[tuple[Execution, ToolResultPart]]] = {}
    for call_id, arrivals in facts.deliveries.items():
        execution, request = facts.execution_of.get(call_id), facts.request_of.get(call_id)
        if execution is None or request is None or not execution.has_result:
            continue
        if any(a.delivery.state == "whole" for a in arrivals):
            continue
        part = part_of(arrivals[0])
        if part is not None:
            by_reply.setdefault(request.chat_index, []).append((execution, part))
    found: dict[int, Execution] = {}
    for calls in by_reply.values():
        if 1 < len(calls) <= _MAX_PARALLEL:
            for one, other in _pairs(calls):
                found[id(one)], found[id(other)] = one, other
    return list(found.values())


def _pairs(
    calls: list[tuple[Execution, ToolResultPart]],
) -> list[tuple[Execution, Execution]]:
    return [
        (one, other)
        for n, (one, of_one) in enumerate(calls)
        for other, of_other in calls[n + 1 :]
        if _is_result(of_one, other) and _is_result(of_other, one) and not _is_result(of_one, one)
    ]


def _is_result(part: ToolResultPart, execution: Execution) -> bool:
    if compare(execution.result, part) == "whole":
        return True
    text = "".join(p.text for p in part.parts if isinstance(p, TextPart)).strip()
    return bool(text) and isinstance(execution.result, str) and execution.result.strip() == text


class CutList(msgspec.Struct, frozen=True, kw_only=True):
    """A list of a result that lost elements on its way."""

    n_returned: int
    n_delivered: int
    has_total: bool
    """A total beside the delivered part still counts all of them."""

    @property
    def told(self) -> str:
        """The counts, as a clause."""
        total = ", beside a total that counts them all" if self.has_total else ""
        return f" ({self.n_delivered} of {self.n_returned} elements of a list delivered{total})"

    @property
    def evidence(self) -> dict[str, object]:
        """The counts, for a verdict."""
        return {
            "n_elements_returned": self.n_returned,
            "n_elements_delivered": self.n_delivered,
            "has_total": self.has_total,
        }


def cut_list(execution: Execution, arrival: Arrival) -> CutList | None:
    """Return how many elements the longest list of a result lost; `None` where it lost none.

    Of a text that broke off inside the list, the elements that it still begins are counted.
    """
    part = part_of(arrival)
    if part is None or not execution.has_result:
        return None
    returned = _longest(decoded(execution.result))
    if returned is None or len(returned) < 2:
        return None
    text = "".join(p.text for p in part.parts if isinstance(p, TextPart))
    value = part.value if part.value is not None else decoded(text)
    delivered = _longest(value)
    if delivered is not None:
        n_delivered = len(delivered)
    elif isinstance(value, str) and isinstance(returned[0], (dict, list)):
        n_delivered = _begun(text, returned)
    else:
        return None
    if n_delivered >= len(returned):
        return None
    return CutList(
        n_returned=len(returned),
        n_delivered=n_delivered,
        has_total=_tells_total(value, len(returned)),
    )


def _longest(value: object) -> list[object] | None:
    """Return the longest list among a value and the values directly below it."""
    candidates = [value, *(value.values() if isinstance(value, dict) else ())]
    lists = [c for c in candidates if isinstance(c, list)]
    return max(lists, key=len) if lists else None


def _begun(text: str, returned: list[object]) -> int:
    """Count the elements that a text which broke off begins, by the first key of each."""
    first = returned[0]
    if isinstance(first, dict) and first:
        key = re.escape(str(next(iter(first))))
        return len(re.findall(rf"[{{,]\s*[\"']{key}[\"']\s*:", text))
    return max(len(_ELEMENT.findall(text)) - 1, 0)


def _tells_total(value: object, n: int) -> bool:
    if not isinstance(value, dict):
        return False
    return any(
        item == n
        and not isinstance(item, bool)
        and not _TOTALS.isdisjoint(tool_names.words_of(key))
        for key, item in value.items()
        if isinstance(key, str)
    )
