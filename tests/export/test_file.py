from __future__ import annotations

import json
import multiprocessing
import os
import resource
import stat

import pytest
from tests.export.pipelines import pipeline

from spanwitness.errors import SettingsError
from spanwitness.export.destination import ExportSettings
from spanwitness.export.file import FileSender


def spans_in(path) -> list[dict]:
    found = []
    for line in path.read_text().splitlines():
        for group in json.loads(line)["resourceSpans"]:
            for scope in group["scopeSpans"]:
                found += scope["spans"]
    return found


def test_each_trace_has_a_file_of_whole_lines_that_its_owner_alone_can_read(tmp_path):
    directory = tmp_path / "state" / "traces"
    with pipeline(directory=directory) as p:
        for name in ("first", "second"):
            with p.tracer.start_as_current_span(name) as span:
                p.end_spans(2)
            assert p.processor.flush(5) is True
            trace_id = f"{span.get_span_context().trace_id:032x}"
            spans = spans_in(directory / f"{trace_id}.jsonl")
            assert [s["name"] for s in spans] == ["span-0", "span-1", name]
            assert {s["traceId"] for s in spans} == {trace_id}
            p.end_spans(1)
    assert len(list(directory.iterdir())) == 4
    for path in directory.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_a_trace_that_goes_on_is_appended_to(tmp_path):
    with pipeline(directory=tmp_path) as p:
        with p.tracer.start_as_current_span("root"):
            p.end_spans(1)
            assert p.processor.flush(5) is True
        assert p.processor.flush(5) is True
    (path,) = tmp_path.iterdir()
    assert [s["name"] for s in spans_in(path)] == ["span-0", "root"]


def append_lines(directory, n_lines):
    from spanwitness.export.file import _append

    for i in range(n_lines):
        line = json.dumps({"pid": os.getpid(), "i": i, "pad": "x" * (i * 37 % 9000)}) + "\n"
        _append(directory / ("a" * 32 + ".jsonl"), line.encode(), 1 << 30)


def test_processes_that_write_one_trace_do_not_mix_their_lines(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=append_lines, args=(tmp_path, 200)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lines = [json.loads(x) for x in (tmp_path / ("a" * 32 + ".jsonl")).read_text().splitlines()]
    assert len(lines) == 600
    for pid in {line["pid"] for line in lines}:
        assert [line["i"] for line in lines if line["pid"] == pid] == list(range(200))


def test_a_line_that_a_killed_process_left_unfinished_does_not_spoil_the_next(tmp_path):
    from spanwitness.export.file import _append

    path = tmp_path / ("a" * 32 + ".jsonl")
    path.write_bytes(b'{"whole":1}\n{"tor')
    _append(path, b'{"next":1}\n', 1 << 20)
    assert path.read_bytes() == b'{"whole":1}\n{"tor\n{"next":1}\n'


def test_a_full_file_is_a_counted_loss(tmp_path):
    with pipeline(directory=tmp_path, max_file_bytes=3000) as p:
        with p.tracer.start_as_current_span("root"):
            p.end_spans(2)
            assert p.processor.flush(5) is True
            p.end_spans(20)
            assert p.processor.flush(5) is False
        (path,) = tmp_path.iterdir()
        assert len(spans_in(path)) == 2
        assert p.losses.as_dict() == {"disk": 20}


def test_a_link_in_the_place_of_a_trace_file_is_not_followed(tmp_path):
    target = tmp_path / "target"
    target.write_text("precious")
    directory = tmp_path / "traces"
    sender = FileSender(ExportSettings(directory=directory))
    with pipeline(sender=sender, directory=directory) as p:
        span = p.tracer.start_span("x")
        sender.path_of(f"{span.get_span_context().trace_id:032x}").symlink_to(target)
        span.end()
        assert p.processor.flush(5) is False
        assert p.losses.as_dict() == {"disk": 1}
    assert target.read_text() == "precious"


@pytest.mark.parametrize(
    ("bound", "n_left"),
    [({"max_files": 3}, 3), ({"max_directory_bytes": 2500}, 2), ({"max_age_days": 4.5}, 5)],
)
def test_the_oldest_files_go_when_a_bound_is_passed_and_nothing_else(tmp_path, bound, n_left):
    newest = 1_700_000_000
    for age_days in range(10):
        path = tmp_path / f"{age_days:032x}.jsonl"
        path.write_bytes(b"x" * 1000)
        os.utime(path, (newest - age_days * 86_400,) * 2)
    (tmp_path / "notes.txt").write_text("not ours")
    sender = FileSender(ExportSettings(directory=tmp_path, **bound))
    sender._sweep()
    left = sorted(p.name for p in tmp_path.glob("*.jsonl"))
    assert left == [f"{age:032x}.jsonl" for age in range(n_left)]
    assert sender.n_files_dropped == 10 - n_left
    assert (tmp_path / "notes.txt").exists()


def test_writing_sweeps_and_keeps_the_trace_that_was_just_written(tmp_path):
    for i in range(5):
        path = tmp_path / f"{i:032x}.jsonl"
        path.write_bytes(b"x")
        os.utime(path, (1000 + i, 1000 + i))
    with pipeline(directory=tmp_path, max_files=1) as p:
        p.end_spans(1)
        assert p.processor.flush(5) is True
        assert p.losses.total == 0
    (path,) = tmp_path.iterdir()
    assert spans_in(path)[0]["name"] == "span-0"


def test_a_place_that_cannot_be_a_directory_is_an_error_at_set_up(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be made"):
        FileSender(ExportSettings(directory=tmp_path / "file" / "traces"))


def test_a_line_that_the_disk_does_not_take_whole_is_taken_back(tmp_path):
    from spanwitness.export.file import _append

    path = tmp_path / ("a" * 32 + ".jsonl")
    _append(path, b'{"first":1}\n', 1 << 30)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            _append(path, b"x" * 5000 + b"\n", 1 << 30)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b'{"first":1}\n'


def test_stored_traces_are_read_back_by_the_archive(tmp_path):
    from spanwitness.archive import read_traces

    with pipeline(directory=tmp_path) as p:
        with p.tracer.start_as_current_span("root", attributes={"gen_ai.operation.name": "chat"}):
            p.end_spans(3, text="\u00fc\n", flag=True, names=("a", "b"), big=2**60)
        assert p.processor.flush(5) is True
    reader = read_traces([tmp_path])
    (trace,) = list(reader)
    spans = {s.name: s for s in getattr(trace, "spans", trace)}
    assert set(spans) == {"root", "span-0", "span-1", "span-2"}
    child = spans["span-1"]
    assert child.parent_span_id == spans["root"].span_id
    assert child.attributes == {
        "i": 1,
        "text": "\u00fc\n",
        "flag": True,
        "names": ["a", "b"],
        "big": 2**60,
    }
    assert child.resource["service.name"] == "tests"
