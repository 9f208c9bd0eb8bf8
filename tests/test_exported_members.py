"""The public names are the ones that are there."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

import spanwitness

MODULES = (
    "spanwitness",
    "spanwitness.contracts",
    "spanwitness.errors",
    "spanwitness.findings",
    "spanwitness.model",
    "spanwitness.testing",
)


@pytest.mark.parametrize("name", MODULES)
def test_every_exported_name_is_there(name):
    module = importlib.import_module(name)
    for exported in module.__all__:
        assert getattr(module, exported) is not None
    assert list(module.__all__) == sorted(set(module.__all__))


def test_the_lazy_names_the_typed_names_and_the_list_are_the_same():
    tree = ast.parse(Path(spanwitness.__file__).read_text())
    typed = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("spanwitness")
        for alias in node.names
    }
    lazy = set(spanwitness._PLACES)
    assert typed - {"errors"} == lazy
    assert set(spanwitness.__all__) == lazy | {"__version__", "errors"}
    assert set(spanwitness.__all__) <= set(dir(spanwitness))


def test_a_typed_name_comes_from_where_it_is_loaded():
    tree = ast.parse(Path(spanwitness.__file__).read_text())
    typed = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for name, place in spanwitness._PLACES.items():
        assert typed[name] == place


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        _ = spanwitness.nope


def test_public_functions_and_classes_are_documented():
    for name in spanwitness.__all__:
        if name not in {"__version__", "errors"}:
            assert (getattr(spanwitness, name).__doc__ or "").strip(), name
