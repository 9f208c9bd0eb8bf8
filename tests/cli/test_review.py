"""`spanwitness review`, as a user types it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.review.judged_runs import judged, spans_of, trace_id, violation
from typer.testing import CliRunner

from spanwitness.cli.app import app
from spanwitness.errors import ConflictError, ReviewError, SettingsError
from spanwitness.review import Queue
from spanwitness.review.store.values import Sampling

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    address = f"sqlite:///{tmp_path}/queue.db"
    monkeypatch.setenv("SPANWITNESS_QUEUE", address)
    return address


def run(*arguments: str, status: int = 0) -> str:
    result = CliRunner().invoke(app, ["review", *arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result.stdout


def fill(url: str) -> None:
    queue = Queue.open(url)
    for number, severity in enumerate(("warning", "error", "error")):
        verdict = violation(severity=severity)
        one = judged(number, verdict, agent=f"agent {chr(97 + number)}")
        queue.add(one, spans=spans_of(one))
    queue.close()


def test_the_list_has_the_promised_form(url: str):
    fill(url)
    run("verdict", "1", "--verdict", "confirmed")
    told = json.loads(run("list", "--format", "json"))
    assert told["schema"] == "spanwitness.queue/1"
    assert len(told["items"]) == 3
    by_id = {item["id"]: item for item in told["items"]}
    item = by_id[1]
    names = ("id", "rule", "fault", "state", "severity", "count", "verdict")
    assert {name: item[name] for name in names} == {
        "id": 1, "rule": "tool_bypass", "fault": "reasoning", "state": "resolved",
        "severity": "warning", "count": 1, "verdict": "confirmed",
    }  # fmt: skip
    assert item["sample_trace_ids"] == [trace_id(0)]
    assert item["first_seen"] <= item["last_seen"]
    assert by_id[2]["verdict"] is None


def test_an_empty_queue_is_an_empty_list_and_empty_figures(url: str):
    assert json.loads(run("list", "--format", "json"))["items"] == []
    assert json.loads(run("stats", "--format", "json")) == {"rules": []}
    assert "0 open" in run("list")
    assert "no verdicts yet" in run("stats")
    assert "nothing is open" in run("next", status=3)


def test_the_figures_have_the_promised_form(url: str):
    fill(url)
    for number, word in (("1", "confirmed"), ("2", "false_positive"), ("3", "expected")):
        run("verdict", number, "--verdict", word, "--by", "ann", "--reason", "seen it")
    (rule,) = json.loads(run("stats", "--format", "json"))["rules"]
    assert rule | {"ci_low": 0, "ci_high": 0} == {
        "rule": "tool_bypass", "version": 1, "confirmed": 1, "false_positive": 1, "expected": 1,
        "cannot_tell": 0, "precision": 0.5, "ci_low": 0, "ci_high": 0, "n": 2,
    }  # fmt: skip
    assert 0 < rule["ci_low"] < 0.5 < rule["ci_high"] < 1
    assert "50%" in run("stats")
    wider = json.loads(run("stats", "--format", "json", "--interval", "exact"))["rules"][0]
    assert wider["ci_low"] < rule["ci_low"]


def test_next_takes_the_worst_item_and_shows_it(url: str):
    fill(url)
    told = run("next", "--by", "ann", "--lease", "4h")
    assert "#2 error  tool_bypass" in told
    assert "tool_bypass is broken in this run." in told
    assert "held by: ann" in told
    assert "ann  claimed" in told
    assert "#3" in run("next", "--by", "bob")
    with pytest.raises(ConflictError, match="ann holds item 2"):
        run("verdict", "2", "--verdict", "confirmed", "--by", "bob")
    assert run("release", "2", "--by", "ann") == "item 2 is open\n"


def test_a_person_works_through_the_verbs(url: str):
    fill(url)
    by = ("--by", "ann")
    assert run("verdict", "1", "--verdict", "expected", *by) == "item 1 is resolved: expected\n"
    assert run("undo", "1", *by) == "item 1 is open\n"
    run("note", "1", "asked the vendor", *by)
    assert "item 1 is snoozed until" in run("snooze", "1", "2d", *by)
    assert run("reopen", "1", *by, "--reason", "cannot wait") == "item 1 is open\n"
    told = run("show", "1")
    assert "asked the vendor" in told
    assert "cannot wait" in told
    detail = json.loads(run("show", "1", "--format", "json"))
    assert detail["item"]["state"] == "open"
    done = run("bulk", "--rule", "tool_bypass", "--verdict", "cannot_tell", *by)
    assert done == "3 items resolved: cannot_tell\n"


def test_a_version_that_is_over_is_refused(url: str):
    fill(url)
    run("verdict", "1", "--verdict", "confirmed", "--version", "1")
    with pytest.raises(ConflictError, match="changed since you saw it"):
        run("verdict", "1", "--verdict", "expected", "--version", "1")


def test_hostile_names_and_notes_cannot_steer_the_terminal(url: str):
    queue = Queue.open(url)
    nasty = "\x1b[2J\u202egnp.exe[bold]<script>"
    verdict = violation(reason=f"bad {nasty}", evidence={"tools": [nasty]})
    one = judged(1, verdict, agent=nasty)
    queue.add(one, spans=spans_of(one))
    queue.note(1, nasty, nasty)
    queue.verdict(1, verdict="confirmed", by=nasty, reason=nasty)
    queue.close()
    for told in (run("list"), run("list", "--state", "resolved"), run("show", "1"), run("stats")):
        assert "\x1b" not in told
        assert "\u202e" not in told
    assert "\\u001b[2J\\u202egnp.exe[bold]<script>" in run("show", "1")


def test_exports_are_json_lines_or_a_table(url: str):
    fill(url)
    queue = Queue.open(url)
    queue.verdict(1, verdict="confirmed", by="ann", reason="=cmd()")
    queue.close()
    lines = [json.loads(line) for line in run("export").splitlines()]
    assert [line["id"] for line in lines] == [1, 2, 3]
    (row,) = csv.DictReader(io.StringIO(run("export", "--what", "verdicts", "--format", "csv")))
    assert (row["verdict"], row["trace_id"], row["reason"]) == ("confirmed", trace_id(0), "'=cmd()")


def test_prune_says_what_is_gone(url: str):
    fill(url)
    run("verdict", "1", "--verdict", "confirmed")
    told = run("prune", "--content-before", "2099-01-01")
    assert told.startswith("dropped 3 snapshots, evidence of 3 findings")
    assert "the spans of this trace are not kept" in run("show", "1")
    assert "0 snapshots" in run("prune", "--content-before", "1d")
    with pytest.raises(SettingsError, match=r"--items-before 'soon': give a date"):
        run("prune", "--items-before", "soon")
    run("prune", status=2)


def test_audit_mode_hides_what_rules_found(url: str):
    run("audit", "sampling", "--flagged", "1")
    fill(url)
    told = run("audit", "next", "--by", "ann")
    assert told.startswith("audit ")
    assert "tool_bypass" not in told
    run("audit", "verdict", told.split()[1], "--verdict", "unsound", "--by", "ann")
    assert "audit: 1 runs judged" in run("stats")
    queue = Queue.open(url)
    assert queue.sampling() == Sampling(flagged=1)
    queue.close()


def test_an_address_that_cannot_be_used_is_one_line(url: str):
    with pytest.raises(ReviewError, match="scheme 'ftp'"):
        run("list", "--queue", "ftp://host/queue")


def test_the_verbs_load_no_database_until_they_are_used():
    code = "import spanwitness.cli.app, sys; print('sqlalchemy' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert told.stdout == "False\n"
