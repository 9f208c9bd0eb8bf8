from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from spanwitness.archive import TraceReader
from spanwitness.archive.otlp_json import encode
from spanwitness.model import SpanEvent, SpanRecord

_FOLDER = tempfile.TemporaryDirectory(prefix="spanwitness-test-")
_text = st.text(max_size=12)
_scalars = st.one_of(
    _text, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.none()
)
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_text, inner, max_size=3)),
    max_leaves=6,
)
_attributes = st.dictionaries(_text, _values, max_size=4)
_times = st.integers(0, 2**63 - 1)
_events = st.builds(SpanEvent, name=_text, time_ns=_times, attributes=_attributes)
_spans = st.builds(
    SpanRecord,
    trace_id=st.sampled_from(["0a" * 16, "0b" * 16]),
    span_id=st.integers(1, 2**64 - 1).map(lambda n: f"{n:016x}"),
    parent_span_id=st.one_of(st.none(), st.integers(1, 99).map(lambda n: f"{n:016x}")),
    name=_text,
    start_ns=_times,
    end_ns=_times,
    status=st.sampled_from(["unset", "ok", "error"]),
    status_message=_text,
    attributes=_attributes,
    events=st.lists(_events, max_size=2).map(tuple),
    resource=_attributes,
    scope=_text,
    dropped_attributes=st.integers(0, 9),
)


@settings(deadline=None)
@given(st.lists(_spans, max_size=6), st.integers(1, 4))
def test_what_is_written_is_read_back_equal(spans: list[SpanRecord], batch: int) -> None:
    path = Path(_FOLDER.name) / "t.jsonl"
    path.write_bytes(b"\n".join(encode(spans, batch=batch)))
    reader = TraceReader([path])
    found = [span for trace in reader for span in trace]
    assert reader.problems == []
    assert sorted(map(repr, found)) == sorted(map(repr, spans))


def test_a_line_is_an_export_request_as_the_standard_has_it() -> None:
    span = SpanRecord(
        trace_id="0a" * 16, span_id="0b" * 8, name="chat", start_ns=1, end_ns=2, scope="lib",
        attributes={"n": 1, "t": "x", "l": ["a"]}, resource={"service.name": "s"}, status="error",
    )  # fmt: skip
    (line,) = encode([span])
    assert b"\n" not in line
    ((group,),) = json.loads(line).values()
    assert group["resource"] == {
        "attributes": [{"key": "service.name", "value": {"stringValue": "s"}}]
    }
    (scoped,) = group["scopeSpans"]
    assert scoped["scope"] == {"name": "lib"}
    (written,) = scoped["spans"]
    assert written == {
        "traceId": "0a" * 16, "spanId": "0b" * 8, "name": "chat", "startTimeUnixNano": "1",
        "endTimeUnixNano": "2", "status": {"code": 2},
        "attributes": [
            {"key": "n", "value": {"intValue": "1"}},
            {"key": "t", "value": {"stringValue": "x"}},
            {"key": "l", "value": {"arrayValue": {"values": [{"stringValue": "a"}]}}},
        ],
    }  # fmt: skip


def test_a_value_that_json_cannot_hold_is_written_as_text_and_harms_nobody() -> None:
    odd = SpanRecord(
        trace_id="0a" * 16,
        span_id="0b" * 8,
        name="x",
        attributes={"a": "\ud800", "b": 2**70, "c": float("nan"), "d": Path("p")},
    )
    path = Path(_FOLDER.name) / "odd.jsonl"
    path.write_bytes(b"\n".join(encode([odd])))
    reader = TraceReader([path])
    ((found,),) = list(reader)
    assert reader.problems == []
    assert found.attributes["d"] == "p"
    assert found.attributes["b"] == 2**70
