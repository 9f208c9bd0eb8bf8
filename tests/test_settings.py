"""The environment, read."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanwitness.errors import SettingsError
from spanwitness.settings import read

OTEL = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def test_an_empty_environment_says_nothing():
    settings = read({})
    assert (settings.is_disabled, settings.content) == (False, None)
    assert (settings.traces_exporter, settings.metrics_exporter) == (None, None)
    assert settings.state_dir.name == "spanwitness"


@pytest.mark.parametrize(
    ("variables", "content"),
    [
        ({"SPANWITNESS_CONTENT": "off"}, "off"),
        ({"SPANWITNESS_CONTENT": " Digests "}, "digests"),
        ({"SPANWITNESS_CONTENT": ""}, None),
        ({OTEL: "NO_CONTENT"}, "off"),
        ({OTEL: "false"}, "off"),
        ({OTEL: "EVENT_ONLY"}, "off"),
        ({OTEL: "SPAN_ONLY"}, "on"),
        ({OTEL: "span_and_event"}, "on"),
        ({OTEL: "True"}, "on"),
        ({"SPANWITNESS_CONTENT": "off", OTEL: "true"}, "off"),
        ({"SPANWITNESS_CONTENT": "on", OTEL: "no such word"}, "on"),
    ],
)
def test_the_privacy_switch_is_read(variables, content):
    assert read(variables).content == content


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SPANWITNESS_CONTENT", "1"),
        ("SPANWITNESS_CONTENT", "none"),
        (OTEL, "1"),
        ("OTEL_TRACES_EXPORTER", "zipkin"),
        ("OTEL_METRICS_EXPORTER", "otlp,console"),
    ],
)
def test_a_word_that_is_not_known_refuses_to_start(name, value):
    with pytest.raises(SettingsError) as caught:
        read({name: value})
    assert name in str(caught.value)
    assert repr(value) in str(caught.value)
    assert "set it to" in str(caught.value)


def test_the_state_folder_is_made_absolute():
    assert read({"SPANWITNESS_STATE_DIR": "traces"}).state_dir == Path.cwd() / "traces"
    assert read({"SPANWITNESS_STATE_DIR": "~/x"}).state_dir == Path.home() / "x"


@pytest.mark.parametrize(("value", "expected"), [("true", True), ("TRUE", True), ("1", False)])
def test_the_sdks_own_switch_is_read_as_the_sdk_reads_it(value, expected):
    assert read({"OTEL_SDK_DISABLED": value}).is_disabled is expected


def test_headers_do_not_show_in_the_repr():
    settings = read({"OTEL_EXPORTER_OTLP_HEADERS": "authorization=canary"})
    assert "canary" not in repr(settings)
    assert settings.has("OTEL_EXPORTER_OTLP_HEADERS")


def test_the_process_environment_is_read_by_default(monkeypatch):
    monkeypatch.setenv("SPANWITNESS_CONTENT", "digests")
    assert read().content == "digests"


def test_the_queue_lies_in_the_state_folder_unless_said_otherwise():
    assert read({"SPANWITNESS_STATE_DIR": "/var/x"}).queue == "sqlite:////var/x/queue.db"
    named = read({"SPANWITNESS_QUEUE": "postgresql://me:secret@db/queue"})
    assert named.queue == "postgresql://me:secret@db/queue"
    assert "secret" not in repr(named)
