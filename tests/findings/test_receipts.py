"""Claims and receipts as they leave: in reports, on the root span, in the ledger."""

from __future__ import annotations

import json
from io import StringIO
from typing import TYPE_CHECKING

import pytest
from rich.console import Console
from tests.rules.builders import call, chat, run, submission, tool, without_content

from spanwitness.cli.claims_text import print_claims
from spanwitness.cli.report import run_report
from spanwitness.findings.attributes import closing_attributes, root_attributes
from spanwitness.findings.receipts import MAX_ATTRIBUTE_CHARS, claim_values, receipts_attribute
from spanwitness.live.evaluate import judge
from spanwitness.model import Claim
from spanwitness.rules.engine import evaluate

if TYPE_CHECKING:
    from spanwitness.model import Run

PAGE = "DPS310 datasheet. The maximum output current is 412 mA, the minimum 17.5 mA."


def read(says: object, *more: object, **fields: object) -> Run:
    return run(
        chat(calls=[call("read_page", page=3), call("look", id="c2", at="x")]),
        tool("read_page", gives=PAGE, page=3),
        tool("look", gives="nothing of interest here", id="c2", at="x"),
        chat(says),  # type: ignore[arg-type]
        *more,  # type: ignore[arg-type]
        **fields,  # type: ignore[arg-type]
    )


SUPPORTED = read("It gives up to 412 mA, at least 17.5 mA.")
INVENTED = read("It gives 93.25 mA and 71.5 V.")


def test_a_claim_says_state_match_place_and_who_is_at_fault() -> None:
    (first, _) = evaluate(SUPPORTED).claims
    told = claim_values(first)
    assert (told["state"], told["kind"], told["origin"]) == ("in_window", "number", "text")
    assert (told["value"], told["unit"], told["text"]) == (412, "mA", "412 mA")
    assert (told["fault"], told["attribution"]) == (None, "supported")
    (place, *_) = told["places"]  # type: ignore[misc]
    assert (place["tool"], place["call_id"], place["delivered"]) == (
        "read_page", "call_read_page", True,
    )  # fmt: skip
    assert "maximum output current is 412 mA" in place["excerpt"]
    assert PAGE[place["start"] : place["end"]].startswith("412")


def test_a_claim_that_stands_nowhere_names_the_line_that_decided() -> None:
    told = [claim_values(claim) for claim in evaluate(INVENTED).claims]
    assert {(t["state"], t["fault"], t["attribution"]) for t in told} == {
        ("absent", "reasoning", "invented")
    }


def test_a_claim_from_a_wrong_source_and_one_without_its_condition_are_told_apart() -> None:
    wrong = run(
        chat(calls=[call("open", path="BMP280.pdf")]),
        tool("open", gives="BMP280: 412 mA", path="BMP280.pdf"),
        chat("It is 412 mA."),
        subject="DPS310",
    )
    bare = run(
        chat(calls=[call("open", path="a.txt")]),
        tool("open", gives="The current is 412 mA at 25 \u00b0C.", path="a.txt"),
        chat("The current is 412 mA."),
    )
    assert [c.attribution for c in evaluate(wrong).claims] == ["wrong_source"]
    assert [c.attribution for c in evaluate(bare).claims] == ["condition_omitted"]


def test_without_content_no_value_text_or_document_leaves() -> None:
    (first, _) = evaluate(SUPPORTED).claims
    told = json.dumps(claim_values(first, with_content=False))
    assert "412" not in told
    assert "current" not in told
    assert json.loads(told)["places"][0]["call_id"] == "call_read_page"


def test_the_root_says_what_the_answer_rests_on() -> None:
    attributes = closing_attributes(judge(SUPPORTED))
    told = json.loads(str(attributes["spanwitness.receipts"]))
    assert told["n_claims"] == 2
    assert [c["state"] for c in told["claims"]] == ["in_window", "in_window"]
    assert "spanwitness.receipts" not in root_attributes(judge(SUPPORTED))


def test_the_root_of_a_run_without_claims_or_without_content_says_no_value() -> None:
    assert "spanwitness.receipts" not in closing_attributes(judge(run(chat("Hello."))))
    off = without_content(read("x", submission({"v": 93.25}, claims=(Claim(value=93.25),))))
    assert "93.25" not in str(closing_attributes(judge(off)))


def test_the_attribute_is_bounded_and_says_how_many_claims_there_are() -> None:
    many = tuple(Claim(value=f"item-{n}-" + "\u00e4" * 500, field="f" * 50) for n in range(150))
    claims = evaluate(read("x", submission({"a": 1}, claims=many))).claims
    text = receipts_attribute(claims, with_content=True)
    assert text is not None
    assert len(text) <= MAX_ATTRIBUTE_CHARS
    told = json.loads(text)
    assert told["n_claims"] == len(claims) > 100
    assert 0 < len(told["claims"]) < 100


def test_a_report_lists_the_claims_of_each_run() -> None:
    report = run_report(SUPPORTED, evaluate(SUPPORTED), show_all=False)
    assert [c["state"] for c in report["claims"]] == ["in_window", "in_window"]  # type: ignore[attr-defined]
    json.dumps(report, allow_nan=False)


CITED = {
    "a call whose result the answer rests on": (SUPPORTED, "yes", "no"),
    "an answer that rests on no call": (INVENTED, "no", "no"),
    "an answer without claims": (read("Done."), "unknown", "unknown"),
    "content off": (without_content(SUPPORTED), "unknown", "unknown"),
}


@pytest.mark.parametrize(("one", "first", "second"), CITED.values(), ids=CITED)
def test_the_ledger_says_which_calls_the_answer_cites(one: Run, first: str, second: str) -> None:
    rows = {row.call_id: row.cited for row in evaluate(one).ledger}
    assert (rows["call_read_page"], rows["c2"]) == (first, second)


def test_hostile_claims_are_shown_as_plain_text() -> None:
    one = read("It is 93.25\u202e mA [bold]x[/bold] and 71.5 V \x1b[31m.")
    out = StringIO()
    console = Console(file=out, width=200, force_terminal=False)
    print_claims(console, evaluate(one).claims)
    shown = out.getvalue()
    assert "absent" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


def test_doubtful_claims_are_shown_first_and_the_rest_is_counted() -> None:
    values = ", ".join(f"{n}.25 V" for n in range(31, 43))
    out = StringIO()
    claims = evaluate(read(f"It gives 412 mA; {values}.")).claims
    print_claims(Console(file=out, width=200), claims)
    lines = out.getvalue().splitlines()
    assert "absent" in lines[0]
    assert lines[-1].strip() == f"\u2026 {len(claims) - 8} more claims"
