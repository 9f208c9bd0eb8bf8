"""`docs/attributes.md` and the attribute constants say the same."""

from __future__ import annotations

import ast
import re
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_ROW = re.compile(r"\| `(spanwitness\.[a-z_.0-9]+)` \| (.*) \|")


def _constants() -> dict[str, str]:
    """Attribute names with the docstring below each."""
    source = (_ROOT / "src/spanwitness/semconv/spanwitness.py").read_text()
    found = {}
    body = ast.parse(source).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Constant):
            is_documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            found[node.value.value] = " ".join(after.value.value.split()) if is_documented else ""
    return found


def test_every_attribute_has_a_docstring_that_stands_in_the_docs():
    documented = dict(_ROW.findall((_ROOT / "docs/attributes.md").read_text()))
    constants = _constants()
    assert len(constants) > 80
    assert all(constants.values())
    assert documented == constants
