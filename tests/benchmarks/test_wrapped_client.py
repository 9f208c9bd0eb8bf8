"""The benchmark of wrapped clients runs, on tiny sizes, and leaves the tracer as it was."""

from __future__ import annotations

import pytest

from benchmarks import timing, wrapped_client
from spanwitness.capture import spans


def test_the_wrapped_client_is_measured_beside_plain_spans(tmp_path, monkeypatch):
    monkeypatch.setattr(timing, "RAW", tmp_path)
    found = wrapped_client.rows(n_batches=1, n_rounds=3, n_streams=3)

    assert len([row for row in found if "plain spans" in row.figure]) == 12
    assert {row.bar for row in found} == {"<= 1.5", "< 1 ms later", "", "<= 16 MiB"}
    assert {path.stem for path in tmp_path.iterdir()} == {
        "wrapped_client",
        "first_chunk",
        "stream_memory",
    }
    assert spans.provider() is None


@pytest.mark.parametrize("n_bytes", [18_000, 280_000])
def test_histories_have_the_size_that_their_rows_name(n_bytes):
    bodies = wrapped_client.conversation(n_bytes)

    assert n_bytes < len(bodies[0]) < n_bytes + 12_000
    assert len(bodies[-1]) > len(bodies[0])
