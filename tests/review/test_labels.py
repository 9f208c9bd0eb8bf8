"""What people said in the queue, as labels for `measure`."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from tests.measure.traced import run, write
from tests.review.judged_runs import violation
from typer.testing import CliRunner

from spanwitness.cli.app import app
from spanwitness.findings.judged import Judged
from spanwitness.normalize import build_runs
from spanwitness.review.store.values import Sampling

if TYPE_CHECKING:
    from pathlib import Path

    from spanwitness.review import Queue


def invoke(*arguments: object) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.stdout


def verified(*accepted: bool) -> list:
    """One run a word that a verify step said of its answer."""
    step = {"step.kind": "verify", "step.name": "check", "verdict.declared": True}
    return [
        run(step | {"verdict": bool(word)}, item=f"i{at}", run_id=f"r{at}")
        for at, word in enumerate(accepted)
    ]


def test_verdicts_and_audits_score_the_verify_steps_of_the_same_runs(
    queue: Queue, queue_url: str, tmp_path: Path
):
    traces = verified(True, True, False, False, True)
    queue.set_sampling(Sampling(flagged=1, unflagged=1, second=1))
    for at, spans in enumerate(traces):
        (one,) = build_runs(spans)
        # 0, 2: flagged for causes of their own; 3: flagged, and the rule is wrong; 1, 4: not.
        found = (violation(rule=f"rule_{at}"),) if at in (0, 2, 3) else ()
        queue.add(Judged(run=one, verdicts=found))
    by_rule = {item.rule: item.id for item in queue.items().rows}
    queue.verdict(by_rule["rule_0"], verdict="confirmed", by="ann")
    queue.verdict(by_rule["rule_2"], verdict="confirmed", by="ann")
    queue.verdict(by_rule["rule_3"], verdict="false_positive", by="ann")
    words = {"r1": "sound", "r2": "sound", "r4": "cannot_tell"}
    while (drawn := queue.audit_next("ann")) is not None:
        queue.audit_verdict(drawn.id, word=words.get(drawn.run_id, "cannot_tell"), by="ann")
    while (drawn := queue.audit_next("bob")) is not None:
        queue.audit_verdict(drawn.id, word="unsound", by="bob")

    table = invoke("review", "export", "--what", "labels", "--format", "csv", "--queue", queue_url)
    rows = {row["run_id"]: row for row in csv.DictReader(io.StringIO(table))}
    told = {name: (row["success"], row["told_by"]) for name, row in rows.items()}
    # Ann could tell nothing of 3 and 4, so Bob's word is the first that decides.
    assert told == {
        "r0": ("0", "audit"), "r1": ("1", "audit"), "r2": ("1", "audit"),
        "r3": ("0", "audit"), "r4": ("0", "audit"),
    }  # fmt: skip
    assert {row["checkpoint"] for row in rows.values()} == {"review"}
    assert rows["r1"]["item_id"] == "i1"

    labels = tmp_path / "labels.csv"
    labels.write_text(table)
    path = write(tmp_path / "t.jsonl", traces)
    options = ("--outcomes", labels, "--truth", "review", "--format", "json")
    form = json.loads(invoke("measure", "verdicts", path, *options))
    overall = form["overall"]
    counts = {name: overall[name] for name in overall if name.startswith(("n_right", "n_wrong"))}
    assert counts == {
        "n_right_accepted": 1, "n_right_rejected": 1, "n_wrong_accepted": 2, "n_wrong_rejected": 1,
    }  # fmt: skip


def test_a_confirmed_finding_is_a_label_and_a_false_positive_is_none(queue: Queue):
    for at, spans in enumerate(verified(True, True)):
        (one,) = build_runs(spans)
        queue.add(Judged(run=one, verdicts=(violation(rule=f"rule_{at}"),)))
    first, second = (item.id for item in queue.items().rows)
    queue.verdict(first, verdict="confirmed", by="ann")
    queue.verdict(second, verdict="false_positive", by="ann")
    (label,) = queue.export("labels")
    assert (label["success"], label["told_by"], label["fraction"]) == (0, "verdict", None)
    queue.undo(first, "ann")
    assert list(queue.export("labels")) == []
