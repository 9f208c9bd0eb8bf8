"""What `measure` takes: tables of each kind, traces in each form; and what it refuses of them."""

from __future__ import annotations

import gzip
import json
import math
import random

import pytest
from tests.measure.tables import flows
from tests.measure.test_cli import run as measure
from tests.measure.test_provenance import records
from tests.measure.test_stability import bench
from tests.measure.traced import pair, run, write
from tests.stats.printed import TABLES, assert_printed
from typer.testing import CliRunner

from spanwitness.cli.app import app
from spanwitness.cli.measure_input import is_traces
from spanwitness.measure import TableError, audit_each, collect, measure_paired, pairs_of

ROWS = flows(corrected=3, corrupted=2, right=5, wrong=4)


def parquet(path, rows, **types):
    import pyarrow as pa
    from pyarrow.parquet import write_table

    columns = {name: [row[name] for row in rows] for name in rows[0]}
    arrays = {name: pa.array(values, type=types.get(name)) for name, values in columns.items()}
    write_table(pa.table(arrays), path)
    return path


@pytest.mark.parametrize("kind", ["bool", "int8", "double", "string", "dictionary"])
def test_parquet_bits_of_any_type_are_the_bits_of_the_csv(tmp_path, kind):
    import pyarrow as pa

    made = {
        "bool": pa.bool_(), "int8": pa.int8(), "double": pa.float64(), "string": pa.string(),
        "dictionary": pa.dictionary(pa.int32(), pa.string()),
    }[kind]  # fmt: skip
    cast = {"bool": bool, "int8": int, "double": float}.get(kind, str)
    rows = [row | {"before": cast(row["before"]), "after": cast(row["after"])} for row in ROWS]
    path = parquet(tmp_path / "t.parquet", rows, before=made, after=made)
    form = json.loads(measure("paired", path, "--format", "json"))
    assert form["overall"] == measure_paired(ROWS).to_dict()["overall"]


def test_parquet_of_the_other_measures(tmp_path):
    runs = parquet(tmp_path / "runs.parquet", bench())
    assert json.loads(measure("stability", runs, "--format", "json"))["configurations"]
    docs = parquet(tmp_path / "docs.parquet", records())
    assert json.loads(measure("provenance", docs, "--format", "json"))["classes"]


@pytest.mark.parametrize(
    ("bad", "words"), [(None, "'after' is missing"), (math.nan, "'after' is nan")]
)
def test_a_bad_cell_of_parquet_is_named_by_its_row(tmp_path, bad, words):
    import pyarrow as pa

    rows = [row | {"after": float(row["after"])} for row in ROWS]
    rows[6]["after"] = bad
    path = parquet(tmp_path / "t.parquet", rows, after=pa.float64())
    with pytest.raises(TableError, match=f"row 7: {words}"):
        measure("paired", path)


def test_a_file_that_is_no_parquet_is_refused(tmp_path):
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(TableError, match="no Parquet"):
        measure("paired", tmp_path / "t.parquet")


TRACES = [run(pair(0, 1), item="a"), run(pair(1, 1), item="b")]


def test_each_form_of_traces_is_known_from_a_table(tmp_path):
    plain = write(tmp_path / "t.jsonl", TRACES)
    packed = tmp_path / "t.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    whole = tmp_path / "t.json"
    whole.write_bytes(plain.read_bytes().splitlines()[0])
    table = tmp_path / "rows.jsonl"
    table.write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    assert [is_traces(path) for path in (plain, packed, whole, tmp_path)] == [True] * 4
    assert not is_traces(table)
    assert not is_traces(tmp_path / "absent.jsonl")
    for path in (plain, packed, whole):
        assert json.loads(measure("paired", path, "--format", "json"))["overall"]["n_pairs"] == 2


def test_standard_input_is_traces(tmp_path):
    data = write(tmp_path / "t.jsonl", TRACES).read_bytes()
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-m", "spanwitness", "measure", "paired", "-", "--format", "json"],
        input=data, capture_output=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["overall"]["n_pairs"] == 2


def test_an_input_that_cannot_be_read_is_told_and_the_rest_is_measured(tmp_path):
    write(tmp_path / "good.jsonl", TRACES)
    (tmp_path / "bad.jsonl").write_text('{"resourceSpans": [', encoding="utf-8")
    result = CliRunner().invoke(app, ["measure", "paired", str(tmp_path), "--format", "json"])
    assert result.exit_code == 2
    assert "bad.jsonl" in result.stderr
    assert json.loads(result.stdout)["overall"]["n_pairs"] == 2


def test_the_order_of_spans_and_traces_does_not_change_an_audit():
    rng = random.Random(4)
    traces = [run(pair(rng.random() < 0.5, rng.random() < 0.6), item=f"i{at % 7}")
              for at in range(35)]  # fmt: skip
    once = audit_each(pairs_of(collect(traces)), measure_paired).to_dict()
    for _ in range(3):
        shuffled = [rng.sample(spans, len(spans)) for spans in rng.sample(traces, len(traces))]
        assert audit_each(pairs_of(collect(shuffled)), measure_paired).to_dict() == once


def test_hostile_text_in_traces_breaks_no_output(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    name = "improve\x1b[31m [bold]\n=cmd()"
    failed = run(pair(0, 0, step_name=name, failed=True), run_id="\x1b[2Jrun")
    path = write(tmp_path / "t.jsonl", [run(pair(0, 1, step_name=name), item="a"), failed])
    text = measure("paired", path)
    assert "\x1b" not in text
    assert "[bold]" in text
    assert json.loads(measure("paired", path, "--format", "json"))["identity"]["step"] == name
    with pytest.raises(TableError, match="nothing says what 'depth' is") as refused:
        measure("paired", path, "--group", "depth")
    assert str(refused.value).isprintable()


PUBLISHED = TABLES["correction_corruption"]


@pytest.mark.parametrize(
    "row",
    [*PUBLISHED["helper_transcript_raw"], PUBLISHED["gsm8k_judge_k2_jeffreys"],
     PUBLISHED["gsm8k_sentence_group_6_13"]],
    ids=["helper_transcript_raw 1", "helper_transcript_raw 2", "gsm8k_judge_k2_jeffreys",
         "gsm8k_sentence_group_6_13"],
)  # fmt: skip
def test_published_counts_give_their_figures_in_the_fixed_form(row):
    rows = flows(corrected=row["c01"], corrupted=row["c10"], right=row["n1"] - row["c10"],
                 wrong=row["n0"] - row["c01"])  # fmt: skip
    form = measure_paired(rows).to_dict()["overall"]
    reading = "raw" if "helper" in row else "jeffreys"
    assert form["n_pairs"] == row["N"]
    assert_printed(form["correction_rate"][reading], row["c"])
    assert_printed(form["corruption_rate"][reading], row["gamma"])
    if "p1" in row:
        assert_printed(form["p_before"], row["p0"])
        assert_printed(form["p_after"], row["p1"])
    if "break_even_c" in row:
        assert_printed(form["break_even_correction_rate"], row["break_even_c"])
        assert form["break_even"]["attainable"] is row["attainable"]
        assert form["decision"] == "suppress"
