"""Contracts from YAML files, texts and mappings; errors name the place and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import yaml
from pydantic import ValidationError

from spanwitness.contracts.baseline import load_baseline
from spanwitness.contracts.model import Clause, Contract, When
from spanwitness.contracts.names import suggestion
from spanwitness.contracts.packs import PREFIX, pack_text
from spanwitness.errors import RuleError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_Path: TypeAlias = tuple[str | int, ...]
_Lines: TypeAlias = dict[_Path, int]


def load(source: str | Path | Mapping[str, object] | Contract, /) -> Contract:
    """Load a contract.

    Args:
        source: Path of a YAML file, `pack:<name>` for one of the ready-made packs, a mapping of the
            same form, or a contract (returned as it is). The path of a `baseline` in a file is
            relative to that file, in a mapping to the working directory.

    Raises:
        RuleError: The file cannot be read, or is no contract; the message names file, line, key and
            what would be right, one line for each thing that is wrong.
    """
    if isinstance(source, Contract):
        return source
    if isinstance(source, Mapping):
        return _build(dict(source), "<mapping>", {})
    if str(source).startswith(PREFIX):
        pack = str(source).removeprefix(PREFIX)
        return loads(pack_text(pack), name=str(source))
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RuleError(
            f"{path}: cannot be read: {error.strerror}; give the path of a contract file"
        ) from error
    except UnicodeDecodeError as error:
        raise RuleError(f"{path}: is not UTF-8 text; save it as UTF-8") from error
    return loads(text, name=str(path), folder=path.parent)


def loads(text: str, /, *, name: str = "<text>", folder: Path | None = None) -> Contract:
    """Load a contract from YAML text.

    Args:
        text: One YAML document.
        name: What errors call it, such as the file it comes from.
        folder: What the path of a `baseline` is relative to; the working directory when absent.

    Raises:
        RuleError: The text is no contract; see `load`.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise RuleError(_yaml_message(error, name)) from error
    if not isinstance(node, yaml.MappingNode):
        raise RuleError(f"{name}:1: a contract is a mapping that begins with 'contract: <name>'")
    lines: _Lines = {}
    _collect_lines(node, (), lines, name)
    try:
        value = yaml.load(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise RuleError(_yaml_message(error, name)) from error
    return _build(value, name, lines, folder)


def _build(
    value: Mapping[str, object],
    name: str,
    lines: _Lines,
    folder: Path | None = None,
) -> Contract:
    given: dict[str, object] = {**value}
    baseline = given.get("baseline")
    if isinstance(baseline, str) and baseline:
        given["baseline"] = load_baseline((folder or Path()) / baseline)
    try:
        return Contract.model_validate(given)
    except ValidationError as error:
        messages = [_message(detail, name, lines) for detail in error.errors(include_url=False)]
        raise RuleError("\n".join(messages)) from None


def _collect_lines(node: yaml.Node, path: _Path, lines: _Lines, name: str) -> None:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, child in node.value:
            word = str(key.value)
            line = key.start_mark.line + 1
            if word in seen:
                raise RuleError(f"{name}:{line}: {word}: the key stands twice; remove one")
            seen.add(word)
            lines[(*path, word)] = line
            _collect_lines(child, (*path, word), lines, name)
    elif isinstance(node, yaml.SequenceNode):
        for position, child in enumerate(node.value):
            lines[(*path, position)] = child.start_mark.line + 1
            _collect_lines(child, (*path, position), lines, name)


def _yaml_message(error: yaml.YAMLError, name: str) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error)
    place = f"{name}:{mark.line + 1}" if mark is not None else name
    if "expected a single document" in str(error):
        return f"{place}: more than one YAML document; write one contract a file"
    return f"{place}: not YAML: {problem}; check quotes, colons and indentation"


def _message(detail: ErrorDetails, name: str, lines: _Lines) -> str:
    path = _clean(detail["loc"])
    context = detail.get("ctx", {})
    if detail["type"] == "contract" and context.get("key"):
        path = (*path, *_split(str(context["key"])))
    place = name
    for end in range(len(path), -1, -1):
        if path[:end] in lines:
            place = f"{name}:{lines[path[:end]]}"
            break
    key = ".".join(str(part) for part in path)
    return (
        f"{place}: {key}: {_problem(detail, path)}" if key else f"{place}: {_problem(detail, path)}"
    )


def _clean(loc: tuple[int | str, ...]) -> _Path:
    """Drop what pydantic adds to the path of a mapping's key."""
    return tuple(part for part in loc if part not in ("[key]", ""))


def _split(key: str) -> _Path:
    return tuple(int(part) if part.isdigit() else part for part in key.split("."))


def _problem(detail: ErrorDetails, path: _Path) -> str:
    kind, given, context = detail["type"], detail.get("input"), detail.get("ctx", {})
    if kind == "contract":
        return str(detail["msg"])
    if kind == "extra_forbidden":
        return f"unknown key; {suggestion(str(path[-1]), _known_keys(path))}"
    if kind == "string_type" and isinstance(given, int | float):
        return f'must be a text, got {given!r}; write "{given}"'
    if kind == "literal_error":
        expected = str(context.get("expected", "")).replace(" or ", ",")
        words = [word.strip(" '") for word in expected.split(",")]
        return f"{given!r} is not known; {suggestion(str(given), words)}"
    if kind == "greater_than_equal":
        return f"must be at least {context.get('ge')}, got {given!r}"
    if kind in _FORMS:
        return _FORMS[kind].format(given)
    return str(detail["msg"])


_FORMS = {
    "missing": "is missing; add it",
    "string_type": "must be a text, got {!r}",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "int_type": "must be a whole number, got {!r}",
    "int_from_float": "must be a whole number, got {!r}",
    "tuple_type": "must be a name or a list, got {!r}",
    "model_type": "must be a mapping, got {!r}",
    "model_attributes_type": "must be a mapping, got {!r}",
    "dict_type": "must be a mapping, got {!r}",
}


def _known_keys(path: _Path) -> list[str]:
    match path[:-1]:
        case ("when",):
            return list(When.model_fields)
        case ("expect", *_):
            return sorted({*Clause.model_fields})
        case _:
            return list(Contract.model_fields)
