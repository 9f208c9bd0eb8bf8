"""Starting to witness a process."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import spanwitness as sw
from spanwitness.errors import RuleError, SettingsError


def names(exporter):
    return [span.name.removeprefix("invoke_workflow ") for span in exporter.get_finished_spans()]


def traced(name="a run"):
    with sw.run(name):
        pass


# --- once


def test_a_second_call_with_the_same_arguments_changes_nothing(tmp_path):
    first = sw.configure("svc", contracts=(), content="off", state_dir=tmp_path)
    again = sw.configure("svc", contracts=[], content="off", state_dir=str(tmp_path))
    assert again is first
    assert len(first.provider._active_span_processor._span_processors) == 2


def test_a_second_call_with_other_arguments_names_what_differs():
    sw.configure("svc")
    with pytest.raises(SettingsError, match="another service_name, content: call it once"):
        sw.configure("other", content="off")


def test_after_a_shutdown_it_may_be_called_again():
    first = sw.configure("svc")
    assert first.shutdown() is True
    assert first.shutdown() is True
    second = sw.configure("other")
    assert second is not first
    traced()
    assert second.flush(5) is True
    assert len(list(second.trace_dir.glob("*.jsonl"))) == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"content": "maybe"}, SettingsError),
        ({"protocol": "carrier pigeon", "endpoint": "http://127.0.0.1:1"}, SettingsError),
        ({"endpoint": "127.0.0.1:4318"}, SettingsError),
        ({"endpoint": "http://127.0.0.1:1", "exporter": InMemorySpanExporter()}, SettingsError),
        ({"contracts": ["no/such/file.yaml"]}, (RuleError, OSError)),
        ({"contracts": "contract.yaml"}, SettingsError),
        ({"sinks": [object()]}, SettingsError),
        ({"provider": trace.NoOpTracerProvider()}, SettingsError),
    ],
)
def test_what_cannot_be_used_is_refused_and_nothing_has_changed(arguments, error):
    with pytest.raises(error):
        sw.configure("svc", **arguments)
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    assert sw.configure("svc").flush(5) is True


@pytest.mark.parametrize("name", ["SPANWITNESS_CONTENT", "OTEL_TRACES_EXPORTER"])
def test_a_variable_that_cannot_be_read_refuses_to_start(monkeypatch, name):
    monkeypatch.setenv(name, "whatever")
    with pytest.raises(SettingsError, match=f"{name}='whatever'"):
        sw.configure("svc")


# --- whose provider


def test_without_a_global_provider_it_makes_its_own_and_leaves_the_global_one_alone():
    ours = InMemorySpanExporter()
    witness = sw.configure("svc", exporter=ours)
    assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
    theirs = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(theirs))
    trace.set_tracer_provider(provider)
    assert trace.get_tracer_provider() is provider
    traced("ours")
    trace.get_tracer("app").start_span("GET /").end()
    witness.flush(5)
    assert (names(ours), names(theirs)) == (["ours"], ["GET /"])
    assert ours.get_finished_spans()[0].resource.attributes["service.name"] == "svc"


def test_an_existing_global_provider_is_attached_to_and_not_given_an_exporter(tmp_path):
    theirs = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "app"}))
    provider.add_span_processor(SimpleSpanProcessor(theirs))
    trace.set_tracer_provider(provider)
    witness = sw.configure("svc", state_dir=tmp_path)
    assert (witness.provider, witness.trace_dir) == (provider, None)
    traced("ours")
    trace.get_tracer("app").start_span("GET /").end()
    assert witness.flush(5) is True
    assert names(theirs) == ["ours", "GET /"]
    assert theirs.get_finished_spans()[0].attributes["spanwitness.flagged"] is False
    assert list(tmp_path.iterdir()) == []


def test_an_exporter_of_ours_on_their_provider_gets_no_span_of_theirs():
    theirs, ours = InMemorySpanExporter(), InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(theirs))
    trace.set_tracer_provider(provider)
    witness = sw.configure("svc", exporter=ours)
    with trace.get_tracer("app").start_as_current_span("GET /"):
        traced("ours")
    witness.flush(5)
    assert (names(ours), names(theirs)) == (["ours"], ["ours", "GET /"])


def test_shutting_down_leaves_their_provider_running():
    theirs = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(theirs))
    trace.set_tracer_provider(provider)
    sw.configure("svc").shutdown()
    trace.get_tracer("app").start_span("GET /").end()
    assert names(theirs) == ["GET /"]


def test_a_given_provider_goes_before_the_global_one():
    exporter = InMemorySpanExporter()
    given = TracerProvider(shutdown_on_exit=False)
    given.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(TracerProvider())
    witness = sw.configure("svc", provider=given)
    traced("ours")
    assert names(exporter) == ["ours"]
    assert witness.provider is given


def test_ours_becomes_the_global_one_only_on_request():
    witness = sw.configure("svc", set_global=True)
    assert trace.get_tracer_provider() is witness.provider


@pytest.mark.parametrize("arguments", [{"set_global": True}, {"sampler": ALWAYS_OFF}])
def test_what_an_existing_provider_makes_impossible_is_an_error(arguments):
    trace.set_tracer_provider(TracerProvider())
    with pytest.raises(SettingsError, match="there is one already"):
        sw.configure("svc", **arguments)


def test_the_service_name_of_the_environment_is_used(monkeypatch):
    monkeypatch.setenv("OTEL_SERVICE_NAME", "from-env")
    assert sw.configure().provider.resource.attributes["service.name"] == "from-env"


# --- switched off


def test_the_sdks_switch_turns_everything_off(monkeypatch, tmp_path):
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    witness = sw.configure("svc", state_dir=tmp_path)

    @sw.tool
    def add(a, b):
        return a + b

    with sw.run("x") as run:
        assert add(1, 2) == 3
        run.submit(3)
    assert witness.flush(1) is True
    assert witness.provider is None
    witness.shutdown()
    assert list(tmp_path.iterdir()) == []


def test_no_traces_exporter_means_judged_and_kept_nowhere(monkeypatch, tmp_path):
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "none")
    seen = []

    class Keep:
        def take(self, judged):
            seen.append(judged)

    witness = sw.configure("svc", state_dir=tmp_path, sinks=[Keep()])
    traced()
    assert witness.flush(5) is True
    assert len(seen) == 1
    assert list(tmp_path.iterdir()) == []


# --- without an endpoint


def test_without_an_endpoint_each_trace_is_a_file_of_otlp_json(tmp_path):
    witness = sw.configure("svc", state_dir=tmp_path)
    traced("one")
    traced("two")
    assert witness.flush(5) is True
    assert witness.trace_dir == tmp_path / "traces"
    files = sorted(witness.trace_dir.iterdir())
    spans = [
        json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"]
        for file in files
        for line in file.read_text().splitlines()
    ]
    assert sorted(spans) == ["invoke_workflow one", "invoke_workflow two"]


# --- the import itself


IMPORT = """
import signal, sys, threading
before = (threading.active_count(), signal.getsignal(signal.SIGTERM), list(sys.path_hooks))
import spanwitness
assert (threading.active_count(), signal.getsignal(signal.SIGTERM), list(sys.path_hooks)) == before
for name in ("opentelemetry", "pydantic", "httpx", "structlog", "rich", "typer", "grpc", "yaml"):
    assert name not in sys.modules, name
for name in spanwitness.__all__:
    getattr(spanwitness, name)
assert threading.active_count() == before[0]
from opentelemetry import metrics, trace
assert isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)
assert type(metrics.get_meter_provider()).__name__ == "_ProxyMeterProvider"
for name in ("httpx", "rich", "typer", "grpc", "openai"):
    assert name not in sys.modules, name
"""


def test_importing_it_has_no_side_effect():
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(IMPORT)],
        capture_output=True, text=True, timeout=60, check=False,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
