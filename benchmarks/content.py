"""What looking for an answer's claims in large results costs: `python -m benchmarks content`.

A run of one tool call, whose result stands whole in the next request, and an answer of eleven
claims: quantities, a date, an order number, a name, a quotation, a page. Most stand nowhere, which
is the dearest case: every text is looked through to its end. Timed are `assess` and a whole
`evaluate` with every rule, on a run that is new each time, so that nothing is remembered. CPU of
the process; megabytes are those of the result, which returned and delivered is one text.
"""

from __future__ import annotations

import json
import random
import re
import statistics
import time
from typing import TYPE_CHECKING, Final

from benchmarks.table import Row
from benchmarks.timing import keep
from spanwitness.grounding import assess
from spanwitness.model import (
    ChatCall,
    Delivery,
    Message,
    Run,
    TextPart,
    ToolCall,
    ToolCallPart,
    ToolRequest,
    ToolResultPart,
)
from spanwitness.normalize.executions import executions
from spanwitness.rules.engine import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

_BAR_MB_S: Final = 40.0
_SIZES_MB: Final = (0.1, 1.0, 5.0, 20.0)
_WORDS: Final = re.findall(
    r"\w+",
    "the supply voltage of sensor device is measured at ambient temperature and pressure range over"
    " interface current mode with typical maximum output register",
)
_ANSWER: Final = (
    "The part from Infineon Technologies runs at 3.65 V and 345 uA, with revenue of $12.75 million"
    " since 29 November 2016. Order W2378156 has 4821 units at 13.37 each; it says"
    ' "calibrated at ambient humidity over the interface", see page 12. The total is 64457.8.'
)


def rows(*, n_turns: int = 3) -> list[Row]:
    """Measure each kind of text at each size, and hostile texts at one."""
    _cpu_s(_assess, _run("warm-up 3.65 V"))
    found: list[Row] = []
    for name, make in _KINDS.items():
        for size in _SIZES_MB:
            text = make(int(size * 1e6))
            found.append(_row(f"claims in {size:g} MB of {name}", text, _assess, n_turns))
        found.append(_row(f"all rules, {size:g} MB of {name}", text, evaluate, n_turns))
    for name, text in _hostile(2_000_000).items():
        found.append(_row(f"claims in 2 MB of {name}", text, _assess, n_turns))
    return found


def _row(what: str, text: str, judge: Callable[[Run], object], n_turns: int) -> Row:
    figures = [_cpu_s(judge, _run(text)) for _ in range(n_turns)]
    megabytes = len(text) / 1e6
    seconds = statistics.median(figures)
    keep(what.replace(" ", "-").replace(",", ""), {"mb": megabytes, "cpu_s": figures})
    rate = megabytes / seconds
    is_judged = megabytes >= 1
    return Row(
        what=what,
        figure=f"{rate:.0f} MB/s ({seconds * 1000:.0f} ms)",
        bar=f">= {_BAR_MB_S:.0f} MB/s" if is_judged else "",
        is_met=rate >= _BAR_MB_S if is_judged else None,
    )


def _cpu_s(judge: Callable[[Run], object], run: Run) -> float:
    start = time.process_time()
    judge(run)
    return time.process_time() - start


def _assess(run: Run) -> object:
    return assess(run, answer=_ANSWER, executions=executions(run))


def _run(text: str) -> Run:
    """A complete run: asked, read, answered."""
    asks = ToolCallPart(name="read", call_id="c1", arguments={"path": "a.txt"})
    history = (
        Message(role="user", parts=(TextPart(text="What does it say?"),)),
        Message(role="assistant", parts=(asks,)),
        Message(
            role="tool",
            parts=(ToolResultPart(call_id="c1", name="read", parts=(TextPart(text=text),)),),
        ),
    )
    request = ToolRequest(name="read", call_id="c1", arguments={"path": "a.txt"})
    answer = Message(role="assistant", parts=(TextPart(text=_ANSWER),))
    chats = (
        ChatCall(
            span_id="1" * 16, seq=1, input_messages=history[:1], output_messages=history[1:2],
            requested=(request,), delivered=(), offered=(), ending="complete",
        ),
        ChatCall(
            span_id="3" * 16, seq=3, input_messages=history, output_messages=(answer,),
            requested=(), offered=(), ending="complete", text_chars=len(_ANSWER),
            delivered=(Delivery(call_id="c1", state="whole", part_types=("text",)),),
        ),
    )  # fmt: skip
    tool = ToolCall(
        span_id="2" * 16, seq=2, name="read", call_id="c1", link="exact", outcome="value",
        arguments={"path": "a.txt"}, result=text, has_result=True,
    )  # fmt: skip
    return Run(
        run_id="r", trace_id="t" * 32, root_span_id="0" * 16, name="content", chats=chats,
        tools=(tool,), content="on", status="ok", final_text=_ANSWER, has_final=True,
    )  # fmt: skip


def _prose(size: int) -> str:
    dice = random.Random(1)
    pieces: list[str] = []
    while size > 0:
        words = [
            dice.choice(_WORDS) if dice.random() < 0.95 else f"{dice.uniform(0, 5000):.2f}"
            for _ in range(15)
        ]
        pieces.append(" ".join(words).capitalize() + (".\n" if dice.random() < 0.2 else ". "))
        size -= len(pieces[-1])
    return "".join(pieces)


def _json(size: int) -> str:
    dice = random.Random(2)
    pieces: list[str] = []
    while size > 0:
        record = {
            "id": f"item_{len(pieces)}",
            "name": f"{dice.choice(_WORDS)} {dice.choice(_WORDS)}",
            "price": round(dice.uniform(0, 5000), 2),
            "note": " ".join(dice.choices(_WORDS, k=10)),
        }
        pieces.append(json.dumps(record))
        size -= len(pieces[-1]) + 2
    return f"[{', '.join(pieces)}]"


def _csv(size: int) -> str:
    dice = random.Random(3)
    pieces = ["id,name,VDD (mV),qty,date"]
    while size > 0:
        pieces.append(
            f"{len(pieces)},{dice.choice(_WORDS)},{dice.uniform(0, 5000):.2f},"
            f"{dice.randint(0, 99_999)},2026-01-{dice.randint(1, 28):02}"
        )
        size -= len(pieces[-1]) + 1
    return "\n".join(pieces)


_KINDS: Final = {"prose": _prose, "JSON": _json, "CSV": _csv}


def _hostile(size: int) -> dict[str, str]:
    return {
        "one line of one letter": "a" * size,
        "digits": "1234567890" * (size // 10),
        "nested lists": "[" * (size // 2) + "]" * (size // 2),
        "a claimed value repeated": "3.65 V " * (size // 7),
        "quotation marks": '"' * size,
        "spaces": " " * size,
        "small numbers": "1, " * (size // 3),
    }
