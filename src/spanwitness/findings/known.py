"""Findings that are known already: a ratchet, so that only new ones fail a check."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Final

from spanwitness.errors import SettingsError
from spanwitness.findings.fingerprint import subject_of

if TYPE_CHECKING:
    from pathlib import Path

    from spanwitness.model import Verdict

__all__ = ["SCHEMA", "KnownFindings", "load_known"]

SCHEMA: Final = "spanwitness.known/1"


class KnownFindings:
    """Findings by fingerprint, with the runs they were seen in."""

    def __init__(self) -> None:
        self._rules: dict[str, str] = {}
        self._subjects: dict[str, str | None] = {}
        self._n_runs: Counter[str] = Counter()

    def __contains__(self, fingerprint: str) -> bool:
        return fingerprint in self._rules

    def __len__(self) -> int:
        return len(self._rules)

    def add(self, fingerprint: str, verdict: Verdict) -> None:
        """Remember a finding of one run."""
        self.put(fingerprint, rule=verdict.rule, subject=subject_of(verdict), n_runs=1)

    def put(self, fingerprint: str, *, rule: str, subject: str | None, n_runs: int) -> None:
        """Remember a finding that was seen in so many more runs."""
        self._rules[fingerprint] = rule
        self._subjects.setdefault(fingerprint, subject)
        self._n_runs[fingerprint] += n_runs

    def as_text(self) -> str:
        """Return the findings as the JSON text of a file, sorted, a line each."""
        lines = [
            json.dumps(
                {
                    "fingerprint": key,
                    "rule": rule,
                    "subject": self._subjects[key],
                    "runs": self._n_runs[key],
                }
            )
            for key, rule in sorted(self._rules.items(), key=lambda pair: (pair[1], pair[0]))
        ]
        inner = ",\n  ".join(lines)
        return f'{{"schema": "{SCHEMA}",\n "findings": [\n  {inner}\n ]}}\n'


def load_known(path: Path, /) -> KnownFindings:
    """Read a file that `check --write-baseline` wrote.

    Raises:
        SettingsError: It cannot be read, or is no such file.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(
            f"{path}: cannot be read: {error.strerror}; 'check --write-baseline FILE' writes it"
        ) from None
    except ValueError:
        raise SettingsError(f"{path}: is no JSON file in UTF-8") from None
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        raise SettingsError(
            f"{path}: is no list of known findings ({SCHEMA}); 'check --write-baseline FILE' writes"
            " one ('learn --baseline-out' writes another thing: what clean runs do)"
        )
    known = KnownFindings()
    entries = value.get("findings")
    for place, entry in enumerate(entries if isinstance(entries, list) else [None], start=1):
        match entry:
            case {"fingerprint": str(key), "rule": str(rule)}:
                known.put(key, rule=rule, subject=None, n_runs=0)
            case _:
                raise SettingsError(f"{path}: entry {place} has no 'fingerprint' and 'rule'")
    return known
