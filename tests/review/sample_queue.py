"""A queue as it looks after some weeks of use: several rules, agents, states and verdicts."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from tests.review import sample_runs
from tests.review.judged_runs import judged, violation

from spanwitness.findings.judged import Judged
from spanwitness.normalize import build_runs
from spanwitness.review import Queue
from spanwitness.review.store.values import ItemFilter
from spanwitness.rules.engine import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.review.sample_runs import Script


class Past:
    """A clock that can be set back, so that a queue has a history."""

    def __init__(self) -> None:
        self.back = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) - self.back


def judge(script: Script) -> Iterator[tuple[Judged, list[Any]]]:
    for run in build_runs(script.spans):
        evaluation = evaluate(run)
        yield Judged(run=run, verdicts=evaluation.verdicts), script.spans


def put(queue: Queue, script: Script, **more: Any) -> tuple[int, ...]:
    """Judge a run into the queue; return the items that it opened."""
    opened: tuple[int, ...] = ()
    for one, spans in judge(script):
        opened += queue.add(one, spans=spans, **more).opened
    return opened


_KINDS: tuple[tuple[Callable[..., Script], int], ...] = (
    (sample_runs.bypassed_extraction, 3),
    (sample_runs.unexecuted_call, 4),
    (sample_runs.swallowed_error, 2),
    (sample_runs.lost_result, 2),
    (sample_runs.cut_short, 3),
)


def fill(url: str) -> None:
    """Make the sample queue; the same at each call."""
    clock, rng = Past(), random.Random(4)
    queue = Queue.open(url, now=clock)
    for day in range(24, -1, -1):
        clock.back = timedelta(days=day, hours=2, minutes=rng.randint(0, 50))
        at = clock()
        for n in range(rng.randint(4, 9)):
            put(queue, sample_runs.healthy_extraction((day, n), at))
        for make, n_days in _KINDS:
            if (day + n_days) % (n_days + 1) == 0 or day == 0:
                put(queue, make((day, make.__name__), at))
    _add_synthetic(queue, clock, rng)
    _act(queue, clock)
    clock.back = timedelta(minutes=3)
    put(queue, sample_runs.hostile_run("hostile", clock()))
    put(queue, sample_runs.long_run("long", clock(), n_spans=400))
    queue.close()


_SKIPPED = (
    "A tool of the group verification was never executed before the submission; at least 1 is "
    "expected."
)
_REPEATED = "search_text was called 4 times with the same arguments and the same result."
_WITHHELD = "2 tools are configured for this step and stand in none of its requests."
_SUBSTITUTED = "The request asked for one model and another one answered."
_MORE = (
    ("verification_skipped", _SKIPPED, "datasheet-extractor", "error", "reasoning",
     {"clause": "verification", "n_executions": 0}),
    ("repeated_call", _REPEATED, "report-writer", "warning", "reasoning", {"tool": "search_text"}),
    ("tools_withheld", _WITHHELD, "support-bot", "error", "harness",
     {"tools": ["find_order", "send_email"]}),
    ("model_substituted", _SUBSTITUTED, "report-writer", "warning", "harness", {}),
    ("forbidden_tool", "web_search was executed once; it is forbidden.", "support-bot",
     "critical", "reasoning", {"clause": "web_search", "n_executions": 1}),
)  # fmt: skip


def _add_synthetic(queue: Queue, clock: Past, rng: random.Random) -> None:
    for place, (rule, reason, agent, severity, fault, evidence) in enumerate(_MORE):
        for n in range(rng.randint(1, 6)):
            clock.back = timedelta(days=6 - place, hours=n)
            verdict = violation(
                rule, reason=reason, severity=severity, fault=fault, evidence=evidence
            )
            queue.add(judged((rule, n), verdict, agent=agent, end=clock()))


def _act(queue: Queue, clock: Past) -> None:
    """Let people work on it."""
    words = ["confirmed", "confirmed", "false_positive", "expected", "confirmed", "cannot_tell"]
    reasons = [
        "The schema switched the tools off; page 3 holds no such sentence.",
        None,
        "The refund ran in the back office; its tool is not instrumented.",
        "Known: the model is an alias of the other.",
        "Seen in three orders.",
        "The page is not in the trace.",
    ]
    clock.back = timedelta(days=2)
    todo = queue.items(ItemFilter(states=("open",)), order="newest", limit=50).rows
    for item, word, reason in zip(todo, words, reasons, strict=False):
        queue.claim(item.id, "maria")
        queue.verdict(item.id, verdict=word, by="maria", reason=reason)
    rest = todo[len(words) :]
    clock.back = timedelta(hours=1)
    if rest:
        queue.note(rest[0].id, "Looks like the same agent release as last week.", "jonas")
        queue.claim(rest[0].id, "jonas", lease_s=3600 * 3)
    if len(rest) > 1:
        queue.snooze(rest[1].id, datetime.now(UTC) + timedelta(days=3), "maria")
    clock.back = timedelta()
    # One comes back after it was judged.
    put(queue, sample_runs.bypassed_extraction("again", clock()))


if __name__ == "__main__":
    import sys

    fill(sys.argv[1])
