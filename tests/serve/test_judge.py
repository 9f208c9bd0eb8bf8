"""From held spans to sinks: late spans, failing sinks, restarts."""

from __future__ import annotations

import pytest
from tests.serve.servers import Collecting
from tests.serve.spans import cut_run, good_run, trace_id

from spanwitness.archive.otlp_json import encode_request
from spanwitness.findings.accepted import Accepted
from spanwitness.findings.fingerprint import fingerprint
from spanwitness.serve.counters import Counters
from spanwitness.serve.holder import HoldLimits, TraceHolder
from spanwitness.serve.intake import Intake
from spanwitness.serve.judge import Judge
from spanwitness.serve.spool import Spool


class Case:
    """A receiver on a clock that is moved by hand."""

    def __init__(self, *sinks, spool=None, accepted=None, **limits) -> None:
        self.now = 0.0
        self.holder = TraceHolder(HoldLimits(**{"grace_s": 10, "keep_s": 100, **limits}))
        self.counters = Counters()
        self.intake = Intake(
            self.holder, spool=spool, counters=self.counters, clock=lambda: self.now
        )
        self.judge = Judge(
            self.holder,
            accepted=accepted,
            sinks=sinks,
            counters=self.counters,
            spool=spool,
            clock=lambda: self.now,
        )

    def receive(self, spans):
        return self.intake.receive("json", encode_request(spans))

    def run(self, *, after_s=0.0):
        self.now += after_s
        return self.judge.run_due()


def test_a_run_is_told_once():
    sink = Collecting()
    case = Case(sink)
    case.receive(cut_run())
    assert [case.run(after_s=5), case.run(after_s=5), case.run(after_s=50)] == [0, 1, 0]
    (told,) = sink.runs
    assert len(told.news) == 1
    assert case.counters.runs == {"flagged": 1}
    assert case.counters.findings == {("truncated_output", "error"): 1}


def test_a_finding_that_is_suppressed_or_known_is_told_as_such_and_counts_for_nothing(tmp_path):
    sink = Collecting()
    case = Case(sink)
    case.receive(cut_run())
    case.run(after_s=10)
    (told,) = sink.runs
    (found,) = told.judged.findings
    key = fingerprint(told.judged.run, found)
    file = tmp_path / "s.yaml"
    for expires, rules in (("2999-01-31", set()), ("2020-01-31", {"truncated_output"})):
        file.write_text(
            f"suppressions:\n  - {{fingerprint: '{key}', rule: truncated_output, reason: a known "
            f"bug, expires: {expires}}}\n"
        )
        accepted = Accepted(suppressions=file, baseline=None, looks_around=False)
        sink = Collecting()
        case = Case(sink, accepted=accepted)
        case.receive(cut_run())
        case.run(after_s=10)
        assert sink.rules() == rules
        (told,) = sink.runs
        assert told.judged.is_flagged is bool(rules)
        assert {v.rule for v in told.judged.verdicts if v.verdict == "violated"} == {
            "truncated_output"
        }


def test_late_spans_have_a_run_judged_again_and_only_news_are_new():
    sink = Collecting()
    case = Case(sink)
    root, chat = cut_run()
    case.receive([root])
    case.run(after_s=10)
    assert sink.rules() == set()
    case.receive([chat])
    case.run(after_s=10)
    again = sink.runs[-1]
    assert [key[0] for key in again.news] == ["truncated_output"]
    case.receive(cut_run(root.trace_id))
    assert case.run(after_s=50) == 0
    assert case.counters.spans == {"taken": 2, "duplicate": 2}
    assert case.counters.findings == {("truncated_output", "error"): 1}


def test_a_run_whose_root_never_comes_is_told_as_incomplete():
    sink = Collecting()
    case = Case(sink, max_age_s=60)
    case.receive([cut_run()[1]])
    assert case.run(after_s=30) == 0
    assert case.run(after_s=30) == 1
    assert not sink.runs[0].judged.run.is_complete


@pytest.mark.contains_faults
def test_a_sink_that_fails_is_told_again_later_and_the_others_wait():
    failing, last = Collecting(n_failures=2), Collecting()
    failing.name = "failing"
    case = Case(failing, last)
    case.receive(cut_run())
    case.run(after_s=10)
    assert (failing.runs, last.runs) == ([], [])
    assert case.run() == 0
    case.run(after_s=1.1)
    assert last.runs == []
    case.run(after_s=2.1)
    assert len(failing.runs) == len(last.runs) == 1
    assert case.counters.sink_failures == {"failing": 2}
    assert case.counters.findings == {("truncated_output", "error"): 1}


@pytest.mark.contains_faults
def test_a_sink_that_fails_keeps_no_other_trace_from_being_judged():
    class OneOff(Collecting):
        def take(self, runs):
            if any(run.judged.run.trace_id == bad[0].trace_id for run in runs):
                raise OSError("not this one")
            super().take(runs)

    bad, good = cut_run(), cut_run()
    sink = OneOff()
    case = Case(sink)
    case.receive(bad)
    case.receive(good)
    case.run(after_s=10)
    assert [run.judged.run.trace_id for run in sink.runs] == [good[0].trace_id]


def test_what_was_answered_is_judged_by_the_next_process(tmp_path):
    first = Case(Collecting(), spool=Spool(tmp_path))
    assert first.receive(cut_run()).word == "ok"
    assert first.receive(good_run()[1:]).word == "ok"
    first.judge._spool.close()  # killed: nothing was judged

    sink = Collecting()
    spool = Spool(tmp_path)
    second = Case(sink, spool=spool)
    assert spool.replay(second.intake.replay) == 2
    second.run(after_s=10)
    assert sink.rules() == {"truncated_output"}
    spool.close()


def test_a_stop_judges_what_is_held_and_the_next_process_gets_what_was_not_over(tmp_path):
    sink = Collecting()
    spool = Spool(tmp_path)
    first = Case(sink, spool=spool)
    root, chat = cut_run()
    first.receive(good_run())
    first.receive([chat])
    assert first.judge.stop() == 0
    assert [run.judged.run.is_complete for run in sink.runs] == [True, False]
    spool.close()

    later = Collecting()
    spool = Spool(tmp_path)
    second = Case(later, spool=spool)
    spool.replay(second.intake.replay)
    second.receive([root])
    second.run(after_s=10)
    told = {run.judged.run.trace_id: run for run in later.runs}
    assert told[root.trace_id].judged.run.is_complete
    spool.close()


def test_the_spool_empties_when_traces_are_let_go(tmp_path):
    spool = Spool(tmp_path)
    case = Case(Collecting(), spool=spool)
    case.receive(cut_run())
    assert spool.size_bytes > 0
    case.run(after_s=10)
    assert spool.size_bytes > 0  # late spans may come
    case.run(after_s=101)
    assert (spool.size_bytes, len(case.holder)) == (0, 0)
    spool.close()


def test_a_full_spool_is_rewritten_without_what_is_done(tmp_path):
    sink = Collecting()
    spool = Spool(tmp_path, max_bytes=30_000_000)
    case = Case(sink, spool=spool, grace_s=1000, max_age_s=10_000)
    slow = trace_id()
    root, chat = cut_run(slow)
    case.receive([chat])
    for _ in range(5):
        filler = good_run()
        filler[1].attributes["padding"] = "x" * 9_000_000
        case.receive(filler)
        case.run()
    case.run(after_s=1000)
    case.now += 200
    for _ in range(4):
        case.run()
    assert spool.size_bytes < 30_000_000
    spool.close()

    spool = Spool(tmp_path)
    fresh = Case(sink, spool=spool)
    spool.replay(fresh.intake.replay)
    fresh.receive([root])
    sink.runs.clear()
    fresh.run(after_s=10)
    assert slow in {run.judged.run.trace_id for run in sink.runs}
    assert sink.rules() == {"truncated_output"}
    spool.close()


@pytest.mark.contains_faults
def test_a_disk_that_is_full_is_no_success(tmp_path):
    class FullSpool(Spool):
        def append(self, *_):
            raise OSError(28, "No space left on device")

    spool = FullSpool(tmp_path)
    case = Case(Collecting(), spool=spool)
    assert case.receive(cut_run()).word == "full"
    spool.close()
