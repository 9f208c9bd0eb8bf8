from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
from tests.measure.tables import flows, stage, write_csv

from spanwitness.errors import MissingExtraError
from spanwitness.measure import (
    TableError,
    measure_evidence,
    measure_paired,
    measure_stability,
    read_table,
)

GOOD = flows(corrected=2, corrupted=1, right=2, wrong=2)


def changed(at: int, **cells) -> list[dict]:
    rows = [dict(row) for row in GOOD]
    rows[at] |= cells
    return rows


@pytest.mark.parametrize(
    ("rows", "row", "words"),
    [
        (changed(3, after=""), 4, "'after' is missing"),
        (changed(2, before=None), 3, "'before' is missing"),
        (changed(5, after=math.nan), 6, "is nan"),
        (changed(5, after="nan"), 6, "must be 0 or 1"),
        (changed(1, after=2), 2, "must be 0 or 1"),
        (changed(1, after=0.5), 2, "must be 0 or 1"),
        (changed(4, item_id="i-0"), 5, "was in row 1 already"),
        (changed(4, item_id=""), 5, "'item_id' is missing"),
        (changed(1, after=[1]), 2, "holds list"),
    ],
)
def test_a_bad_row_of_a_paired_table_is_named(rows, row, words):
    with pytest.raises(TableError, match=words) as refused:
        measure_paired(rows)
    assert refused.value.row == row
    assert f"row {row}" in str(refused.value)


@pytest.mark.parametrize("column", ["step", "operation", "inputs", "rule", "success_rule", "stack"])
def test_different_operations_and_rules_are_never_pooled(column):
    rows = [row | {column: "a"} for row in GOOD]
    measure_paired(rows)
    rows[3] = rows[3] | {column: "b"}
    with pytest.raises(TableError, match="never pooled") as refused:
        measure_paired(rows, group=column)
    assert refused.value.row == 4
    assert measure_paired(rows, pool=[column]).overall.counts.n_pairs == len(GOOD)


def test_a_rule_that_is_empty_in_one_row_is_another_rule():
    rows = [row | {"rule": "exact@1"} for row in GOOD]
    rows[0] = rows[0] | {"rule": ""}
    with pytest.raises(TableError, match="never pooled") as refused:
        measure_paired(rows)
    assert refused.value.row == 2


def test_the_same_item_and_run_twice_is_refused():
    rows = [row | {"run": run} for run in (1, 2) for row in GOOD]
    measure_paired(rows)
    rows[-1] = rows[-1] | {"run": 1}
    with pytest.raises(TableError, match=r"in run '1' was in row 7 already") as refused:
        measure_paired(rows)
    assert refused.value.row == 14


def test_items_with_unequal_runs_are_refused():
    rows = [row | {"run": run} for run in (1, 2) for row in GOOD]
    with pytest.raises(TableError, match="unequal pairing") as refused:
        measure_paired(rows[:-1])
    assert refused.value.row is not None
    assert "run '2'" in str(refused.value)


def test_a_missing_group_is_refused():
    rows = [row | {"depth": 3} for row in GOOD]
    rows[2]["depth"] = None
    with pytest.raises(TableError, match="'depth' is missing") as refused:
        measure_paired(rows, group="depth")
    assert refused.value.row == 3


def test_an_absent_column_and_an_empty_table_are_refused():
    with pytest.raises(TableError, match="no column 'after'"):
        measure_paired([{"item_id": 1, "before": 1}])
    with pytest.raises(TableError, match="no column"):
        measure_paired([])


def test_bits_are_read_in_their_usual_spellings(tmp_path):
    rows = [
        {"item_id": at, "before": before, "after": after}
        for at, (before, after) in enumerate(
            [("0", "1"), ("False", "true"), (0.0, 1.0), (False, True), ("0.0", "1.0")]
        )
    ]
    assert measure_paired(rows).overall.counts.n_corrected == 5
    path = write_csv(tmp_path / "t.csv", rows)
    assert measure_paired(path).overall.counts.n_corrected == 5


EVIDENCE = [stage(case, condition, name) for case in range(3) for condition in ("clean", "stale")
            for name in ("decide", "audit")]  # fmt: skip


@pytest.mark.parametrize(
    ("at", "cells", "words"),
    [
        (3, {"parser_valid": ""}, "'parser_valid' is missing"),
        (3, {"parser_valid": math.nan}, "is nan"),
        (3, {"validity_judgment": ""}, "'validity_judgment' is missing"),
        (3, {"escalation_recovery": "maybe"}, "must be 0 or 1"),
        (3, {"stage": ""}, "'stage' is missing"),
        (5, {"case_id": "c1", "condition": "clean", "stage": "decide"}, "was in row 5 already"),
    ],
)
def test_a_bad_row_of_an_evidence_table_is_named(at, cells, words):
    rows = [dict(row) for row in EVIDENCE]
    rows[at] |= cells
    with pytest.raises(TableError, match=words) as refused:
        measure_evidence(rows)
    assert refused.value.row == at + 1


def test_a_row_outside_of_the_plan_is_refused():
    plan = [{key: row[key] for key in ("case_id", "condition", "stage")} for row in EVIDENCE[:-1]]
    with pytest.raises(TableError, match="not in the plan") as refused:
        measure_evidence(EVIDENCE, plan=plan)
    assert refused.value.row == len(EVIDENCE)


RUNS = [{"configuration": "m", "item_id": item, "run": run, "answer": "a", "flagged": 0,
         "label": "a"} for item in "xyz" for run in (1, 2, 3)]  # fmt: skip


@pytest.mark.parametrize(
    ("at", "cells", "words"),
    [
        (4, {"run": 1}, "was in row 4 already"),
        (4, {"run": ""}, "'run' is missing"),
        (4, {"flagged": ""}, "'flagged' is missing"),
        (4, {"flagged": 1}, "differs"),
        (4, {"label": "b"}, "'label'"),
        (4, {"answer": math.nan}, "is nan"),
    ],
)
def test_a_bad_row_of_a_stability_table_is_named(at, cells, words):
    rows = [dict(row) for row in RUNS]
    rows[at] |= cells
    with pytest.raises(TableError, match=words) as refused:
        measure_stability(rows)
    assert refused.value.row == at + 1


def test_unequal_runs_are_refused_or_rarefied():
    with pytest.raises(TableError, match="has 2 runs where others have up to 3") as refused:
        measure_stability(RUNS[:-1])
    assert refused.value.row == 8
    found = measure_stability(RUNS[:-1], unequal="rarefy").configurations[0].stability
    assert (found.n_runs, found.n_items, found.n_runs_dropped) == (2, 3, 2)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.csv", "item_id,before,after\n1,0,1\n2,0\n", "row 2: 2 cells under 3 columns"),
        ("t.csv", "item_id,before,before\n1,0,1\n", "'before' comes twice"),
        ("t.csv", "", "empty"),
        ("t.csv", 'item_id,before,after\n1,"0,1\n', "no CSV"),
        ("t.jsonl", '{"item_id": 1}\nnot json\n', "row 2: no JSON"),
        ("t.jsonl", "[1]\n", "row 1: a row is a JSON object"),
        ("t.jsonl", '{"resourceSpans": []}\n', "a trace"),
        ("t.xlsx", "", "ends in one of"),
    ],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=words):
        read_table(path)


def test_a_file_that_is_absent_or_no_utf8_is_refused(tmp_path):
    with pytest.raises(TableError, match="No such file"):
        read_table(tmp_path / "absent.csv")
    (tmp_path / "latin.csv").write_bytes(b"item_id\n\xff\n")
    with pytest.raises(TableError, match="UTF-8"):
        read_table(tmp_path / "latin.csv")


def test_csv_jsonl_and_parquet_give_one_result(tmp_path):
    as_csv = measure_paired(write_csv(tmp_path / "t.csv", GOOD)).to_dict()
    lines = "".join(json.dumps(row) + "\n" for row in GOOD)
    (tmp_path / "t.jsonl").write_text(lines, encoding="utf-8")
    assert measure_paired(tmp_path / "t.jsonl").to_dict() == as_csv
    arrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    from pyarrow.parquet import write_table

    write_table(arrow.Table.from_pylist(GOOD), tmp_path / "t.parquet")
    assert measure_paired(tmp_path / "t.parquet").to_dict() == as_csv


@pytest.mark.parametrize("module", ["scipy.special", "scipy.integrate"])
def test_without_the_extra_the_error_says_what_to_install(monkeypatch, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        MissingExtraError, match=r"'scipy' is not installed.*spanwitness\[measure\]"
    ):
        measure_paired(GOOD)


def test_importing_measures_loads_no_statistics_library():
    code = (
        "import sys, spanwitness.measure, spanwitness.cli.app; "
        "print(sorted({'numpy', 'scipy', 'pandas', 'statsmodels'} & sys.modules.keys()))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_a_folder_is_no_table(tmp_path):
    with pytest.raises(TableError, match="ends in one of"):
        read_table(tmp_path)
