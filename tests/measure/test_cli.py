from __future__ import annotations

import csv
import io
import json

import pytest
from tests.measure.tables import flows, write_csv
from tests.measure.test_evidence import PLAN, as_rows
from tests.measure.test_provenance import records
from tests.measure.test_stability import bench
from typer.testing import CliRunner

from spanwitness.cli.app import app
from spanwitness.errors import SettingsError
from spanwitness.measure import TableError

STEP = flows(corrected=3, corrupted=2, right=90, wrong=5, depth="easy") + flows(
    corrected=4, corrupted=20, right=20, wrong=56, depth="hard"
)


def run(*arguments) -> str:
    result = CliRunner().invoke(app, ["measure", *map(str, arguments)])
    if result.exception is not None:
        raise result.exception
    return result.stdout


@pytest.fixture
def tables(tmp_path):
    lines = "".join(json.dumps(row) + "\n" for row in records())
    (tmp_path / "provenance.jsonl").write_text(lines, encoding="utf-8")
    return {
        "paired": write_csv(tmp_path / "paired.csv", STEP),
        "evidence": write_csv(tmp_path / "evidence.csv", as_rows()),
        "stability": write_csv(tmp_path / "stability.csv", bench()),
        "provenance": tmp_path / "provenance.jsonl",
        "plan": write_csv(tmp_path / "plan.csv", PLAN),
    }


@pytest.mark.parametrize("kind", ["paired", "evidence", "stability", "provenance"])
def test_each_kind_prints_its_fixed_form(tables, kind):
    form = json.loads(run(kind, tables[kind], "--format", "json"))
    assert form["schema"] == f"spanwitness.{kind}/1"


def test_paired_takes_a_group_and_a_cost(tables):
    form = json.loads(
        run("paired", tables["paired"], "--group", "depth", "--cost", "0.01", "--format", "json")
    )
    assert form["cost"] == 0.01
    assert {name: audit["decision"] for name, audit in form["groups"].items()} == {
        "easy": "insufficient", "hard": "suppress",
    }  # fmt: skip


def test_evidence_takes_a_plan_and_a_baseline(tables):
    form = json.loads(
        run("evidence", tables["evidence"], "--plan", tables["plan"], "--baseline", "clean",
            "--resamples", 50, "--format", "json")
    )  # fmt: skip
    assert form["accounting"]["planned"] == 720


def test_csv_holds_one_table_of_the_result(tables):
    rows = list(csv.DictReader(io.StringIO(run("evidence", tables["evidence"], "--format", "csv",
                                               "--part", "missing"))))  # fmt: skip
    assert len(rows) == 7
    rows = list(csv.DictReader(io.StringIO(run("paired", tables["paired"], "--format", "csv"))))
    assert rows[0]["n_corrupted"] == "22"
    with pytest.raises(SettingsError, match="no part 'nothing'"):
        run("paired", tables["paired"], "--format", "csv", "--part", "nothing")


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("paired", ["--group", "depth"], ["hard", "suppress", "20/40", "0.333"]),
        ("evidence", [], ["no plan given", "713 retained", "provider_error", "parser failure"]),
        ("stability", [], ["0.100", "difference +0.250"]),
        ("provenance", [], ["in_window", "absent", "0 records"]),
    ],
)
def test_text_tells_figures_with_their_interval(tables, kind, options, words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    text = run(kind, tables[kind], *options)
    for word in words:
        assert word in text


def test_a_protocol_that_revises_right_answers_is_not_one_that_never_does(tables):
    with pytest.raises(TableError, match="does not forbid"):
        run("paired", tables["paired"], "--never-revises-right")


def test_not_at_risk_is_told_in_words(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    path = write_csv(tmp_path / "t.csv", flows(corrected=2, corrupted=0, right=0, wrong=5))
    assert "not at risk" in run("paired", path)


def test_a_bad_table_is_one_line_and_exit_status_2(tmp_path, capsys, monkeypatch):
    from spanwitness.cli.app import main

    path = tmp_path / "bad.csv"
    path.write_text("item_id,before,after\n1,1,\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["spanwitness", "measure", "paired", str(path)])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "row 1: 'after' is missing" in error


def test_a_mixture_is_given_as_weights_of_groups(tables, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    options = ("paired", tables["paired"], "--group", "depth", "--mixture", "easy=0.2,hard=0.8")
    assert json.loads(run(*options, "--format", "json"))["mixture"]["weights"] == {
        "easy": 0.2, "hard": 0.8,
    }  # fmt: skip
    text = run(*options)
    assert "declared mixture: predicted change -0." in text
    assert "half 2 held out" in text
    with pytest.raises(SettingsError, match="say --group too"):
        run("paired", tables["paired"], "--mixture", "easy=1")
    for bad in ("easy", "easy=much", "=1"):
        with pytest.raises(SettingsError, match="give weights"):
            run("paired", tables["paired"], "--group", "depth", "--mixture", bad)
