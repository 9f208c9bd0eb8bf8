"""The scripted collector with everything that `configure` sends."""

from __future__ import annotations

import logging

import spanwitness as sw
from spanwitness.testing.collector import Answer, ScriptedCollector


def test_metrics_are_taken_and_use_up_no_answer_of_the_script(tmp_path, caplog):
    with (
        caplog.at_level(logging.WARNING),
        ScriptedCollector(Answer(status=503), Answer(status=503)) as collector,
    ):
        witness = sw.configure("svc", endpoint=collector.url, state_dir=tmp_path)
        with sw.run("answer"):
            pass
        assert witness.flush(10) is True
        assert witness.shutdown() is True
        assert [span.name for span in collector.spans] == ["invoke_workflow answer"]
        assert {request.path for request in collector.requests} == {"/v1/traces"}
    assert "metrics" not in caplog.text
