from __future__ import annotations

import json

import pytest
from tests.measure.tables import write_csv
from tests.stats.printed import TABLES, assert_printed

from spanwitness.errors import SettingsError
from spanwitness.measure import TableError, measure_provenance, provenance_of, rewindow

WINDOW = "The supply draws 120 mA in run mode and 40 mA asleep, at 3.3 V. Revenue rose to 150."


@pytest.mark.parametrize(
    ("label", "quote", "provenance", "by_quote", "by_label"),
    [
        ("120", "draws 120 mA in run mode", "in_window", "in_window", "in_window"),
        ("120", "Draws 120 mA,\nin run mode", "in_window", "in_window", "in_window"),
        ("80", "run minus sleep is 80 mA", "derivable", "absent", "derivable"),
        ("4800", None, "derivable", "untraceable", "derivable"),
        ("25%", "it rose by 25%", "derivable", "absent", "derivable"),
        ("17", "the limit is 17 mA", "absent", "absent", "absent"),
        ("17", None, "untraceable", "untraceable", "untraceable"),
        ("17", "draws 120 mA in run mode", "untraceable", "untraceable", "untraceable"),
        ("run mode", "in run mode", "in_window", "in_window", "in_window"),
        ("deep sleep", "in deep sleep", "absent", "absent", "absent"),
        ("12", None, "untraceable", "untraceable", "untraceable"),
    ],
)
def test_both_readings_of_a_record(label, quote, provenance, by_quote, by_label):
    found = provenance_of(window=WINDOW, label=label, quote=quote)
    assert (found.provenance, found.by_quote, found.by_label) == (provenance, by_quote, by_label)


def test_a_label_in_the_window_by_chance_shows_as_differing_readings():
    found = provenance_of(window=WINDOW, label="40", quote="the pin count is 40")
    assert found.provenance == "in_window"
    assert found.by_quote == "absent"
    assert not found.readings_agree


def records() -> list[dict]:
    good = {"window": WINDOW, "label": "120", "quote": "draws 120 mA"}
    bad = {"window": WINDOW, "label": "17", "quote": "the limit is 17 mA"}
    return [
        (bad if at < 20 else good) | {"item_id": at, "outcome": int(at < 10 or at % 10 == 0)}
        for at in range(100)
    ]


def test_a_benchmark_is_counted_by_class_and_contrasted(tmp_path):
    path = tmp_path / "bench.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in records()), encoding="utf-8")
    form = measure_provenance(path).to_dict()
    assert form["schema"] == "spanwitness.provenance/1"
    counts = {row["provenance"]: row["n"] for row in form["classes"]}
    assert counts == {"in_window": 80, "derivable": 0, "absent": 20, "untraceable": 0}
    assert form["contrast"]["flagged"]["n_outcome"] == 11
    assert form["contrast"]["clean"]["n_outcome"] == 8
    assert form["contrast"]["difference"] == pytest.approx(11 / 20 - 8 / 80)
    for name in ("ci_newcombe", "ci_item_bootstrap"):
        low, high = form["contrast"][name]
        assert 0 < low < form["contrast"]["difference"] < high


def test_without_an_outcome_there_is_no_contrast():
    rows = [{"window": WINDOW, "label": "120", "quote": ""}]
    assert measure_provenance(rows).to_dict()["contrast"] is None


@pytest.mark.parametrize("column", ["window", "label"])
def test_a_record_without_window_or_label_is_refused(column):
    rows = records()
    rows[7][column] = ""
    with pytest.raises(TableError, match=f"{column}' is missing") as refused:
        measure_provenance(rows)
    assert refused.value.row == 8


def test_a_window_is_cut_around_the_quote():
    document = "x " * 500 + "the limit is\n17 mA" + " y" * 500
    window = rewindow(document, "The limit is 17 mA", n_chars=100)
    assert len(window) == 100
    assert provenance_of(window=window, label="17", quote="the limit is 17 mA").provenance == (
        "in_window"
    )
    assert rewindow(document, "the limit is 18 mA", n_chars=100) is None


@pytest.mark.parametrize("at", [0, 1])
def test_a_window_at_an_end_of_the_document_is_as_long(at):
    document = ["quoted text" + " y" * 100, "y " * 100 + "quoted text"][at]
    window = rewindow(document, "quoted text", n_chars=50)
    assert len(window) == 50
    assert "quoted text" in window


def test_a_quote_longer_than_the_window_is_returned_whole():
    assert rewindow("ab " + "c" * 30 + " de", "c" * 30, n_chars=10) == "c" * 30


def study(n_unstable: int) -> list[dict]:
    """120 flagged records, of which so many wobble."""
    return [
        {"item_id": at, "window": "Nothing is told here.", "label": "17", "quote": "it is 17 mA",
         "outcome": int(at < n_unstable)}
        for at in range(120)
    ]  # fmt: skip


def test_the_published_prediction_fails_as_published():
    printed = TABLES["instability_and_provenance"]["registered_prediction"]
    result = measure_provenance(study(32), after=study(25), threshold=printed["threshold"])
    found = result.to_dict()["prediction"]
    assert_printed(found["before"], printed["before"])
    assert_printed(found["after"], printed["after"])
    assert (found["n_outcome_before"], found["n_outcome_after"], found["n_items"]) == (32, 25, 120)
    assert "not supported: " + " and ".join(found["reasons"]) == printed["verdict"]
    assert not found["is_supported"]


def test_a_prediction_that_holds_is_supported():
    found = measure_provenance(study(32), after=study(12), threshold=0.161).prediction
    assert found.check.is_supported
    assert found.check.interval.high < 0


def test_the_command_checks_a_registered_prediction(tmp_path, capsys):
    from spanwitness.cli.app import app

    before = write_csv(tmp_path / "before.csv", study(32))
    after = write_csv(tmp_path / "after.csv", study(25))
    with pytest.raises(SystemExit):
        app(["measure", "provenance", str(before), "--after", str(after), "--threshold", "0.161"])
    told = " ".join(capsys.readouterr().out.split())
    assert "at or below 0.161: not supported: after is above the threshold" in told
    assert "before 0.267 32/120, after 0.208 25/120" in told


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (study(32), study(25)[1:], "flagged item '0' is not among the items after"),
        (study(32), [*study(25), study(25)[0]], "item '0' comes twice"),
        ([{**row, "window": "it is 17 mA"} for row in study(32)], study(25), "nothing to predict"),
        ([{k: v for k, v in row.items() if k != "outcome"} for row in study(32)], study(25),
         "no rate to fall from"),
    ],
)  # fmt: skip
def test_a_prediction_that_cannot_be_checked_is_refused(before, after, words):
    with pytest.raises(TableError, match=words):
        measure_provenance(before, after=after, threshold=0.1)


def test_a_threshold_without_a_table_after_is_refused():
    with pytest.raises(SettingsError, match="give both"):
        measure_provenance(study(32), threshold=0.1)


def test_the_two_readings_stand_side_by_side():
    form = measure_provenance(records()).to_dict()
    cells = {(row["by_quote"], row["by_label"]): row["n"] for row in form["readings"]}
    assert sum(cells.values()) == form["n_records"]
    assert (
        sum(n for (quote, label), n in cells.items() if quote != label)
        == (form["n_readings_differ"])
    )
    for row in form["classes"]:
        name = row["provenance"]
        assert sum(n for (quote, _), n in cells.items() if quote == name) == row["n_by_quote"]
        assert sum(n for (_, label), n in cells.items() if label == name) == row["n_by_label"]
