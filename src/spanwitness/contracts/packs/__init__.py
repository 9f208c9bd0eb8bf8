"""Ready-made contracts: YAML files of this folder, loaded as `pack:<name>`."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from spanwitness.contracts.names import suggestion
from spanwitness.errors import RuleError

__all__ = ["PREFIX", "pack_names", "pack_text"]

PREFIX: Final = "pack:"
_ENDING: Final = ".yaml"


def pack_names() -> tuple[str, ...]:
    """Return the names of the packs, sorted."""
    names = (entry.name for entry in files(__name__).iterdir())
    return tuple(sorted(n.removesuffix(_ENDING) for n in names if n.endswith(_ENDING)))


def pack_text(name: str) -> str:
    """Return a pack as YAML text, to be used as it is or copied and changed.

    Raises:
        RuleError: There is no pack of that name.
    """
    known = pack_names()
    if name not in known:
        raise RuleError(f"there is no pack {name!r}; {suggestion(name, known)}")
    return files(__name__).joinpath(name + _ENDING).read_text(encoding="utf-8")
