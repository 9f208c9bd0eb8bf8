# ruff: noqa: E501
from __future__ import annotations

import base64
import gzip
import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spanwitness.archive import TraceReader, read_traces

if TYPE_CHECKING:
    from spanwitness.model import SpanRecord

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def raw_span(trace: str = TRACE, span: str = SPAN, **given: Any) -> dict[str, Any]:
    return {"traceId": trace, "spanId": span, "name": "chat", **given}


def request(*spans: dict[str, Any], service: str = "s") -> dict[str, Any]:
    attribute = {"key": "service.name", "value": {"stringValue": service}}
    scoped = {"scope": {"name": "lib"}, "spans": list(spans)}
    return {"resourceSpans": [{"resource": {"attributes": [attribute]}, "scopeSpans": [scoped]}]}


def write(path: Path, *documents: Any) -> Path:
    path.write_text("".join(json.dumps(document) + "\n" for document in documents))
    return path


def read(*paths: Path, **given: Any) -> list[list[SpanRecord]]:
    reader = TraceReader(paths, **given)
    found = list(reader)
    assert reader.problems == []
    return found


def only(path: Path) -> SpanRecord:
    ((span,),) = read(path)
    return span


# --- shapes of files


def test_a_line_is_a_request(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", request(raw_span()), request(raw_span(span="1" * 16)))
    (spans,) = read(path)
    assert [span.span_id for span in spans] == [SPAN, "1" * 16]
    assert (spans[0].resource, spans[0].scope) == ({"service.name": "s"}, "lib")


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("is_list", [False, True])
def test_a_file_may_be_one_document_on_one_or_many_lines(
    tmp_path: Path, indent: int | None, is_list: bool
) -> None:
    document: Any = request(raw_span())
    (tmp_path / "a.json").write_text(json.dumps([document] if is_list else document, indent=indent))
    assert only(tmp_path / "a.json").span_id == SPAN


def test_compressed_files_are_read_whatever_their_name(tmp_path: Path) -> None:
    data = gzip.compress(json.dumps(request(raw_span())).encode())
    for name in ("a.json.gz", "a.json"):
        (tmp_path / name).write_bytes(data)
        assert only(tmp_path / name).span_id == SPAN


def test_a_folder_is_searched_and_its_traces_are_joined_across_files(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    write(tmp_path / "a.otlp.json", request(raw_span()))
    write(tmp_path / "deep" / "b.jsonl", request(raw_span(span="2" * 16)))
    (tmp_path / "readme.txt").write_text("no trace")
    (spans,) = read(tmp_path)
    assert {span.span_id for span in spans} == {SPAN, "2" * 16}


def test_standard_input_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = json.dumps(request(raw_span())).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert only(Path("-")).span_id == SPAN


def test_blank_lines_a_byte_order_mark_and_crlf_do_no_harm(tmp_path: Path) -> None:
    line = json.dumps(request(raw_span())).encode()
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + line + b"\r\n\r\n" + line + b"\r\n")
    ((first, second),) = read(tmp_path / "a.jsonl")
    assert first == second


def test_an_empty_file_and_an_empty_folder_are_noted(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("")
    (tmp_path / "none").mkdir()
    reader = TraceReader([tmp_path / "a.json", tmp_path / "none"])
    assert list(reader) == []
    assert reader.problems == []
    assert len(reader.notes) == 2


def test_logs_metrics_and_findings_are_noted_and_not_unusable(tmp_path: Path) -> None:
    write(tmp_path / "l.json", {"resourceLogs": [{"scopeLogs": []}]}, {"resourceLogs": [{}]})
    write(tmp_path / "m.json", {"resourceMetrics": [{}]})
    write(tmp_path / "f.jsonl", {"schema": "spanwitness.finding/1", "rule": "tool_bypass"})
    write(tmp_path / "n.json", {})
    reader = read_traces([tmp_path])
    assert list(reader) == []
    assert reader.problems == []
    assert [note.rpartition(": ")[2] for note in reader.notes] == [
        "findings, not spans",
        "log records, not spans",
        "metrics, not spans",
    ]


# --- what cannot be read


def test_a_bad_line_is_named_and_everything_else_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    good = json.dumps(request(raw_span()))
    path.write_text(f'{good}\n{{"resourceSpans": [\n{good}\n{{"spans": []}}\nnothing\n')
    reader = TraceReader([path])
    assert [len(spans) for spans in reader] == [2]
    assert [(p.path, p.line) for p in reader.problems] == [
        (str(path), 2),
        (str(path), 4),
        (str(path), 5),
    ]
    assert "resourceSpans" in reader.problems[1].reason


def test_a_bad_first_line_does_not_hide_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"resourceSpans": [{"cut\n' + json.dumps(request(raw_span())) + "\n")
    reader = TraceReader([path])
    assert [len(spans) for spans in reader] == [1]
    assert [p.line for p in reader.problems] == [1]


def test_a_cut_document_over_many_lines_is_one_problem(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(request(raw_span()), indent=2)[:-20])
    reader = TraceReader([path])
    assert list(reader) == []
    assert len(reader.problems) == 1


def test_a_missing_file_and_a_broken_gzip_are_problems(tmp_path: Path) -> None:
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"x" * 9000)[:30])
    good = write(tmp_path / "c.jsonl", request(raw_span()))
    reader = TraceReader([tmp_path / "a.json", tmp_path / "b.gz", good])
    assert [len(spans) for spans in reader] == [1]
    assert [Path(p.path).name for p in reader.problems] == ["a.json", "b.gz"]


@pytest.mark.parametrize(
    "bad",
    [
        {"traceId": "xyz", "spanId": SPAN},
        {"traceId": TRACE, "spanId": "short"},
        {"traceId": TRACE},
        raw_span(attributes="none"),
        raw_span(startTimeUnixNano="soon"),
    ],
)
def test_a_bad_span_does_not_take_its_neighbours_with_it(
    tmp_path: Path, bad: dict[str, Any]
) -> None:
    path = write(tmp_path / "a.jsonl", request(raw_span(), bad, raw_span(span="3" * 16)))
    reader = TraceReader([path])
    (spans,) = list(reader)
    assert [span.span_id for span in spans] == [SPAN, "3" * 16]
    (problem,) = reader.problems
    assert problem.line == 1


# --- values


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stringValue": "x"}, "x"),
        ({"stringValue": ""}, ""),
        ({"intValue": "-9007199254740993"}, -9007199254740993),
        ({"intValue": 7}, 7),
        ({"boolValue": False}, False),
        ({"doubleValue": 0.5}, 0.5),
        ({"doubleValue": 3}, 3.0),
        ({"doubleValue": "Infinity"}, float("inf")),
        ({"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "b"}, {}]}}, [1, "b", None]),
        ({"arrayValue": {}}, []),
        (
            {
                "kvlistValue": {
                    "values": [
                        {
                            "key": "a",
                            "value": {"arrayValue": {"values": [{"kvlistValue": {"values": []}}]}},
                        }
                    ]
                }
            },
            {"a": [{}]},
        ),
        ({"bytesValue": "AQI="}, "AQI="),
        ({}, None),
    ],
)
def test_every_kind_of_attribute_is_read(
    tmp_path: Path, value: dict[str, Any], expected: object
) -> None:
    found = only(
        write(tmp_path / "a.json", request(raw_span(attributes=[{"key": "k", "value": value}])))
    )
    assert found.attributes == {"k": expected}
    assert type(found.attributes["k"]) is type(expected)


def test_a_span_is_read_with_everything_it_has(tmp_path: Path) -> None:
    event = {
        "name": "exception",
        "timeUnixNano": "15",
        "attributes": [{"key": "exception.type", "value": {"stringValue": "E"}}],
    }
    found = only(write(tmp_path / "a.json", request(raw_span(
        parentSpanId="C" * 16, startTimeUnixNano="10", endTimeUnixNano=20, events=[event], kind=3, flags=256,
        links=[{"traceId": TRACE, "spanId": SPAN}], status={"code": 2, "message": "boom"}, droppedAttributesCount=3,
    ))))  # fmt: skip
    assert (found.parent_span_id, found.start_ns, found.end_ns) == ("c" * 16, 10, 20)
    assert (found.status, found.status_message, found.dropped_attributes) == ("error", "boom", 3)
    (seen,) = found.events
    assert (seen.name, seen.time_ns, seen.attributes) == ("exception", 15, {"exception.type": "E"})


@pytest.mark.parametrize(
    ("code", "word"),
    [(0, "unset"), (1, "ok"), ("STATUS_CODE_ERROR", "error"), ("STATUS_CODE_UNSET", "unset")],
)
def test_a_status_is_a_number_or_a_name(tmp_path: Path, code: object, word: str) -> None:
    assert only(write(tmp_path / "a.json", request(raw_span(status={"code": code})))).status == word


def test_ids_are_hex_in_any_case_or_base64(tmp_path: Path) -> None:
    encoded = raw_span(
        base64.b64encode(bytes.fromhex(TRACE)).decode(),
        base64.b64encode(bytes.fromhex("4" * 16)).decode(),
    )
    path = write(tmp_path / "a.jsonl", request(raw_span(TRACE.upper(), SPAN.upper()), encoded))
    ((first, second),) = read(path)
    assert (first.trace_id, first.span_id, second.span_id) == (TRACE, SPAN, "4" * 16)


@pytest.mark.parametrize("parent", ["", "0" * 16, None])
def test_no_parent_is_written_in_several_ways(tmp_path: Path, parent: str | None) -> None:
    assert (
        only(write(tmp_path / "a.json", request(raw_span(parentSpanId=parent)))).parent_span_id
        is None
    )


def test_a_lone_surrogate_or_a_bare_nan_costs_nothing_but_time(tmp_path: Path) -> None:
    text = json.dumps(request(raw_span(attributes=[
        {"key": "a", "value": {"stringValue": "\ud800"}}, {"key": "b", "value": {"doubleValue": float("nan")}}])))  # fmt: skip
    (tmp_path / "a.json").write_text(text)
    found = only(tmp_path / "a.json")
    assert found.attributes["a"] == "\ud800"
    assert found.attributes["b"] != found.attributes["b"]


def test_names_of_protobuf_itself_and_of_before_2022_are_read(tmp_path: Path) -> None:
    snake = {
        "resource_spans": [
            {
                "scope_spans": [
                    {"spans": [{"trace_id": TRACE, "span_id": SPAN, "start_time_unix_nano": "5"}]}
                ]
            }
        ]
    }
    old = {
        "resourceSpans": [
            {
                "instrumentationLibrarySpans": [
                    {"instrumentationLibrary": {"name": "lib"}, "spans": [raw_span(span="5" * 16)]}
                ]
            }
        ]
    }
    ((first, second),) = read(write(tmp_path / "a.jsonl", snake, old))
    assert (first.start_ns, second.scope) == (5, "lib")


# --- large inputs


def many(path: Path, *, n_traces: int, n_spans: int, is_interleaved: bool) -> Path:
    ids = [(f"{t + 1:032x}", f"{s + 1:016x}") for t in range(n_traces) for s in range(n_spans)]
    if is_interleaved:
        ids.sort(key=lambda pair: pair[1])
    spans = [
        raw_span(trace, span, attributes=[{"key": "k", "value": {"stringValue": "x" * 50}}])
        for trace, span in ids
    ]
    return write(path, *(request(*spans[n : n + 7]) for n in range(0, len(spans), 7)))


@pytest.mark.parametrize("is_interleaved", [False, True])
@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("held_bytes", [1, 3_000, 40_000, 10**9])
def test_every_trace_is_given_out_once_and_whole_however_little_may_be_held(
    tmp_path: Path, is_interleaved: bool, is_compressed: bool, held_bytes: int
) -> None:
    path = many(tmp_path / "a.jsonl", n_traces=60, n_spans=9, is_interleaved=is_interleaved)
    if is_compressed:
        (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
        path = tmp_path / "a.jsonl.gz"
    found = read(path, held_bytes=held_bytes)
    assert sorted(spans[0].trace_id for spans in found) == [f"{t + 1:032x}" for t in range(60)]
    for spans in found:
        assert {span.trace_id for span in spans} == {spans[0].trace_id}
        assert sorted(span.span_id for span in spans) == [f"{s + 1:016x}" for s in range(9)]
        assert all(span.resource == {"service.name": "s"} and span.scope == "lib" for span in spans)


@pytest.mark.parametrize("held_bytes", [1, 2_000, 10**9])
def test_traces_across_files_and_bad_lines_come_out_the_same_from_large_inputs(
    tmp_path: Path, held_bytes: int
) -> None:
    paths = [
        many(tmp_path / f"{n}.jsonl", n_traces=20, n_spans=4, is_interleaved=n == 1)
        for n in range(3)
    ]
    bad = request(raw_span(), {"traceId": TRACE, "spanId": "short"})
    with paths[1].open("a") as file:
        file.write("{bad\n" + json.dumps(bad) + "\n")
    reader = TraceReader(paths, held_bytes=held_bytes)
    found = list(reader)
    assert len(found) == 21
    assert sum(map(len, found)) == 3 * 20 * 4 + 1
    assert len(reader.problems) == 2
    assert {problem.path for problem in reader.problems} == {str(paths[1])}


def test_temporary_files_are_gone_when_the_reader_is_left_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    path = many(tmp_path / "a.jsonl", n_traces=60, n_spans=9, is_interleaved=True)
    traces = iter(TraceReader([path], held_bytes=3_000))
    next(traces)
    assert list((tmp_path / "tmp").iterdir()) != []
    traces.close()  # type: ignore[attr-defined]
    assert list((tmp_path / "tmp").iterdir()) == []
