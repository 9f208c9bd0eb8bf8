"""The `spanwitness` command: one file a verb, this one only names them."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from spanwitness.cli.check import check
from spanwitness.cli.demo import demo
from spanwitness.cli.doctor import doctor
from spanwitness.cli.learn import learn
from spanwitness.cli.measure import measure
from spanwitness.cli.packs import packs
from spanwitness.cli.review import review
from spanwitness.cli.serve import serve
from spanwitness.errors import SpanwitnessError

app = typer.Typer(
    name="spanwitness",
    help="Find where the account of an agent run breaks, from its OpenTelemetry spans.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command()(demo)
app.command()(check)
app.command()(doctor)
app.command()(learn)
app.command()(packs)
app.command()(serve)
app.add_typer(measure)
app.add_typer(review)


def _version(show: bool) -> None:  # noqa: FBT001  typer calls it with the flag's value
    if show:
        from importlib.metadata import version

        print(version("spanwitness"))
        raise typer.Exit


@app.callback()
def _root(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Find where the account of an agent run breaks, from its OpenTelemetry spans."""


def main() -> None:
    """Run the command line; errors of use are one line on stderr and exit status 2."""
    try:
        app()
    except SpanwitnessError as error:
        print(f"spanwitness: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader went away (`| head`): nothing to tell, and no traceback at interpreter exit.
        sys.stderr.close()
        sys.exit(141)
