"""Findings that do not count: suppressed ones, and those of a baseline."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

    from spanwitness.contracts.suppressions import Suppression
    from spanwitness.findings.judged import Judged
    from spanwitness.findings.known import KnownFindings
    from spanwitness.model import Run, Verdict
    from spanwitness.rules.engine import Evaluation

DEFAULT_FILE: Final = ".spanwitness.yaml"
"""Read where it stands in the working directory and no other file is named."""


class Accepted:
    """Marks findings that do not count, and remembers those of a check.

    Args:
        suppressions: A file of suppressions; `None` = `.spanwitness.yaml` of the working directory
            where there is one.
        baseline: A file of known findings.
        keeps: Whether the findings are to be remembered, for `write`.
        looks_around: Whether `.spanwitness.yaml` of the working directory counts.

    Raises:
        RuleError: The file of suppressions cannot be read.
        SettingsError: The baseline cannot be read.
    """

    def __init__(
        self,
        *,
        suppressions: Path | None,
        baseline: Path | None,
        keeps: bool = False,
        looks_around: bool = True,
    ) -> None:
        self._entries = _read(suppressions, looks_around=looks_around)
        self._known: KnownFindings | None = None
        if baseline is not None:
            from spanwitness.findings.known import load_known

            self._known = load_known(baseline)
        self._used: set[int] = set()
        self._found: KnownFindings | None = None
        if keeps:
            from spanwitness.findings.known import KnownFindings

            self._found = KnownFindings()

    def mark(self, run: Run, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation with those violations marked that do not count."""
        is_idle = not self._entries and self._known is None and self._found is None
        if is_idle or not evaluation.findings:
            return evaluation
        return evaluation.with_verdicts(
            tuple(self._marked(run, v) if v.is_finding else v for v in evaluation.verdicts)
        )

    def mark_judged(self, judged: Judged) -> Judged:
        """Return the judged run with those violations marked that do not count."""
        if not self._entries and self._known is None:
            return judged
        run = judged.run
        verdicts = tuple(self._marked(run, v) if v.is_finding else v for v in judged.verdicts)
        return msgspec.structs.replace(judged, verdicts=verdicts)

    def _marked(self, run: Run, verdict: Verdict) -> Verdict:
        from spanwitness.findings.fingerprint import fingerprint
        from spanwitness.model.verdict import Suppressed

        key = fingerprint(run, verdict)
        for place, entry in enumerate(self._entries):
            if entry.covers(fingerprint=key, rule=verdict.rule):
                self._used.add(place)
                if not entry.is_expired(_today()):
                    mark = Suppressed(
                        by="suppression", reason=entry.reason, expires=entry.expires.isoformat()
                    )
                    return msgspec.structs.replace(verdict, suppressed=mark)
        if self._found is not None:
            self._found.add(key, verdict)
        if self._known is not None and key in self._known:
            mark = Suppressed(by="baseline", reason="known in the baseline")
            return msgspec.structs.replace(verdict, suppressed=mark)
        return verdict

    def notes(self) -> Iterator[str]:
        """Tell which suppressions have expired or matched nothing, when all runs were marked."""
        for place, entry in enumerate(self._entries):
            named = f"suppression of {entry.rule} {entry.fingerprint[:12]}"
            if entry.is_expired(_today()):
                yield f"{named}: expired on {entry.expires}; what it names counts again"
            elif place not in self._used:
                yield f"{named}: matches no finding of these runs; remove it if none is expected"

    def write(self, path: Path) -> int:
        """Write the findings of this check that no suppression covers; return how many.

        Raises:
            SettingsError: The file cannot be written.
        """
        from spanwitness.errors import SettingsError

        if self._found is None:
            return 0
        try:
            path.write_text(self._found.as_text(), encoding="utf-8")
        except OSError as error:
            raise SettingsError(f"{path}: cannot be written: {error.strerror}") from None
        return len(self._found)


def _today() -> date:
    # Asked each time: a server outlives the day on which it was started.
    return datetime.now(UTC).date()


def _read(path: Path | None, *, looks_around: bool) -> tuple[Suppression, ...]:
    if path is None:
        if not looks_around:
            return ()
        path = Path(DEFAULT_FILE)
        if not path.is_file():
            return ()
    from spanwitness.contracts.suppressions import load_suppressions

    return load_suppressions(path).suppressions
