from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from spanwitness.archive import TraceReader
from spanwitness.normalize import build_runs
from spanwitness.normalize.executions import executions
from spanwitness.normalize.ledger import build_ledger

if TYPE_CHECKING:
    from spanwitness.model import Run

TRACES = Path(__file__).parent.parent / "traces"
OTEL = TRACES / "otel-genai-openai"


def only(path: Path) -> Run:
    reader = TraceReader([path])
    runs = [run for spans in reader for run in build_runs(spans)]
    assert reader.problems == []
    (run,) = runs
    return run


@pytest.mark.parametrize(
    ("scenario", "calls"),
    [
        ("clean", ["search_pdf", "read_page", "verify_value"]),
        ("clean_stream", ["search_pdf", "read_page", "verify_value"]),
        ("clean_responses_api", ["search_pdf", "read_page", "verify_value"]),
        ("clean_responses_api_stream", ["search_pdf", "read_page", "verify_value"]),
        ("parallel", ["search_pdf", "read_page"]),
        ("tool_error", ["search_pdf", "read_page"]),
        ("bypass", []),
        ("bypass_responses_api", []),
    ],
)
def test_a_plain_client_trace_shows_its_executions_by_its_messages(
    scenario: str, calls: list[str]
) -> None:
    run = only(OTEL / f"{scenario}.otlp.json")
    found = executions(run)
    assert [execution.tool for execution in found] == calls
    assert {execution.how for execution in found} <= {"messages"}
    rows = build_ledger(run)
    assert {row.tool for row in rows} == {"search_pdf", "read_page", "verify_value"}
    assert {(row.configured, row.offered) for row in rows} == {("yes", "yes")}
    called = {row.tool for row in rows if row.executed == "messages"}
    assert called == set(calls)
    assert {row.requested for row in rows if row.tool not in calls} <= {"no"}
    assert run.is_complete
    assert run.input_text == "What is the maximum output current of the AX100?"


def test_the_bypass_offers_tools_and_asks_for_json() -> None:
    (chat,) = only(OTEL / "bypass.otlp.json").chats
    assert chat.output_format is not None
    assert chat.output_format.kind != "text"
    assert (chat.requested, chat.finish_reasons, chat.ending) == ((), ("stop",), "complete")


@pytest.mark.parametrize("scenario", ["clean_content_off", "bypass_content_off", "clean_events"])
def test_content_off_shows_nothing_and_says_no_to_nothing(scenario: str) -> None:
    run = only(OTEL / f"{scenario}.otlp.json")
    assert run.content == "off"
    assert build_ledger(run) == ()
    for chat in run.chats:
        assert (chat.offered, chat.requested, chat.delivered) == (None, None, None)
    assert run.has_final is None


def test_a_file_of_log_records_is_noted_and_not_unusable() -> None:
    reader = TraceReader([OTEL / "clean_events.logs.otlp.json"])
    assert list(reader) == []
    assert reader.problems == []
    assert len(reader.notes) == 1
    assert "log records, not spans" in reader.notes[0]


@pytest.mark.parametrize(
    ("file", "dialect"),
    [
        ("openinference-openai.bypass", "openinference"),
        ("openllmetry-openai.bypass", "openllmetry"),
        ("langfuse.bypass", "langfuse"),
        ("mlflow.bypass", "mlflow"),
        ("logfire-openai.bypass", "logfire"),
        ("pydantic-ai.bypass", "pydantic_ai"),
        ("google-adk-1.14.1.clean", "google_adk"),
    ],
)
def test_a_vocabulary_that_is_not_read_yet_is_named_and_makes_the_run_incomplete(
    file: str, dialect: str
) -> None:
    run = only(TRACES / "other-dialects" / f"{file}.otlp.json")
    assert run.dialects == (dialect,)
    assert (run.is_complete, run.incomplete_reasons) == (False, ("unread_dialect",))
    assert (run.chats, run.tools) == ((), ())


def test_the_mcp_sdk_s_own_spans_are_executions() -> None:
    run = only(TRACES / "mcp-python-sdk-native" / "clean.otlp.json")
    assert [(t.name, t.side, t.outcome) for t in run.tools] == [
        ("search_pdf", "mcp", "unknown"),
        ("read_page", "mcp", "unknown"),
        ("verify_value", "mcp", "unknown"),
    ]
    assert [listing.tools for listing in run.discoveries] == [None]
    assert run.dialects == ("mcp",)


def test_every_foreign_trace_beside_the_project_can_be_read() -> None:
    folder = Path(__file__).parents[3] / "shared" / "foreign_spans"
    if not folder.is_dir():
        pytest.skip("the captures of other instrumentations are not beside the project")
    reader = TraceReader([folder])
    runs = [run for spans in reader for run in build_runs(spans)]
    assert reader.problems == []
    assert len(runs) > 60
    for run in runs:
        unread = set(run.dialects) - {"otel_genai", "mcp", "spanwitness"}
        assert run.is_complete is not bool(unread)
        build_ledger(run)
