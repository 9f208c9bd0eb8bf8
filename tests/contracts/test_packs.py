"""The ready-made packs, on healthy runs and on runs with a fault planted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.contracts.record_packs import RECORDINGS, record

from spanwitness.archive import TraceReader
from spanwitness.contracts import load
from spanwitness.contracts.packs import pack_names, pack_text
from spanwitness.errors import RuleError
from spanwitness.live.contracts import load_all
from spanwitness.normalize import build_runs
from spanwitness.rules.engine import Evaluation, evaluate

_TRACES = Path(__file__).parents[1] / "traces" / "packs"
PLANTED = {
    "document-extraction/never_opened": "navigation_bypassed",
    "document-extraction/opened_not_read": "verification_skipped",
    "document-extraction/read_after_submit": "forbidden_tool",
    "retrieval-augmented-answering/never_searched": "navigation_bypassed",
    "retrieval-augmented-answering/search_loop": "count_out_of_range",
    "customer-service/changed_unseen": "out_of_order",
    "customer-service/claimed_not_done": "unperformed_action",
    "verify-audit-escalate/verified_unseen": "verification_skipped",
    "verify-audit-escalate/audit_publishes": "forbidden_tool",
}


def judged(path: Path) -> Evaluation:
    pack = load(f"pack:{path.parent.name}")
    (spans,) = TraceReader([path])
    (run,) = build_runs(spans)
    return evaluate(run, [pack])


def test_every_pack_has_a_healthy_trace_and_a_planted_one() -> None:
    stored = {str(p.relative_to(_TRACES)).partition(".")[0] for p in _TRACES.rglob("*.json")}
    healthy = {f"{name}/healthy" for name in pack_names()}
    assert stored == healthy | set(PLANTED) == set(RECORDINGS)


@pytest.mark.parametrize("pack", pack_names())
def test_a_healthy_run_has_no_finding_and_its_clauses_were_assessed(pack: str) -> None:
    found = judged(_TRACES / pack / "healthy.otlp.json")
    assert found.contract == pack
    assert found.findings == ()
    words = {v.verdict for v in found.verdicts if v.contract == pack}
    assert words <= {"holds", "not_applicable"}
    assert "holds" in words


@pytest.mark.parametrize(("name", "rule"), PLANTED.items())
def test_a_planted_fault_is_told(name: str, rule: str) -> None:
    found = judged(_TRACES / f"{name}.otlp.json")
    assert found.is_flagged
    assert rule in {v.rule for v in found.verdicts if v.verdict == "violated"}


@pytest.mark.parametrize("pack", pack_names())
def test_a_pack_is_not_about_the_runs_of_another_kind(pack: str) -> None:
    """No pack alarms on the healthy runs of the others, whether or not it takes itself to apply."""
    contract = load(f"pack:{pack}")
    for other in pack_names():
        (spans,) = TraceReader([_TRACES / other / "healthy.otlp.json"])
        (run,) = build_runs(spans)
        assert evaluate(run, [contract]).findings == (), other


@pytest.mark.parametrize("pack", pack_names())
def test_a_pack_has_a_version_a_description_and_reasons(pack: str) -> None:
    contract = load(f"pack:{pack}")
    assert contract.name == pack
    assert contract.description
    assert contract.when is not None
    assert all(clause.reason for clause in contract.expect)
    assert pack_text(pack).startswith("contract:")


def test_packs_are_loaded_where_contracts_are_given_in_code() -> None:
    (pack,) = load_all(["pack:customer-service"])
    assert pack == load("pack:customer-service")


def test_an_unknown_pack_names_the_nearest_one() -> None:
    with pytest.raises(RuleError, match="did you mean 'customer-service'"):
        load("pack:customer-servce")


def test_recording_again_gives_runs_that_are_judged_alike(tmp_path: Path) -> None:
    for path in record(tmp_path):
        stored = _TRACES / path.relative_to(tmp_path)
        again, before = judged(path), judged(stored)
        assert [v.rule for v in again.findings] == [v.rule for v in before.findings], path.name
        names = {span["name"] for span in _spans(path)}
        assert names == {span["name"] for span in _spans(stored)}


def _spans(path: Path) -> list[dict[str, object]]:
    return [
        span
        for line in path.read_text(encoding="utf-8").splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
