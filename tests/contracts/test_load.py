"""Loading: from a file, a text, a mapping; an error names file, line, key and remedy."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from spanwitness.contracts import Contract, load, loads
from spanwitness.errors import RuleError

if TYPE_CHECKING:
    from pathlib import Path

DESIGN = """\
contract: datasheet-extraction
version: "1"
when: {agent: datasheet-extractor}
tools:
  navigation: [open_document, "read_*", search_text]
  verification: [search_text, read_table]
  submission: [submit_extraction]
expect:
  - {rule: navigation_bypassed, group: navigation, at_least: 1, before: submit}
  - {rule: verification_skipped, group: verification, at_least: 1, before: submit, severity: error}
  - {rule: out_of_order, first: open_document, then: read_section}
  - {rule: count_out_of_range, tool: read_section, at_most: 40}
  - {rule: forbidden_tool, tool: web_search}
  - {rule: required_tool_missing, tool: update_order}
"""


def test_the_published_form_loads_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "contract.yaml"
    path.write_text(DESIGN, encoding="utf-8")
    contract = load(path)
    assert contract == load(str(path)) == loads(DESIGN)
    assert contract.name == "datasheet-extraction"
    assert [c.rule for c in contract.expect] == [
        "navigation_bypassed",
        "verification_skipped",
        "out_of_order",
        "count_out_of_range",
        "forbidden_tool",
        "required_tool_missing",
    ]
    assert contract.expect[1].severity == "error"
    assert contract.expect[0].patterns(contract) == ("open_document", "read_*", "search_text")


def test_a_contract_goes_through_unchanged_and_a_mapping_is_validated() -> None:
    contract = loads(DESIGN)
    assert load(contract) is contract
    assert load(contract.as_json()) == contract
    with pytest.raises(RuleError, match=r"<mapping>: version: is missing; add it"):
        load({"contract": "x"})


def test_a_mapping_handed_in_is_left_as_it_was() -> None:
    given = {"contract": "x", "version": "1", "tools": {"a": ["b"]}}
    load(given)
    assert given == {"contract": "x", "version": "1", "tools": {"a": ["b"]}}


def message(text: str) -> str:
    with pytest.raises(RuleError) as caught:
        loads(text, name="c.yaml")
    return str(caught.value)


HEAD = 'contract: x\nversion: "1"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("contract: x\nversion: 1\n", 'c.yaml:2: version: must be a text, got 1; write "1"'),
        (HEAD + "expct: []\n", "c.yaml:3: expct: unknown key; did you mean 'expect'?"),
        (HEAD + "when:\n  agnt: a\n", "c.yaml:4: when.agnt: unknown key; did you mean 'agent'?"),
        (
            HEAD + "expect:\n  - rule: forbidden_tool\n    tol: a\n",
            "c.yaml:5: expect.0.tol: unknown key; did you mean 'tool'?",
        ),
        (
            HEAD + "expect:\n  - {rule: forbiden_tool, tool: a}\n",
            "c.yaml:4: expect.0.rule: 'forbiden_tool' is not known; did you mean 'forbidden_tool'?",
        ),
        (
            HEAD
            + "tools: {navigation: [a]}\nexpect:\n  - rule: forbidden_tool\n    group: navigtion\n",
            "c.yaml:6: expect.0.group: no group 'navigtion' in 'tools'; did you mean 'navigation'?",
        ),
        (
            HEAD + "expect:\n  - {rule: forbidden_tool, group: nav}\n",
            "c.yaml:4: expect.0.group: no group 'nav' in 'tools'; none is declared",
        ),
        (
            HEAD + "tools: {nav: [a, c]}\nexpect:\n  - {rule: out_of_order, first: nav, then: a}\n",
            (
                "c.yaml:5: expect.0.then: 'a' is covered by both 'first' (nav) and 'then' (a);"
                " name tools or groups that do not overlap"
            ),
        ),
        (
            HEAD + "expect:\n  - {rule: count_out_of_range, tool: a, at_most: 1.5}\n",
            "c.yaml:4: expect.0.at_most: must be a whole number, got 1.5",
        ),
        (
            HEAD + "expect:\n  - {rule: count_out_of_range, tool: a, at_most: -1}\n",
            "c.yaml:4: expect.0.at_most: must be at least 0, got -1",
        ),
        (HEAD + "tools: [a]\n", "c.yaml:3: tools: must be a mapping, got ['a']"),
        (HEAD + "tools: {a: 3}\n", "c.yaml:3: tools.a: must be a name or a list, got 3"),
        (HEAD + "tools:\n  a: []\n", "c.yaml:4: tools.a: must not be empty"),
        (HEAD + "version: '2'\n", "c.yaml:3: version: the key stands twice; remove one"),
        ("- a\n", "c.yaml:1: a contract is a mapping that begins with 'contract: <name>'"),
        ("", "c.yaml:1: a contract is a mapping that begins with 'contract: <name>'"),
        (HEAD + "---\na: 1\n", "c.yaml:3: more than one YAML document; write one contract a file"),
    ],
)
def test_an_error_names_line_key_and_remedy(text: str, told: str) -> None:
    assert message(text) == told


def test_all_errors_are_told_at_once() -> None:
    assert len(message("version: 1\nfoo: 2\n").splitlines()) == 3


def test_text_that_is_no_yaml_names_the_line() -> None:
    assert message("contract: [\n").startswith("c.yaml:2: not YAML: ")


def test_a_python_object_in_yaml_is_refused() -> None:
    assert "c.yaml:1: not YAML" in message("contract: !!python/name:os.system ''\nversion: '1'\n")


def test_a_file_that_cannot_be_read_is_a_rule_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match=r"absent.yaml: cannot be read: No such file"):
        load(tmp_path / "absent.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"contract: caf\xe9\n")
    with pytest.raises(RuleError, match=r"latin.yaml: is not UTF-8 text"):
        load(tmp_path / "latin.yaml")


def test_version_has_no_silent_coercion() -> None:
    assert isinstance(loads(HEAD), Contract)
    assert 'write "1.0"' in message("contract: x\nversion: 1.0\n")


def test_names_of_the_package_load_when_they_are_asked_for() -> None:
    script = (
        "import sys, spanwitness.rules.engine\n"
        "assert not {'pydantic', 'yaml', 'jsonschema'} & set(sys.modules)\n"
        "from spanwitness import contracts\n"
        "contracts.loads\n"
        "assert callable(contracts.load) and callable(contracts.loads)\n"
        "assert set(dir(contracts)) >= {'Clause', 'Contract', 'When', 'load'}\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
