"""Public data sets beside the checkout, as measures of them."""

from __future__ import annotations

import itertools
import json
import re

import pytest
from tests.measure.tables import NEEDS_SHARED, SHARED

from spanwitness.measure import TableError, measure_paired, measure_provenance
from spanwitness.stats.counts import rate
from spanwitness.stats.paired import bounds_from_totals

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason=NEEDS_SHARED)


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in (SHARED / name).read_text(encoding="utf-8").splitlines()]


def gsm8k(size: str) -> list[dict]:
    """A row a problem: right when finetuned alone, right after the verifier chose."""
    return [
        {
            "item_id": at,
            "before": row[f"{size}_finetuning"]["is_correct"],
            "after": row[f"{size}_verification"]["is_correct"],
            "steps": len(row["ground_truth"].splitlines()) - 1,
        }
        for at, row in enumerate(lines("gsm8k_solutions/example_model_solutions.jsonl"))
    ]


@pytest.mark.parametrize(
    ("size", "corrected", "corrupted", "kept_right", "kept_wrong"),
    [("6b", 142, 30, 114, 360), ("175b", 169, 30, 195, 252)],
)
def test_gsm8k_pipelines_have_exact_counts(size, corrected, corrupted, kept_right, kept_wrong):
    result = measure_paired(gsm8k(size), group="steps")
    form = result.to_dict()["overall"]
    assert (form["n_pairs"], form["n_corrected"], form["n_corrupted"]) == (
        646,
        corrected,
        corrupted,
    )
    assert (form["n_kept_right"], form["n_kept_wrong"]) == (kept_right, kept_wrong)
    assert form["change"] == pytest.approx((corrected - corrupted) / 646)
    assert form["decision"] == "apply"
    assert sum(audit.counts.n_pairs for audit in result.groups.values()) == 646
    assert next(iter(result.groups)) == "2"
    assert result.groups["11"].decision.word == "insufficient"


def test_the_small_and_the_large_model_are_not_pooled():
    rows = [row | {"operation": size, "item_id": f"{size}-{row['item_id']}"}
            for size in ("6b", "175b") for row in gsm8k(size)]  # fmt: skip
    with pytest.raises(TableError, match="never pooled") as refused:
        measure_paired(rows)
    assert refused.value.row == 647


def trials(log: str) -> list[dict[str, bool]]:
    paths = (SHARED / "reflexion_alfworld" / log).glob("env_results_trial_*.json")
    ordered = sorted(paths, key=lambda path: int(path.stem.rpartition("_")[2]))
    return [
        {env["name"]: env["is_success"] for env in json.loads(path.read_text(encoding="utf-8"))}
        for path in ordered
    ]


@pytest.mark.parametrize(
    ("log", "corrected"),
    [("base_run_logs", [5, 2, 0, 1, 1, 0]),
     ("reflexion_run_logs", [11, 5, 2, 2, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1])],
)  # fmt: skip
def test_alfworld_never_retries_a_success_so_corruption_is_not_at_risk(log, corrected):
    found = trials(log)
    seen = []
    for before, after in itertools.pairwise(found):
        rows = [{"item_id": name, "before": before[name], "after": after[name]} for name in before]
        audit = measure_paired(rows, corruption_possible=False).overall
        assert audit.counts.n_corrupted == 0
        assert audit.corruption.raw is None
        assert audit.corruption.reason == "not_at_risk"
        totals = bounds_from_totals(
            n_pairs=60,
            n_right_before=sum(before.values()),
            n_right_after=sum(after.values()),
            corruption_possible=False,
        )
        assert totals.is_exact
        assert totals.n_corrected_low == audit.counts.n_corrected
        seen.append(audit.counts.n_corrected)
    assert seen == corrected


def test_bigbench_right_answers_rest_on_a_wrong_step():
    chains = [row for path in sorted((SHARED / "bigbench_mistake").glob("*.jsonl"))
              for row in lines(f"bigbench_mistake/{path.name}")]  # fmt: skip
    assert len(chains) == 1084
    right = [row for row in chains if row["answer"] == row["target"]]
    flawed = rate(sum(row["mistake_index"] is not None for row in right), len(right))
    assert (flawed.k, flawed.n) == (103, 323)
    assert flawed.interval.low < 103 / 323 < flawed.interval.high
    assert flawed.interval.low > 0.25


def hotpot() -> list[dict]:
    """The finished answers of trial 1 of the base agent, with what the agent had read."""
    text = (SHARED / "reflexion_hotpotqa/base/100_questions_5_trials.txt").read_text("utf-8")
    trial = text.partition("BEGIN TRIAL 2")[0]
    rows = []
    for at, block in enumerate(trial.split("\nQuestion: ")[1:]):
        finished = re.search(r"^Action \d+: Finish\[(.*)\]$", block, re.MULTILINE)
        verdict = re.search(r"^Observation \d+: Answer is (CORRECT|INCORRECT)", block, re.MULTILINE)
        if finished is None or verdict is None:
            continue
        # The observation that gives the verdict, and what follows it, is not what the agent read.
        read = re.findall(r"^Observation \d+: (.*)$", block[: verdict.start()], re.MULTILINE)
        rows.append(
            {"item_id": at, "question": block.splitlines()[0], "window": "\n".join(read) or "-",
             "label": finished[1], "quote": "", "outcome": int(verdict[1] == "CORRECT")}
        )  # fmt: skip
    return rows


def test_hotpot_answers_are_looked_for_in_what_the_agent_had_read():
    result = measure_provenance(hotpot())
    form = result.to_dict()
    counts = {row["provenance"]: row["n"] for row in form["classes"]}
    # No record quotes its evidence, so an answer that nothing shown holds is untraceable.
    assert counts == {"in_window": 31, "derivable": 0, "absent": 0, "untraceable": 16}
    contrast = form["contrast"]
    assert (contrast["flagged"]["n_outcome"], contrast["clean"]["n_outcome"]) == (5, 12)
    low, high = contrast["ci_item_bootstrap"]
    assert low < 0 < high  # 47 answers do not tell the two groups apart, and it says so
