"""Running the peers of `peers.py` in the environment that has them, on the same dialogs."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.detection.mutants import is_written
from benchmarks.detection.spans import spans_of
from spanwitness.archive.otlp_json import encode_request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.detection.dialogs import Dialog

__all__ = ["Flagged", "judge_with_peers"]

Flagged = dict[str, dict[str, dict[str, int]]]
"""By peer and family: how many cases (`n`), how many flagged (`flagged`)."""
_SCRIPT = Path(__file__).with_name("peers.py")


def judge_with_peers(python: Path, families: Mapping[str, Sequence[Dialog]]) -> Flagged:
    """Judge families of dialogs with the peers.

    Args:
        python: The interpreter of the environment that has them.
        families: Dialogs by the name of their family.
    """
    with tempfile.TemporaryDirectory(prefix="spanwitness-peers-") as folder:
        cases, found = Path(folder) / "cases.jsonl", Path(folder) / "found.json"
        with cases.open("w", encoding="utf-8") as file:
            for family, dialogs in families.items():
                for dialog in dialogs:
                    file.write(json.dumps(_case(family, dialog)) + "\n")
        command = [str(python), "-P", str(_SCRIPT), str(cases), str(found)]
        subprocess.run(command, check=True, capture_output=True)
        result: Flagged = json.loads(found.read_text(encoding="utf-8"))
    return result


def _case(family: str, dialog: Dialog) -> dict[str, Any]:
    return {
        "family": family,
        "messages": _messages(dialog),
        "tools": {
            tool["name"]: {
                "schema": tool["parameters"],
                "metadata": {"side_effecting": is_written(tool["name"])},
            }
            for tool in dialog.definitions
        },
        "spans": json.loads(encode_request(spans_of(dialog, "dialog"))),
        "expected": sorted({e.name for e in dialog.expected if is_written(e.name)}),
    }


def _messages(dialog: Dialog) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "system", "content": dialog.system}]
    for said in dialog.said:
        message: dict[str, Any] = {"role": said.role, "content": said.text or None}
        if said.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in said.calls
            ]
        found.append(message)
        for call in said.calls:
            content = call.returned if call.delivered is None else call.delivered
            found.append({"role": "tool", "tool_call_id": call.id, "content": content})
    return found
