"""`spanwitness demo`: the founding story end to end, on this machine."""

from __future__ import annotations

import importlib.util
import json
import logging
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from spanwitness.errors import MissingExtraError, SettingsError

if TYPE_CHECKING:
    from rich.console import Console

    from spanwitness.export.processor import ExportProcessor
    from spanwitness.live.witness import Witness
    from spanwitness.testing import ScriptedProvider

_QUEUE = "queue.db"


def demo(
    *,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the two traces; default: the state folder.")
    ] = None,
    page: Annotated[
        bool, typer.Option(help="End by opening the review page on what was found.")
    ] = True,
) -> None:
    """Run a small extraction agent twice: healthy, and with a schema that disables its tools.

    A scripted provider on this machine speaks the real wire format to the real OpenAI SDK; no key
    and no network are needed. It ends with the review page: at a terminal until Ctrl-C, elsewhere
    in the background for as long as somebody uses it.
    """
    for package in ("openai", "sqlalchemy", "starlette"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError(package, extra="demo")
    from rich.console import Console
    from rich.text import Text

    from spanwitness.cli.demo_agent import answer_like_a_strict_server
    from spanwitness.cli.demo_page import open_page
    from spanwitness.settings import read
    from spanwitness.testing import ScriptedProvider

    console = Console(highlight=False)
    folder = (out or read().state_dir / "demo").absolute()
    with ScriptedProvider(answer_like_a_strict_server) as provider:
        paths = _run_both(console, provider, folder)

    console.rule("What to do next", align="left")
    command = _command()
    for line in (
        f"{command} check {paths[1]}",
        f"{command} check --all --format json {folder}",
        f"{command} review list --queue sqlite:///{folder / _QUEUE}",
        f"{command} doctor",
    ):
        console.print(Text(f"  {line}", style="bold"), soft_wrap=True)
    console.print(
        "Wrap your own client with sw.wrap_client(...), decorate your tools with @sw.tool, and put "
        "with sw.run(...) around a run. Set OTEL_EXPORTER_OTLP_ENDPOINT to see the same spans in "
        "Jaeger, Grafana or Phoenix."
    )
    if page:
        console.rule("The review queue", align="left")
        console.print("The flagged run waits there for a person, with its evidence:")
        open_page(console, folder / _QUEUE, in_foreground=sys.stdout.isatty())


def _command() -> str:
    """Return how to call spanwitness from here: by its path, where it is not on the PATH."""
    called = Path(sys.argv[0])
    if called.name != "spanwitness" or shutil.which("spanwitness") is not None:
        return "spanwitness"
    return shlex.quote(str(called))


def _run_both(console: Console, provider: ScriptedProvider, folder: Path) -> list[Path]:
    import openai

    import spanwitness as sw
    from spanwitness.cli.demo_agent import extract

    log = _LogLines()
    logging.getLogger("spanwitness.findings").addHandler(log)
    folder.mkdir(parents=True, exist_ok=True)
    witness = sw.configure(
        service_name="datasheet-extractor",
        state_dir=folder,
        queue=f"sqlite:///{folder / _QUEUE}",
    )
    files = None if witness.trace_dir is not None else _also_to_files(witness, folder / "traces")
    traces = witness.trace_dir or folder / "traces"
    paths = []
    # The provider is on this machine: a proxy that the environment names would not find it.
    direct = openai.DefaultHttpxClient(trust_env=False)
    with openai.OpenAI(
        base_url=provider.openai_url, api_key="scripted", http_client=direct
    ) as plain:
        client = sw.wrap_client(plain)
        for name, title in (
            ("healthy", "1. The agent as it was written"),
            ("with-schema", "2. The same agent, asked for its answer in a schema"),
        ):
            console.rule(title, align="left")
            before = set(traces.glob("*.jsonl"))
            answer = extract(client, with_schema=name == "with-schema")
            witness.flush(timeout_s=5)
            if files is not None:
                files.force_flush()
            path = folder / f"{name}.otlp.json"
            shutil.move((set(traces.glob("*.jsonl")) - before).pop(), path)
            paths.append(path)
            _show(console, path, answer, log.take())
    witness.shutdown()
    return paths


class _LogLines(logging.Handler):
    """Keeps the lines that findings write to the log, to be shown in their place."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())

    def take(self) -> list[str]:
        lines, self._lines = self._lines, []
        return lines


def _also_to_files(witness: Witness, folder: Path) -> ExportProcessor:
    """Write traces to files too, where the environment already names an OTLP endpoint."""
    from spanwitness.export.destination import ExportSettings
    from spanwitness.export.file import FileSender
    from spanwitness.export.losses import Losses
    from spanwitness.export.processor import ExportProcessor

    if witness.provider is None:
        raise SettingsError("OTEL_SDK_DISABLED=true: unset it to run the demo")
    settings = ExportSettings(directory=folder)
    processor = ExportProcessor(FileSender(settings), Losses(), settings)
    witness.provider.add_span_processor(processor)
    return processor


def _show(console: Console, path: Path, answer: dict[str, object], log: list[str]) -> None:
    """Print what the application saw, what the log says, and what `check` says of the file."""
    from rich.text import Text

    from spanwitness.archive import TraceReader
    from spanwitness.cli.terminal import print_run, visible
    from spanwitness.normalize import build_runs
    from spanwitness.rules.engine import evaluate

    console.print("What the application sees: HTTP 200, finish reason stop, valid JSON:")
    console.print(Text(f"  {json.dumps(answer)}"), soft_wrap=True)
    for line in log:
        console.print("What its log says:")
        console.print(Text(f"  {visible(line)}"), soft_wrap=True)
    console.print("What really happened:")
    for spans in TraceReader([path]):
        for run in build_runs(spans):
            print_run(
                console, run, evaluate(run), with_ledger=True, show_all=False, with_claims=True
            )
    console.print(Text(f"trace: {path}\n", style="dim"), soft_wrap=True)
