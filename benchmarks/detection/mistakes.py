"""BIG-Bench Mistake: chains of thought without tools, the first wrong step marked by people."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spanwitness.model import SpanRecord

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Chain", "load"]


@dataclass(frozen=True)
class Chain:
    """One chain with its labels."""

    task: str
    spans: list[SpanRecord]
    is_right: bool
    has_mistake: bool

    @property
    def trace_id(self) -> str:
        """The id of its trace."""
        return self.spans[0].trace_id


def load(data: Path) -> list[Chain]:
    """Read every chain of every task."""
    found = []
    for path in sorted((data / "bigbench_mistake").glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            chain = json.loads(line)
            found.append(
                Chain(
                    task=path.stem,
                    spans=_spans(f"{path.stem}/{number}", chain),
                    is_right=str(chain["answer"]).strip() == str(chain["target"]).strip(),
                    has_mistake=chain["mistake_index"] is not None,
                )
            )
    return found


def _spans(key: str, chain: dict[str, object]) -> list[SpanRecord]:
    trace = hashlib.sha256(key.encode()).hexdigest()[:32]
    steps = chain["steps"]
    reply = "\n".join(steps) if isinstance(steps, list) else str(steps)

    def says(role: str, text: object) -> str:
        part = {"type": "text", "content": str(text)}
        return json.dumps([{"role": role, "parts": [part]}])

    root = SpanRecord(
        trace_id=trace,
        span_id=trace[:16],
        name="invoke_agent solver",
        start_ns=1,
        end_ns=100,
        attributes={
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "solver",
            "gen_ai.output.messages": says("assistant", chain["answer"]),
        },
        scope="agent-framework",
    )
    chat = SpanRecord(
        trace_id=trace,
        span_id=trace[16:],
        parent_span_id=trace[:16],
        name="chat palm-2",
        start_ns=2,
        end_ns=99,
        attributes={
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "gcp.gen_ai",
            "gen_ai.request.model": "palm-2",
            "gen_ai.response.model": "palm-2",
            "gen_ai.response.finish_reasons": ["stop"],
            "gen_ai.tool.definitions": "[]",
            "gen_ai.input.messages": says("user", chain["input"]),
            "gen_ai.output.messages": says("assistant", reply),
        },
        scope="agent-framework",
    )
    return [root, chat]
