"""Whether an answer satisfies the JSON Schema on its request."""

from __future__ import annotations

import pytest

from spanwitness.normalize.json_schema import is_json, satisfies, unfenced

HEIGHT = {
    "type": "object",
    "properties": {"height": {"type": "integer"}},
    "required": ["height"],
    "additionalProperties": False,
}
GEMINI = {
    "type": "OBJECT",
    "properties": {
        "rows": {"type": "ARRAY", "items": {"type": "NUMBER", "nullable": True}, "maxItems": "2"}
    },
}


@pytest.mark.parametrize(
    ("text", "schema", "answer"),
    [
        ('{"height": 330}', HEIGHT, True),
        (' {"height": 330}\n', HEIGHT, True),
        ('{"height": "330"}', HEIGHT, False),
        ('{"height": 330.5}', HEIGHT, False),
        ('{"height": 330, "unit": "m"}', HEIGHT, False),
        ("{}", HEIGHT, False),
        ("It is 330 m", HEIGHT, False),
        ('```json\n{"height": 330}\n```', HEIGHT, False),
        ("", HEIGHT, False),
        ("[" * 100_000, HEIGHT, False),
        ('{"rows": [1, null]}', GEMINI, True),
        ('{"rows": [1, "a"]}', GEMINI, False),
        ('{"rows": [1, 2, 3]}', GEMINI, False),
        ('{"a": 1}', {}, True),
        ("1", {"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, True),
        ("1", {"$ref": "https://example.invalid/schema.json"}, None),
        ("1", {"type": 7}, None),
        ('"x"', {"pattern": "(?<n>x)"}, None),
        ("{}", {"$ref": "#"}, None),
    ],
)
def test_answers_and_schemas(text: str, schema: dict[str, object], answer: bool | None) -> None:
    assert satisfies(text, schema) is answer


def test_a_schema_is_left_as_it_was() -> None:
    schema = {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}}
    satisfies("{}", schema)
    assert schema == {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}}


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ("```\n1\n```\n", "1"),
        ("Here: ```json\n1\n```", None),
        ("1", None),
    ],
)
def test_only_a_fence_around_the_whole_text_is_taken_off(text: str, inner: str | None) -> None:
    assert unfenced(text) == inner


def test_json_as_it_stands() -> None:
    assert is_json("[1]")
    assert not is_json("[1")
