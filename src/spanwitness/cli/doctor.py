"""`spanwitness doctor`: what this set-up, or a stored trace, can and cannot show."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import socket
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path  # noqa: TC003  typer evaluates the annotations
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from spanwitness.model import Run

_SDKS = ("openai", "anthropic", "google-genai", "mcp")
_COLUMNS = ("configured", "offered", "requested", "executed", "returned", "delivered")


def doctor(
    path: Annotated[
        Path | None, typer.Argument(help="A trace file or folder; without it, this set-up.")
    ] = None,
) -> None:
    """Tell what this set-up, or a stored trace, can and cannot show, rule by rule.

    Exit status: 2 when the path was unusable or a setting cannot be read, else 0.
    """
    from rich.console import Console

    console = Console(highlight=False)
    if path is None:
        _examine_setup(console)
    else:
        _examine_traces(console, path)


def _examine_setup(console: Console) -> None:
    from rich.table import Table

    from spanwitness.live.exporting import read_export_settings
    from spanwitness.settings import read

    settings = read()
    content = settings.content or "on"
    export = read_export_settings(
        settings, endpoint=None, protocol=None, headers=None, directory=settings.state_dir
    )
    table = Table("", "state", "what follows", box=None, padding=(0, 2, 0, 0))
    for name in _SDKS:
        table.add_row(*_sdk_row(name))
    table.add_row("content", content, _content_note(content))
    if settings.is_disabled:
        table.add_row("export", "disabled", "OTEL_SDK_DISABLED is set: nothing is recorded")
    elif export.endpoint is None:
        table.add_row(
            "export", "local files", f"no OTLP endpoint is set; traces go to {settings.state_dir}"
        )
    else:
        state, note = _reach(export.endpoint)
        table.add_row("export", state, f"{export.endpoint} ({export.protocol}): {note}")
    console.print(table)
    console.print()
    console.print("Seen: clients given to sw.wrap_client, or built after sw.instrument(...);")
    console.print(
        "functions under @sw.tool, @sw.step, @sw.agent; MCP sessions given to sw.wrap_client."
    )
    console.print("Not seen: clients copied with another http_client=, batch and realtime traffic.")


def _sdk_row(name: str) -> tuple[str, str, str]:
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return name, "not installed", ""
    requires = " ".join(importlib.metadata.requires(name) or ())
    library = "httpx2" if "httpx2" in requires else "httpx"
    note = f"seen at its {library} transport"
    if name == "google-genai" and importlib.util.find_spec("aiohttp") is not None:
        note += "; aiohttp is installed, so async clients use it unless they are wrapped"
    if name == "mcp":
        note = "seen at the client session (sw.wrap_client(session))"
    return name, version, note


def _content_note(mode: str) -> str:
    return {
        "on": "arguments, results and messages are recorded after redaction",
        "off": "names, ids, counts and digests only; content rules are not assessed",
        "digests": "keyed digests instead of content; content rules are not assessed",
    }[mode]


def _reach(endpoint: str) -> tuple[str, str]:
    url = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}")
    port = url.port or (443 if url.scheme == "https" else 80)
    try:
        socket.create_connection((url.hostname or "localhost", port), timeout=2).close()
    except OSError as error:
        return "unreachable", f"{error.strerror or error}; spans are queued, then lost and counted"
    return "reachable", "a connection was made"


@dataclass
class _RuleState:
    assessed: int = 0
    not_applicable: int = 0
    reasons: Counter[str] = field(default_factory=Counter)


class _Survey:
    """What stored traces show, counted run by run in constant memory."""

    def __init__(self) -> None:
        self.n_runs = 0
        self.n_cut = 0
        self.dialects: Counter[str] = Counter()
        self.incomplete: Counter[str] = Counter()
        self.known: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.rules: dict[str, _RuleState] = defaultdict(_RuleState)

    def add(self, run: Run) -> None:
        """Judge and count one run."""
        from spanwitness.rules.engine import evaluate

        self.n_runs += 1
        self.dialects.update(run.dialects or ("none recognised",))
        self.incomplete.update(run.incomplete_reasons)
        is_cut = any(c.is_truncated for c in run.chats) or any(t.is_truncated for t in run.tools)
        self.n_cut += is_cut
        evaluation = evaluate(run)
        for row in evaluation.ledger:
            for column in _COLUMNS:
                is_unknown = getattr(row, column) == "unknown"
                (self.unknown if is_unknown else self.known)[column] += 1
        for verdict in evaluation.verdicts:
            state = self.rules[verdict.rule]
            if verdict.verdict == "not_assessed":
                state.reasons[verdict.reason] += 1
            elif verdict.verdict == "not_applicable":
                state.not_applicable += 1
            else:
                state.assessed += 1


def _examine_traces(console: Console, path: Path) -> None:
    from spanwitness.archive import TraceReader
    from spanwitness.normalize import build_runs

    survey = _Survey()
    reader = TraceReader([path])
    for spans in reader:
        for run in build_runs(spans):
            survey.add(run)
    for problem in reader.problems:
        print(f"spanwitness: {problem}", file=sys.stderr)
    _print_runs(console, survey)
    if survey.n_runs:
        _print_columns(console, survey)
        _print_rules(console, survey)
    if reader.problems:
        raise typer.Exit(2)


def _print_runs(console: Console, survey: _Survey) -> None:
    from rich.text import Text

    spoken = ", ".join(f"{name} ({n})" for name, n in survey.dialects.most_common())
    runs = f"{survey.n_runs} run{'' if survey.n_runs == 1 else 's'}"
    console.print(Text(f"{runs}; dialects: {spoken or 'none'}", style="bold"))
    for reason, n in survey.incomplete.most_common():
        console.print(Text(f"incomplete: {reason} in {n}", style="yellow"))
    if survey.n_cut:
        told = f"content cut to size in {survey.n_cut}: rules that need the whole text are blind"
        console.print(Text(told, style="yellow"))


def _print_columns(console: Console, survey: _Survey) -> None:
    from rich.table import Table

    table = Table("ledger column", "known", "unknown", box=None, padding=(0, 2, 0, 0))
    for column in _COLUMNS:
        table.add_row(column, str(survey.known[column]), str(survey.unknown[column]))
    console.print(table)


def _print_rules(console: Console, survey: _Survey) -> None:
    from rich.table import Table
    from rich.text import Text

    from spanwitness.cli.terminal import visible

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("rule", no_wrap=True)
    for column in ("judged", "n/a", "blind"):
        table.add_column(column, no_wrap=True, justify="right")
    table.add_column("why blind", overflow="fold")
    for rule, state in sorted(survey.rules.items()):
        why = state.reasons.most_common(1)
        table.add_row(
            rule,
            str(state.assessed),
            str(state.not_applicable),
            str(sum(state.reasons.values())),
            Text(visible(why[0][0], limit=100) if why else "", style="dim"),
        )
    console.print(table)
