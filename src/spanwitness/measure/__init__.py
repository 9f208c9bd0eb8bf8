"""Measures of many runs: paired audits, evidence state, stability, provenance.

A table comes in (CSV, JSONL or Parquet, or rows given in Python), a typed result goes out: as the
fixed JSON form, as rows, as a data frame. A table that cannot be measured is refused with the row
named; nothing is imputed.
"""
