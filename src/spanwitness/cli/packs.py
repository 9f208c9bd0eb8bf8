"""`spanwitness packs`: the ready-made contracts."""

from __future__ import annotations

from typing import Annotated

import typer


def packs(
    name: Annotated[
        str | None, typer.Argument(help="Print this pack, to be copied and changed.")
    ] = None,
) -> None:
    """List the ready-made contracts, for check --contract pack:NAME, or print one."""
    from spanwitness.contracts import load
    from spanwitness.contracts.packs import PREFIX, pack_names, pack_text

    if name is not None:
        print(pack_text(name.removeprefix(PREFIX)), end="")
        return
    for known in pack_names():
        contract = load(PREFIX + known)
        print(f"{PREFIX}{known}\n    {contract.description}")
