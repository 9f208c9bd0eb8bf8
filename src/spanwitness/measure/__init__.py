"""Measures of many runs: paired audits, evidence state, stability, provenance.

A table comes in (CSV, JSONL or Parquet, or rows given in Python), a typed result goes out: as the
fixed JSON form, as rows, as a data frame. A table that cannot be measured is refused with the row
named; nothing is imputed.
"""

from spanwitness.measure.evidence import EvidenceResult, measure_evidence
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
from spanwitness.measure.stability import ConfigurationResult, StabilityResult, measure_stability
from spanwitness.measure.table import Table, TableError, read_table

__all__ = [
    "ConfigurationResult",
    "EvidenceResult",
    "MeasureResult",
    "PairedResult",
    "Provenance",
    "ProvenanceResult",
    "RecordProvenance",
    "StabilityResult",
    "StepAudit",
    "Table",
    "TableError",
    "measure_evidence",
    "measure_paired",
    "measure_provenance",
    "measure_stability",
    "provenance_of",
    "read_table",
    "rewindow",
]
