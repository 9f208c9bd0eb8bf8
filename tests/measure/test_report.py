from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from tests.measure.tables import flows
from tests.measure.test_provenance import study
from tests.measure.test_selection import published

from spanwitness.cli.app import app
from spanwitness.errors import SettingsError
from spanwitness.measure import (
    MissingStep,
    StepAccounting,
    audit_each,
    measure_comparison,
    measure_composition,
    measure_evidence,
    measure_paired,
    measure_provenance,
    measure_selection,
    measure_stability,
    measure_totals,
    measure_verdicts,
)
from spanwitness.measure.report import render
from spanwitness.measure.table import as_table

HOSTILE = '<script>alert("x")</script>'


def _paired() -> dict[str, object]:
    bits = [(0, 1, HOSTILE)] * 12 + [(1, 0, HOSTILE)] * 3 + [(1, 1, "easy")] * 20
    rows = [
        {"item_id": i, "before": before, "after": after, "kind": kind}
        for i, (before, after, kind) in enumerate(bits)
    ]
    return measure_paired(rows, group="kind").to_dict()


def _evidence() -> dict[str, object]:
    rows = [
        {
            "case_id": f"case-{case}", "condition": condition, "stage": stage, "parser_valid": 1,
            "validity_judgment": int(condition == "clean"),
            "evidence_adequate": int(condition == "clean"),
            "audit_detected_degradation": 0 if stage == "audit" else None,
            "audit_false_assurance": 0 if stage == "audit" else None,
            "escalation_recovery": None,
            "status": "timeout" if case == 3 and stage == "audit" else "retained",
        }
        for case in range(8)
        for condition in ("clean", HOSTILE)
        for stage in ("decision", "audit")
    ]  # fmt: skip
    return measure_evidence(rows).to_dict()


def _stability() -> dict[str, object]:
    rows = [
        {"configuration": HOSTILE, "item_id": item, "run": run, "answer": item % 3 * run % 2,
         "label": 0, "flagged": item % 2}
        for item in range(9)
        for run in range(4)
    ]  # fmt: skip
    return measure_stability(rows).to_dict()


def _provenance() -> dict[str, object]:
    rows = [
        {"item_id": HOSTILE + str(i), "window": "The supply is 3.6 V." if i % 2 else "Nothing.",
         "label": "3.6", "quote": "supply is 3.6 V", "outcome": i % 3 == 0}
        for i in range(12)
    ]  # fmt: skip
    return measure_provenance([{**row, "outcome": int(row["outcome"])} for row in rows]).to_dict()


def _verdicts() -> dict[str, object]:
    rows = [
        {"item_id": i, "right": i % 2, "accepted": int(i % 3 > 0),
         "kind": HOSTILE if i % 5 else "b"}
        for i in range(40)
    ]  # fmt: skip
    return measure_verdicts(rows, group="kind").to_dict()


def _comparison() -> dict[str, object]:
    rows = [
        {"item_id": i, "configuration": name, "success": int(i % of > 0)}
        for name, of, n in ((HOSTILE, 2, 40), ("large", 5, 37))
        for i in range(n)
    ]
    return measure_comparison(rows).to_dict()


def _selection() -> dict[str, object]:
    return measure_selection(published(), n_resamples=50).to_dict()


def _composition() -> dict[str, object]:
    rows = [
        {"item_id": i, "e0": i % 2, "e1": int(i % 3 > 0), "e2": int(i % 5 > 0),
         "kind": HOSTILE if i % 4 else "b"}
        for i in range(60)
    ]  # fmt: skip
    return measure_composition(rows, group="kind").to_dict()


def _totals() -> dict[str, object]:
    return measure_totals(n_pairs=200, n_right_before=91, n_right_after=95).to_dict()


def _audits() -> dict[str, object]:
    rows = flows(corrected=30, corrupted=3, right=40, wrong=20, step="improve") + flows(
        corrected=1, corrupted=30, right=60, wrong=9, step=HOSTILE
    )
    found = audit_each(as_table(rows), measure_paired, each=True)
    missing = MissingStep(
        run_id="r9", item_id="q9", step="improve", span_id=None, reason="step_failed:TimeoutError"
    )
    accounting = StepAccounting(n_rows=93, n_retried=1, missing=(missing,), notes=("told",))
    first, second = found.audits
    return replace(found, audits=(replace(first, accounting=accounting), second)).to_dict()


KINDS = {
    "paired": _paired, "evidence": _evidence, "stability": _stability, "provenance": _provenance,
    "verdicts": _verdicts, "comparison": _comparison, "selection": _selection,
    "composition": _composition, "totals": _totals, "audits": _audits,
}  # fmt: skip


class _Page(HTMLParser):
    """Every element, the addresses it names, and whether the elements are closed in order."""

    VOID = ("meta", "br", "path", "use", "link")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href", "action"):
                self.addresses.append(value or "")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_is_one_whole_file_that_loads_and_runs_nothing(kind):
    text = render(KINDS[kind](), source=HOSTILE)
    page = _Page(text)
    assert page.open == []
    assert "script" not in page.tags
    assert all(address.startswith("#") for address in page.addresses)
    assert "url(http" not in text
    assert page.tags.count("svg") >= 1
    assert len(page.ids) == len(set(page.ids))
    assert {address[1:] for address in page.addresses} <= set(page.ids)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_result_gives_the_same_page(kind):
    document = KINDS[kind]()
    assert render(document) == render(document)


@pytest.mark.parametrize("kind", KINDS)
def test_colours_come_from_the_theme(kind):
    pictures = re.findall(r"<svg.*?</svg>", render(KINDS[kind]()), re.DOTALL)
    used = {c for picture in pictures for c in re.findall(r"#[0-9a-fA-F]{6}\b", picture)}
    assert used == set()
    assert all("var(--soft)" in picture for picture in pictures)


def test_a_paired_page_tells_counts_rates_and_what_was_not_at_risk():
    text = render(_paired())
    assert "0.130" in text  # corruption: 3 of 23
    assert "not at risk" in text  # nothing in `easy` was wrong before
    assert re.search(r">\+0\.257<", text)  # (12 - 3) of 35
    assert "Not drawn: easy" in text


def test_an_evidence_page_names_every_missing_row():
    text = render(_evidence())
    assert text.count("timeout") == 2
    assert "32 rows were attempted, 30 retained; 2 are missing." in text
    assert "No plan was given." in text


def test_a_stability_page_tells_that_wobble_depends_on_the_number_of_runs():
    text = render(_stability())
    assert "number of runs (4 here)" in text
    assert "Flagged against clean" in text


def test_all_steps_stand_in_one_picture_and_what_is_missing_is_named():
    text = render(_audits())
    picture = re.search(r"<svg.*?</svg>", text, re.DOTALL).group()
    assert ">1. improve<" in picture or ">1<" in picture
    assert re.search(r"<h2 class=\"part\"[^>]*>1\. improve</h2>", text)
    assert "93 measured; 1 missing; 1 failed and were tried again" in text
    assert all(word in text for word in ("q9", "step_failed:TimeoutError", "Note: told"))
    # Only what traces tell can be missing: of the audit from a table nothing is said.
    assert len(re.findall(r"<h3[^>]*>What was measured, and what is missing<", text)) == 1


def test_a_page_of_bounds_tells_ranges_and_what_was_not_at_risk():
    text = render(_totals())
    assert "a change of +0.020" in text
    assert "These are bounds, no intervals." in text
    exact = measure_totals(
        n_pairs=200, n_right_before=91, n_right_after=95, corruption_possible=False
    )
    assert "both flows are exact" in render(exact.to_dict())
    assert render(exact.to_dict()).count("not at risk") >= 2


def test_a_page_of_choices_tells_both_orders_headroom_and_strata():
    text = render(_selection())
    for told in ("0.675", "-0.510", "13 of 28", "diversity, no headroom"):
        assert told in text, told
    alone = measure_selection(published()[:800], n_resamples=20).to_dict()
    assert "There is one order only" in render(alone)


def test_a_page_of_a_chain_tells_direct_chained_and_held_out():
    text = render(_composition())
    for told in ("chained, e0 to e2", "direct, e0 to e2", "half 1, held out", "G-squared"):
        assert told in text


def test_a_page_of_two_configurations_names_items_under_one_only():
    text = render(_comparison())
    assert "3 items were tried under one" in text
    assert "Exact McNemar test" in text


def test_a_page_of_provenance_tells_readings_and_a_failed_prediction():
    text = render(measure_provenance(study(32), after=study(25), threshold=0.161).to_dict())
    assert "It is not supported: after is above the threshold and" in text
    assert "The two readings side by side" in text


def test_a_page_of_stability_tells_band_split_half_and_transfer():
    rows = [
        {"configuration": name, "item_id": item, "run": run, "label": 0,
         "answer": (item * run + shift) % 3 if item < 6 else 0}
        for shift, name in enumerate("abc") for item in range(12) for run in range(4)
    ]  # fmt: skip
    text = render(measure_stability(rows, transfer_k=3).to_dict())
    assert "split-half reliability" in text
    assert "Whether the same items are unstable elsewhere" in text


def test_what_cannot_be_printed_is_marked():
    rows = [{"item_id": i, "before": i % 2, "after": 1, "kind": "a\u202eb"} for i in range(20)]
    text = render(measure_paired(rows, group="kind").to_dict(), source="x\u202ey")
    assert "\u202e" not in text
    assert "a\ufffdb" in text


def test_what_is_no_result_is_refused_with_the_forms_that_are():
    with pytest.raises(
        SettingsError, match=r"'spanwitness\.check/1' is none of spanwitness\.paired/1"
    ):
        render({"schema": "spanwitness.check/1"})


def test_the_command_writes_the_page_to_standard_output(tmp_path, capsys):
    table = tmp_path / "outcomes.csv"
    table.write_text("item_id,before,after\na,0,1\nb,1,1\nc,1,0\n", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        app(["measure", "paired", str(table), "--format", "html"])
    page = capsys.readouterr().out
    assert ended.value.code in (0, None)
    assert page.startswith("<!doctype html>")
    assert "outcomes.csv" in page
