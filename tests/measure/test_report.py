from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from spanwitness.cli.app import app
from spanwitness.errors import SettingsError
from spanwitness.measure import (
    measure_evidence,
    measure_paired,
    measure_provenance,
    measure_stability,
)
from spanwitness.measure.report import render

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


KINDS = {
    "paired": _paired, "evidence": _evidence, "stability": _stability, "provenance": _provenance,
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
    assert all("var(--ink)" in picture for picture in pictures)


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
