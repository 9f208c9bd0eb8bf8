"""`check --format junit`: verdicts as JUnit XML, for continuous integration."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    from spanwitness.cli.judging import JudgedRuns
    from spanwitness.cli.report import Summary
    from spanwitness.model import Run, Severity, Verdict
    from spanwitness.rules.engine import Evaluation

__all__ = ["write_junit"]

_NOT_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(judged: JudgedRuns, summary: Summary, out: TextIO, *, show_all: bool) -> None:
    """Write a test suite for each run, with a test case for each rule that had something to judge.

    A finding at or above the threshold is a failure; one below it, one that is suppressed or
    known, an explained violation and what is not assessed are skipped, with the reason. Inputs that
    could not be read are errors of a suite of their own.

    Args:
        judged: The runs; they are taken here.
        summary: Counts them, and knows the threshold.
        out: Where to.
        show_all: Whether rules that do not apply are skipped cases too.
    """
    out.write('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="spanwitness">\n')
    for run, evaluation in judged:
        _write_run(run, evaluation, summary.fail_on, out, show_all=show_all)
    if judged.problems:
        n = len(judged.problems)
        out.write(f'<testsuite name="inputs" tests="{n}" failures="0" errors="{n}" skipped="0">\n')
        out.writelines(
            f'<testcase classname="inputs" name={_quoted(problem)}>'
            f"<error message={_quoted(problem)}/></testcase>\n"
            for problem in judged.problems
        )
        out.write("</testsuite>\n")
    out.write("</testsuites>\n")


def _write_run(
    run: Run, evaluation: Evaluation, fail_on: Severity, out: TextIO, *, show_all: bool
) -> None:
    name = run.agent or run.workflow or run.name
    cases: list[str] = []
    counts: Counter[str] = Counter()
    for label, verdict in _labelled(evaluation.verdicts):
        if verdict.verdict == "not_applicable" and not show_all:
            continue
        inner = _inner(run, verdict, fail_on)
        counts["failures"] += inner.startswith("<failure")
        counts["skipped"] += inner.startswith("<skipped")
        head = f"<testcase classname={_quoted(name)} name={_quoted(label)}"
        cases.append(f"{head}>{inner}</testcase>\n" if inner else f"{head}/>\n")
    out.write(
        f'<testsuite name={_quoted(f"{name} {run.run_id}")} tests="{len(cases)}"'
        f' failures="{counts["failures"]}" errors="0" skipped="{counts["skipped"]}">\n'
        f'<properties><property name="trace_id" value={_quoted(run.trace_id)}/></properties>\n'
    )
    out.writelines(cases)
    out.write("</testsuite>\n")


def _labelled(verdicts: tuple[Verdict, ...]) -> Iterator[tuple[str, Verdict]]:
    """Name each verdict; clauses of a contract are told apart by their place."""
    places: Counter[str] = Counter()
    for verdict in verdicts:
        if verdict.contract is None:
            yield verdict.rule, verdict
        else:
            places[verdict.contract] += 1
            yield f"{verdict.rule} [{verdict.contract} {places[verdict.contract]}]", verdict


def _inner(run: Run, verdict: Verdict, fail_on: Severity) -> str:
    from spanwitness.model.verdict import at_least

    if verdict.verdict == "holds":
        return ""
    if verdict.verdict != "violated":
        return _skipped(verdict.reason or verdict.verdict.replace("_", " "))
    if verdict.explained_by is not None:
        return _skipped(f"explained by {verdict.explained_by}: {verdict.reason}")
    if verdict.suppressed is not None:
        until = f" until {verdict.suppressed.expires}" if verdict.suppressed.expires else ""
        return _skipped(f"suppressed{until} ({verdict.suppressed.reason}): {verdict.reason}")
    if not at_least(verdict.severity, fail_on):
        return _skipped(f"{verdict.severity}: {verdict.reason}")
    from spanwitness.findings.fingerprint import fingerprint

    fault = verdict.fault if verdict.kind is None else f"{verdict.fault}/{verdict.kind}"
    lines = (
        verdict.reason,
        f"fault: {fault}",
        f"trace: {run.trace_id}",
        f"spans: {', '.join(verdict.span_ids[:10]) or 'none'}",
        f"fingerprint: {fingerprint(run, verdict)}",
    )
    body = escape(_clean("\n".join(lines)))
    return (
        f'<failure type="{verdict.severity}" message={_quoted(verdict.reason)}>'
        f"{_ascii(body)}</failure>"
    )


def _skipped(message: str) -> str:
    return f"<skipped message={_quoted(message)}/>"


def _quoted(text: str) -> str:
    return _ascii(quoteattr(_clean(text)))


def _clean(text: str) -> str:
    """Make characters visible that XML cannot hold."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _ascii(text: str) -> str:
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii")
