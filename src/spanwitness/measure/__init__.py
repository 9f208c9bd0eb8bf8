"""Measures of many runs: paired audits, evidence state, stability, provenance.

A table comes in (CSV, JSONL or Parquet, or rows given in Python), or the runs of stored traces
(`collect`, then `pairs_of` and its like); a typed result goes out: as the fixed JSON form, as rows,
as a data frame. What cannot be measured is refused with the row or the span named; nothing is
imputed.
"""

from spanwitness.measure.audits import Audit, Audits, StepAccounting, audit_across, audit_each
from spanwitness.measure.comparison import ComparisonResult, measure_comparison
from spanwitness.measure.composition import CompositionResult, measure_composition
from spanwitness.measure.evidence import EvidenceResult, measure_evidence
from spanwitness.measure.outcomes import Outcomes
from spanwitness.measure.paired import PairedResult, StepAudit, measure_paired
from spanwitness.measure.provenance import (
    Provenance,
    ProvenanceResult,
    RecordProvenance,
    measure_provenance,
    provenance_of,
    rewindow,
)
from spanwitness.measure.result import MeasureResult
from spanwitness.measure.selection import SelectionResult, measure_selection
from spanwitness.measure.stability import ConfigurationResult, StabilityResult, measure_stability
from spanwitness.measure.table import Table, TableError, read_table
from spanwitness.measure.totals import TotalsResult, measure_totals
from spanwitness.measure.traced_answers import answers_of, windows_of
from spanwitness.measure.traced_checkpoints import successes_of
from spanwitness.measure.traced_choices import choices_of
from spanwitness.measure.traced_pairs import pairs_of, verdicts_of
from spanwitness.measure.traced_sequences import sequences_of
from spanwitness.measure.traced_stages import stages_of
from spanwitness.measure.traced_table import MissingStep, TracedTable
from spanwitness.measure.traces import Features, TracedRun, TracedStep, TraceLog, collect
from spanwitness.measure.verdicts import VerdictAudit, VerdictsResult, measure_verdicts

__all__ = [
    "Audit",
    "Audits",
    "ComparisonResult",
    "CompositionResult",
    "ConfigurationResult",
    "EvidenceResult",
    "Features",
    "MeasureResult",
    "MissingStep",
    "Outcomes",
    "PairedResult",
    "Provenance",
    "ProvenanceResult",
    "RecordProvenance",
    "SelectionResult",
    "StabilityResult",
    "StepAccounting",
    "StepAudit",
    "Table",
    "TableError",
    "TotalsResult",
    "TraceLog",
    "TracedRun",
    "TracedStep",
    "TracedTable",
    "VerdictAudit",
    "VerdictsResult",
    "answers_of",
    "audit_across",
    "audit_each",
    "choices_of",
    "collect",
    "measure_comparison",
    "measure_composition",
    "measure_evidence",
    "measure_paired",
    "measure_provenance",
    "measure_selection",
    "measure_stability",
    "measure_totals",
    "measure_verdicts",
    "pairs_of",
    "provenance_of",
    "read_table",
    "rewindow",
    "sequences_of",
    "stages_of",
    "successes_of",
    "verdicts_of",
    "windows_of",
]
