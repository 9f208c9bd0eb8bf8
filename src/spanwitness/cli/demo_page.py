"""The end of the demo: the review page, with what the demo found in its queue."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Final

from spanwitness.errors import SpanwitnessError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

IDLE_S: Final = 600
"""Seconds without a request after which a page in the background closes itself."""


def open_page(console: Console, queue: Path, *, in_foreground: bool) -> None:
    """Open the review page on the demo's queue and print its address.

    At a terminal it stays until Ctrl-C. Elsewhere it goes on in a process of its own, which ends by
    itself when nobody has asked for a page in ten minutes.

    Args:
        console: Where to print.
        queue: The queue's file.
        in_foreground: Whether to stay.

    Raises:
        SpanwitnessError: The page did not start.
    """
    url = f"sqlite:///{queue}"
    if in_foreground:
        from spanwitness.cli.review_serve import serve_page

        console.print("Ctrl-C closes the page.")
        serve_page(queue=url, host="127.0.0.1", port=0)
        return
    command = [sys.executable, "-m", "spanwitness", "review", "serve", "--queue", url]
    process = subprocess.Popen(  # noqa: S603  our own command, no shell
        [*command, "--idle-exit", str(IDLE_S)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )
    # The first line is the address; nothing is written after it.
    line = process.stdout.readline().strip() if process.stdout is not None else ""
    if not line:
        raise SpanwitnessError(f"the review page did not start; try: {' '.join(command)}")
    console.print(line, soft_wrap=True)
    console.print(
        f"It runs in the background (process {process.pid}) and closes after {IDLE_S // 60} idle "
        "minutes."
    )
