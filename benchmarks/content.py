"""What judging runs with large results costs: `python -m benchmarks content`.

A run of one tool call, whose result stands whole in the next request, and an answer of eleven
claims: quantities, a date, an order number, a name, a quotation, a page. Most stand nowhere, which
is the dearest case: every text is looked through to its end. Timed is `evaluate` with every rule,
and then the claims with their receipts, on a run that is new each time, so that nothing is
remembered. CPU of the thread; megabytes are those of the result in UTF-8, which returned and
delivered is one text. Hostile texts have no bar of their own; a ratio says how much longer four
times the text takes.
"""

from __future__ import annotations

import json
import random
import re
import statistics
import time
from typing import Final

from benchmarks.table import Row
from benchmarks.timing import keep
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
from spanwitness.rules.engine import evaluate

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
    _cpu_s(_run(_json(1000)))
    found: list[Row] = []
    for name, make in _KINDS.items():
        found += [
            _row(f"{size:g} MB of {name}", make(int(size * 1e6)), n_turns) for size in _SIZES_MB
        ]
    for name in _hostile(0):
        small, large = _hostile(_SMALL)[name], _hostile(4 * _SMALL)[name]
        found.append(_hostile_row(f"4 MB of {name}", small, large, n_turns))
    return found


def _row(what: str, text: str, n_turns: int) -> Row:
    figures = [_cpu_s(_run(text)) for _ in range(n_turns)]
    megabytes = len(text.encode()) / 1e6
    seconds = statistics.median(figures)
    keep(what.replace(" ", "-"), {"mb": megabytes, "cpu_s": figures})
    rate = megabytes / seconds
    is_judged = megabytes >= 1
    return Row(
        what=f"all rules, {what}",
        figure=f"{rate:.0f} MB/s ({seconds * 1000:.0f} ms)",
        bar=f">= {_BAR_MB_S:.0f} MB/s" if is_judged else "",
        is_met=rate >= _BAR_MB_S if is_judged else None,
    )


def _hostile_row(what: str, small: str, large: str, n_turns: int) -> Row:
    few = statistics.median(_cpu_s(_run(small)) for _ in range(n_turns))
    many = statistics.median(_cpu_s(_run(large)) for _ in range(n_turns))
    rate = len(large.encode()) / 1e6 / many
    keep(what.replace(" ", "-"), {"small_cpu_s": few, "large_cpu_s": many})
    return Row(
        what=f"all rules, {what}",
        figure=f"{rate:.0f} MB/s ({many * 1000:.0f} ms, {many / few:.1f} x that of 1 MB)",
    )


def _cpu_s(run: Run) -> float:
    start = time.thread_time()
    _ = evaluate(run).claims
    return time.thread_time() - start


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


def _table(size: int) -> str:
    dice = random.Random(4)
    pieces = ["| name | VDD (mV) | min | typ | max |", "| --- | --- | --- | --- | --- |"]
    while size > 0:
        pieces.append(
            f"| {dice.choice(_WORDS)} | {dice.uniform(0, 5000):.1f} | {dice.randint(0, 999)}"
            f" | {dice.uniform(0, 9):.2f} | {dice.uniform(0, 99):.3f} |"
        )
        size -= len(pieces[-1]) + 1
    return "\n".join(pieces)


def _german(size: int) -> str:
    piece = (
        "Die Gr\u00f6\u00dfe betr\u00e4gt \u00fcberall 3,61 V f\u00fcr K\u00f6ln \u2013"
        " Stra\u00dfe \u201esch\u00f6n\u201c 1.234,5 m\u00b2. "
    )
    return piece * (size // len(piece.encode()) + 1)


def _chinese(size: int) -> str:
    piece = (
        "\u7535\u6e90\u7535\u538b\u4e3a\u4e09\u70b9\u516d\u4e94\u4f0f\u7279\uff0c\u5de5"
        "\u4f5c\u6e29\u5ea6\u8303\u56f4\u3002\u7b2c 12 \u9875 3.61 V "
    )
    return piece * (size // len(piece.encode()) + 1)


_KINDS: Final = {
    "prose": _prose, "JSON": _json, "CSV": _csv, "Markdown table": _table, "German": _german,
    "Chinese": _chinese,
}  # fmt: skip
_SMALL: Final = 1_000_000


def _hostile(size: int) -> dict[str, str]:
    return {
        "one line of one letter": "a" * size,
        "digits": "1234567890" * (size // 10),
        "nested lists": "[" * (size // 2) + "]" * (size // 2),
        "nested objects": '{"a":' * (size // 6) + "1" + "}" * (size // 6),
        "open brackets": "(" * size,
        "letters before a mark": "a" * max(size - 1, 0) + "!",
        "dates": "2016-11-28, " * (size // 12),
        "line ends": "\n" * size,
        "escapes": '{"a": "' + "\\u4e2d\\u6587" * (size // 12) + '"}',
        "a claimed value repeated": "3.65 V " * (size // 7),
        "quotation marks": '"' * size,
        "spaces": " " * size,
        "small numbers": "1, " * (size // 3),
    }
