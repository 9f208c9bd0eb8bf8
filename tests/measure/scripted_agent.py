"""A solve, verify, revise protocol against a scripted provider, run for real and traced to files.

Its model is right, wrong, careful or careless by a draw that the prompt seeds, so that every run
gives the same counts.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import openai

import spanwitness as sw
from spanwitness.testing import ScriptedProvider, text

if TYPE_CHECKING:
    from pathlib import Path

    from spanwitness.testing import Say, SeenRequest

N_ITEMS = 48
_LOST = ("q5", "q29")
"""Items on which `improve` fails for good."""
_CHANCES = {"improve": (0.55, 0.12), "tidy": (0.05, 0.30)}
"""Of each revising step: the chance that it corrects, and that it corrupts."""


def _model(request: SeenRequest) -> Say:
    asked = json.loads(request.json["messages"][-1]["content"])
    draw = random.Random(json.dumps(asked, sort_keys=True)).random()
    truth, given = asked["truth"], asked.get("answer")
    is_hard = int(asked["item"][1:]) % 3 == 0
    match asked["task"]:
        case "solve":
            return text(truth if draw < (0.3 if is_hard else 0.7) else "0")
        case "verify":
            return text("ok" if draw < (0.85 if given == truth else 0.3) else "wrong")
        case "judge":
            return text("0" if draw < 0.7 else str(int(3 * draw) % 3))
        case task:
            corrects, corrupts = _CHANCES[task]
            if given == truth:
                return text("0" if draw < corrupts * (2 if is_hard else 1) else truth)
            return text(truth if draw < corrects / (2 if is_hard else 1) else "0")


def record(state_dir: Path) -> Path:
    """Run the protocol over all items; return the folder of its traces.

    Args:
        state_dir: Where the traces go.
    """
    witness = sw.configure(service_name="arithmetic", state_dir=state_dir)
    try:
        with ScriptedProvider(_model) as provider:
            client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="scripted"))
            for at in range(N_ITEMS):
                _run(client, f"q{at}", str(17 * at + 3))
    finally:
        witness.shutdown()
    assert witness.trace_dir is not None
    return witness.trace_dir


def _run(client: openai.OpenAI, item: str, truth: str) -> None:
    def is_right(answer: str) -> bool:
        return answer == truth

    def ask(task: str, **more: object) -> str:
        asked = {"task": task, "item": item, "truth": truth, **more}
        reply = client.chat.completions.create(
            model="scripted",
            messages=[
                {"role": "system", "content": f"Do this: {task}."},
                {"role": "user", "content": json.dumps(asked)},
            ],
        )
        return reply.choices[0].message.content or ""

    @sw.step(kind="verify", verdict={"ok": True, "wrong": False}.get, before="answer",
             success=is_right, success_rule="equal@1")  # fmt: skip
    def verify(answer: str) -> str:
        return ask("verify", answer=answer)

    @sw.step(kind="revise", before="answer", success=is_right, success_rule="equal@1")
    def improve(answer: str) -> str:
        if item in _LOST:
            raise TimeoutError("the reviser did not answer")
        return ask("improve", answer=answer)

    @sw.step(kind="revise", before="answer", success=is_right, success_rule="equal@1")
    def tidy(answer: str) -> str:
        return ask("tidy", answer=answer)

    @sw.step(kind="select", success=is_right, success_rule="equal@1")
    def judge(answers: list[str], *, seed: int | None) -> str:
        shown = sw.shuffled(answers, item_id=item, seed=seed)
        return shown.choose(int(ask("judge", candidates=list(shown.candidates))))

    level = "hard" if int(item[1:]) % 3 == 0 else "easy"
    try:
        with sw.run("arithmetic", item_id=item, tags=(f"difficulty={level}",)) as run:
            first = ask("solve")
            verify(first)
            better = improve(first)
            last = tidy(better)
            run.submit(last)
    except TimeoutError:
        return
    for seed in (None, 11):
        with sw.run("vote", item_id=item, tags=(f"difficulty={level}",)):
            judge([first, better, ask("solve", sample=2)], seed=seed)
