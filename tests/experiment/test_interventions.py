from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import spanwitness as sw
from spanwitness.capture import spans
from spanwitness.errors import SettingsError
from spanwitness.experiment import CONDITIONS, degrade

DATASHEET = (
    "The supply voltage is 1.7 V to 3.6 V. Standby current is 0.5 uA at 25 degrees. "
    "The part answers on address 0x77. The pressure range is 300 hPa to 1200 hPa."
)
PASSAGES = [
    "The supply voltage is 1.7 V to 3.6 V.",
    "Standby current is 0.5 uA at 25 degrees.",
    "The part answers on address 0x77.",
    "The pressure range is 300 hPa to 1200 hPa.",
]
OLDER = "The supply voltage is 1.8 V to 3.3 V."
ALONE = [name for name in CONDITIONS if name not in ("stale", "wrong_document")]


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("evidence", [DATASHEET, PASSAGES])
def test_the_same_seed_and_case_give_the_same_evidence_in_the_same_form(condition, evidence):
    other = [OLDER] if isinstance(evidence, str) else [[OLDER]]
    first = degrade(evidence, condition, case_id="dps310", seed=7, other=other)
    second = degrade(evidence, condition, case_id="dps310", seed=7, other=other)
    assert first == second
    assert type(first.evidence) is type(evidence)
    assert first.is_changed is (condition != "clean")


def test_another_case_or_seed_draws_otherwise():
    drawn = {
        tuple(degrade(PASSAGES, "partial_dropout", case_id=case, seed=seed).evidence)
        for case in ("a", "b", "c")
        for seed in (1, 2, 3)
    }
    assert len(drawn) > 2


def test_compression_keeps_the_beginning_of_every_sentence():
    found = degrade(DATASHEET, "compressed_lossy", case_id="x", seed=1).evidence
    assert found.startswith("The supply voltage is")
    assert "3.6" not in found
    assert "Standby current is 0.5" in found


def test_dropout_keeps_whole_passages_in_their_order_and_loses_at_least_one():
    found = degrade(PASSAGES, "partial_dropout", case_id="x", seed=1, strength=0.01).evidence
    assert len(found) == 3
    assert [p for p in PASSAGES if p in found] == found


def test_conflicting_evidence_keeps_what_was_there_and_adds_other_numbers():
    found = degrade(
        PASSAGES, "noisy_conflicting", case_id="x", seed=1, other=[["Pin 7 is ground."]]
    ).evidence
    assert [p for p in found if p in PASSAGES] == PASSAGES
    added = [p for p in found if p not in PASSAGES]
    assert "Pin 7 is ground." in added
    assert any("supply voltage" in p or "Standby" in p or "pressure" in p for p in added)


def test_truncated_evidence_is_the_beginning_of_the_evidence():
    found = degrade(PASSAGES, "truncated", case_id="x", seed=1, strength=0.25).evidence
    assert "".join(PASSAGES).startswith("".join(found))
    assert len("".join(found)) == round(len("".join(PASSAGES)) * 0.75)


def test_a_stale_version_must_be_given_and_must_differ():
    assert degrade(DATASHEET, "stale", case_id="x", seed=1, other=[OLDER]).evidence == OLDER
    with pytest.raises(SettingsError, match="stale evidence needs `other`"):
        degrade(DATASHEET, "stale", case_id="x", seed=1, other=[DATASHEET])


def test_what_cannot_be_used_is_refused_with_the_choices():
    with pytest.raises(SettingsError, match="none of clean, compressed_lossy"):
        degrade(DATASHEET, "garbled", case_id="x", seed=1)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="strength 1 is not between 0 and 1"):
        degrade(DATASHEET, "truncated", case_id="x", seed=1, strength=1)


@settings(deadline=None)
@given(
    st.lists(st.text(max_size=40), max_size=8),
    st.sampled_from(ALONE),
    st.floats(0.01, 0.99),
    st.integers(0, 5),
)
def test_any_evidence_can_be_degraded(passages, condition, strength, seed):
    found = degrade(passages, condition, case_id="x", seed=seed, strength=strength)
    if condition != "noisy_conflicting":
        assert sum(map(len, found.evidence)) <= sum(map(len, passages))
    else:
        assert len(found.evidence) >= len(passages)


def test_inside_a_step_the_condition_stands_on_its_span():
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    spans.use_provider(provider)
    try:
        with sw.run("extract", item_id="dps310") as run, run.step("decide", kind="solve"):
            degrade(PASSAGES, "partial_dropout", case_id="dps310", seed=7, strength=0.25)
    finally:
        spans.use_provider(None)
    step = next(s for s in exporter.get_finished_spans() if "decide" in s.name)
    assert step.attributes["spanwitness.condition"] == "partial_dropout"
    assert step.attributes["spanwitness.case_id"] == "dps310"
    assert step.attributes["spanwitness.intervention.seed"] == 7
    assert step.attributes["spanwitness.intervention.strength"] == 0.25
