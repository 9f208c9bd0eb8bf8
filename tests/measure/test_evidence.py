from __future__ import annotations

import pytest
from tests.measure.tables import stage
from tests.stats.evidence_ledger import ledger, plan
from tests.stats.printed import TABLES

from spanwitness.measure import measure_evidence
from spanwitness.stats.counts import CountError

TABLE = TABLES["evidence_state_reliability"]


def as_rows():
    """The published ledger as a table with empty cells where nothing applies."""

    def cell(value):
        return "" if value is None else str(value) if isinstance(value, str) else int(value)

    return [
        {
            "case_id": row.key.case_id, "condition": row.key.condition, "stage": row.key.stage,
            "parser_valid": cell(row.parser_valid), "validity_judgment": cell(row.validity),
            "evidence_adequate": cell(row.evidence_adequate),
            "audit_detected_degradation": cell(row.audit_detected),
            "audit_false_assurance": cell(row.audit_false_assurance),
            "escalation_recovery": "" if row.escalation is None else 0,
            "status": row.status,
        }
        for row in ledger()
    ]  # fmt: skip


PLAN = [{"case_id": k.case_id, "condition": k.condition, "stage": k.stage} for k in plan()]


@pytest.fixture(scope="module")
def form():
    return measure_evidence(as_rows(), plan=PLAN).to_dict()


def test_the_published_ledger_gives_the_published_form(form):
    assert form["schema"] == "spanwitness.evidence/1"
    accounting = form["accounting"]
    assert (accounting["planned"], accounting["attempted"], accounting["retained"]) == (
        720,
        720,
        713,
    )
    assert len(accounting["missing"]) == 7
    assert accounting["missing_by_stage"] == TABLE["accounting"]["missing_by_stage"]
    assert {row["status"] for row in accounting["missing"]} == {"provider_error"}
    cascade = TABLE["cascade"]
    assert form["families"] == {key: cascade.get(key, 0) for key in TABLE["family_keys"]}
    assert list(form["families"]) == TABLE["family_keys"]
    assert form["failure_rate"] == pytest.approx(cascade["failure_rate"], abs=5e-7)
    clean = form["failure_rate_by_condition"]["clean"]
    assert clean == pytest.approx(cascade["clean"]["failure_rate"], abs=5e-7)


def test_cells_and_changes_have_the_fixed_keys(form):
    assert len(form["cells"]) == 12
    first = form["cells"][0]
    assert first.keys() >= {
        "condition", "stage", "n", "parser_validity", "stage_success", "format_false_assurance",
    }  # fmt: skip
    assert (first["condition"], first["stage"], first["n"]) == ("clean", "decision", 59)
    assert first["parser_validity"] == pytest.approx(30 / 59)
    assert first["stage_success"] == pytest.approx(24 / 59)
    assert first["detection"] is None
    for change in form["paired"]:
        assert change.keys() == {
            "condition", "stage", "measure", "n", "mean_change", "ci_low", "ci_high",
        }  # fmt: skip
        assert change["ci_low"] <= change["mean_change"] <= change["ci_high"]


def test_without_a_plan_what_was_planned_is_unknown():
    accounting = measure_evidence(as_rows()).to_dict()["accounting"]
    assert accounting["planned"] is None
    assert (accounting["attempted"], len(accounting["missing"])) == (720, 7)


def test_a_planned_row_that_never_ran_is_named_and_makes_its_sequence_incomplete():
    rows = [row for row in as_rows() if row["case_id"] != "case-59"]
    form = measure_evidence(rows, plan=PLAN).to_dict()
    absent = [row for row in form["accounting"]["missing"] if row["status"] == "not_attempted"]
    assert len(absent) == 12
    assert {row["case_id"] for row in absent} == {"case-59"}
    assert form["families"]["incomplete"] == 6 + 4


def sequences(**audit) -> list[dict]:
    return [
        stage(0, "clean", "decide"), stage(0, "clean", "audit", audit_detected_degradation=0),
        stage(0, "clean", "escalate"),
        stage(0, "stale", "decide", validity_judgment=0),
        stage(0, "stale", "audit", audit_detected_degradation=audit.get("detected", 0),
              audit_false_assurance=audit.get("assured", 0)),
        stage(0, "stale", "escalate", escalation_recovery=audit.get("outcome", "")),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("audit", "family"),
    [
        ({}, "silent"),
        ({"detected": 1}, "detected_but_unrecovered"),
        ({"detected": 1, "outcome": 0}, "detected_but_unrecovered"),
        ({"detected": 1, "outcome": "unresolved"}, "detected_but_unrecovered"),
        ({"detected": 1, "outcome": 1}, "recovered"),
        ({"detected": 1, "outcome": "recovered"}, "recovered"),
        ({"detected": 1, "assured": 1, "outcome": 1}, "audit_false_assurance"),
    ],
)
def test_a_sequence_falls_into_its_family(audit, family):
    families = measure_evidence(sequences(**audit)).to_dict()["families"]
    assert families[family] == 1
    assert families["preserved_success"] == 1
    assert sum(families.values()) == 2


def test_a_deferral_is_no_failure_and_no_recovery():
    result = measure_evidence(sequences(detected=1, outcome="deferred"))
    form = result.to_dict()
    assert form["families"]["recovered"] == 0
    assert form["n_deferred"] == 1
    assert result.failure_rate("stale") == 0
    cell = next(c for c in form["cells"] if (c["condition"], c["stage"]) == ("stale", "escalate"))
    assert (cell["recovery"], cell["deferral"]) == (0, 1)


def test_detection_is_told_on_clean_evidence_too():
    cells = measure_evidence(sequences()).to_dict()["cells"]
    clean = next(c for c in cells if (c["condition"], c["stage"]) == ("clean", "audit"))
    assert clean["detection"] == 0
    assert clean["counts"]["detection"] == [0, 1]


def test_an_unknown_baseline_is_refused():
    with pytest.raises(CountError, match="baseline condition 'pristine'"):
        measure_evidence(sequences(), baseline="pristine")


def test_every_part_is_a_frame():
    pytest.importorskip("pandas")
    result = measure_evidence(as_rows())
    assert len(result.to_frame()) == 12
    assert len(result.to_frame("paired")) == 9 * 5
    assert len(result.to_frame("families")) == 4
    assert len(result.to_frame("missing")) == 7


def test_a_stage_that_not_every_case_goes_through_makes_none_incomplete():
    rows = [stage(case, "clean", name) for case in range(3) for name in ("decision", "audit")]
    rows.append(stage(0, "clean", "escalation", escalation_recovery="recovered"))
    assert measure_evidence(rows).to_dict()["families"]["incomplete"] == 2
    found = measure_evidence(rows, optional=["escalation"]).to_dict()
    assert {name: n for name, n in found["families"].items() if n} == {
        "recovered": 1, "preserved_success": 2,
    }  # fmt: skip
    assert found["optional_stages"] == ["escalation"]
    rows[-1] |= {"status": "timeout"}
    lost = measure_evidence(rows, optional=["escalation"]).to_dict()
    assert lost["families"]["incomplete"] == 1
