"""A process that has loaded the command line and forks for each command: nothing is loaded twice.

It reads requests as lines of JSON and answers each with the exit status of its child. A child is
like a process of its own: its own environment, files and end.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback

_LOADED = (
    "spanwitness.cli.terminal", "spanwitness.cli.report", "spanwitness.rules.engine",
    "spanwitness.rules.builtin", "spanwitness.archive", "spanwitness.live.contracts",
    "spanwitness.review.store.queue", "jsonschema", "pydantic.fields", "pydantic.json_schema",
    "pydantic.type_adapter", "rich.console", "scipy.stats",
)  # fmt: skip


def _become(request: dict[str, object]) -> None:
    os.environ.clear()
    os.environ.update(request["environment"])
    for target, (name, mode) in enumerate(
        (
            (request["stdin"], os.O_RDONLY),
            (request["out"], os.O_WRONLY),
            (request["err"], os.O_WRONLY),
        )
    ):
        source = os.open(str(name), mode)
        os.dup2(source, target)
        os.close(source)
    sys.stdin = os.fdopen(0, closefd=False)
    os.chdir(str(request["directory"]))
    sys.argv = ["spanwitness", *request["arguments"]]


def main() -> None:
    app = importlib.import_module("spanwitness.cli.app")
    for name in _LOADED:
        importlib.import_module(name)
    for line in iter(sys.stdin.readline, ""):
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
            try:
                app.main()
            except Exception:
                traceback.print_exc()
                sys.exit(1)
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    main()
