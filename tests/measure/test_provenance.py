from __future__ import annotations

import json

import pytest

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
