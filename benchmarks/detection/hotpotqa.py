"""Reflexion's ReAct runs on HotpotQA: a text protocol (`Action 1: Search[...]`), real Wikipedia.

The last observation and the correct answer, which tell the outcome, never reach the trace.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spanwitness.model import SpanRecord

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Answered", "load", "stands_plainly"]

_SECTION = re.compile(r"-+ BEGIN (?P<what>CORRECT|INCORRECT|HALTED) AGENTS -+")
_LINE = re.compile(r"^(Thought|Action|Observation) \d+: ?", re.MULTILINE)
_ACTION = re.compile(r"(?P<name>Search|Lookup|Finish)\[(?P<about>.*)\]\s*\Z", re.DOTALL)
_SECOND = 1_000_000_000


@dataclass(frozen=True)
class Answered:
    """One finished run with its label."""

    question: str
    answer: str
    observations: tuple[str, ...]
    is_right: bool
    spans: list[SpanRecord]

    @property
    def trace_id(self) -> str:
        """The id of its trace."""
        return self.spans[0].trace_id


def load(data: Path) -> list[Answered]:
    """Read the finished runs of the first trials (later trials copy what was solved)."""
    found = []
    for agent in ("base", "reflexion"):
        path = data / "reflexion_hotpotqa" / agent / "100_questions_5_trials.txt"
        trial = path.read_text(encoding="utf-8").split("BEGIN TRIAL 2")[0]
        parts = _SECTION.split(trial)[1:]
        for what, body in zip(parts[::2], parts[1::2], strict=True):
            for block in re.split(r"^Question: ", body, flags=re.MULTILINE)[1:]:
                run = _read(block, agent, is_right=what == "CORRECT")
                if run is not None:
                    found.append(run)
    return found


def stands_plainly(run: Answered) -> bool:
    """The plain check that others use: the answer is a part of some observation, case aside."""
    wanted = run.answer.casefold()
    return any(wanted in text.casefold() for text in run.observations)


def _read(block: str, agent: str, *, is_right: bool) -> Answered | None:
    question, _, rest = block.partition("\n")
    pieces = _LINE.split(rest)
    steps = list(zip(pieces[1::2], [piece.strip() for piece in pieces[2::2]], strict=True))
    writer = _Writer(question.strip(), agent)
    for kind, text in steps:
        if kind == "Thought":
            writer.thinks(text)
        elif kind == "Observation":
            writer.sees(text)
        else:
            action = _ACTION.search(text)
            if action is None:
                return None
            if action["name"] == "Finish":
                return writer.finish(text, action["about"], is_right=is_right)
            writer.acts(text, action["name"], action["about"])
    return None


class _Writer:
    def __init__(self, question: str, agent: str) -> None:
        self._question = question
        self._trace = hashlib.sha256(f"{agent}/{question}".encode()).hexdigest()[:32]
        self._prompt = f"Question: {question}\n"
        self._thought = ""
        self._action: tuple[str, str] = ("", "")
        self._observations: list[str] = []
        self._spans: list[SpanRecord] = []
        self._step = 0

    def thinks(self, text: str) -> None:
        self._step += 1
        self._thought = f"Thought {self._step}: {text}\n"

    def acts(self, text: str, name: str, about: str) -> None:
        self._chat(text)
        self._action = (name, about)

    def sees(self, text: str) -> None:
        name, about = self._action
        key = "entity" if name == "Search" else "keyword"
        self._add(
            f"execute_tool {name}",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.call.arguments": json.dumps({key: about}),
                "gen_ai.tool.call.result": text,
            },
        )
        self._observations.append(text)
        self._prompt += f"Observation {self._step}: {text}\n"

    def finish(self, text: str, answer: str, *, is_right: bool) -> Answered:
        self._chat(text)
        root = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "react",
            "gen_ai.output.messages": json.dumps([_says("assistant", answer)]),
        }
        self._add("invoke_agent react", root, is_root=True)
        return Answered(self._question, answer, tuple(self._observations), is_right, self._spans)

    def _chat(self, action: str) -> None:
        reply = f"{self._thought}Action {self._step}: {action}"
        self._add(
            "chat react",
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.request.model": "text-davinci-003",
                "gen_ai.response.model": "text-davinci-003",
                "gen_ai.response.finish_reasons": ["stop"],
                "gen_ai.tool.definitions": "[]",
                "gen_ai.input.messages": json.dumps([_says("user", self._prompt)]),
                "gen_ai.output.messages": json.dumps([_says("assistant", reply)]),
            },
        )
        self._prompt += f"{reply}\n"

    def _add(self, name: str, attributes: dict[str, Any], *, is_root: bool = False) -> None:
        root_id = hashlib.sha256(self._trace.encode()).hexdigest()[:16]
        place = len(self._spans) + 1
        own_id = hashlib.sha256(f"{self._trace}/{place}".encode()).hexdigest()[:16]
        self._spans.append(
            SpanRecord(
                trace_id=self._trace,
                span_id=root_id if is_root else own_id,
                parent_span_id=None if is_root else root_id,
                name=name,
                start_ns=_SECOND if is_root else (place + 1) * _SECOND,
                end_ns=(place + 2) * _SECOND - 1,
                attributes=attributes,
                resource={"service.name": "react"},
                scope="agent-framework",
            )
        )


def _says(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}
