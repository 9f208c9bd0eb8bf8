# ruff: noqa: E501
from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from spanwitness.model import MediaPart, OpaquePart, TextPart, ToolResultPart
from spanwitness.normalize.delivery import compare

ROWS = [
    {"name": "A", "volts": -2.0, "ok": True, "note": None},
    {"name": "B x", "volts": 3.5, "ok": False, "note": "seen on page 4"},
]


def delivered(
    text: str | None = None, *, value: object = None, n_images: int = 0
) -> ToolResultPart:
    parts = () if text is None else (TextPart(text=text),)
    images = (MediaPart(modality="image", mime_type="image/png"),) * n_images
    return ToolResultPart(call_id="c1", parts=(*parts, *images), value=value)


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        pytest.param("ten rows found", "ten rows found", id="equal text"),
        pytest.param(ROWS, json.dumps(ROWS), id="json"),
        pytest.param(ROWS, json.dumps(ROWS, indent=2, sort_keys=True), id="sorted json"),
        pytest.param(json.dumps(ROWS), json.dumps(ROWS, separators=(",", ":")), id="rewritten"),
        pytest.param(ROWS, str(ROWS), id="python literal"),
        pytest.param(ROWS, json.dumps({"result": ROWS}), id="envelope"),
        pytest.param(ROWS, json.dumps({"ok": True, "data": {"rows": ROWS}}), id="deep envelope"),
        pytest.param(ROWS, f"The tool said: {json.dumps(ROWS)} (end)", id="json in text"),
        pytest.param(
            ROWS,
            "| name | volts | ok | note |\n| A | -2 | true | |\n| B x | 3.50 | false | seen on page 4 |",
            id="table",
        ),
        pytest.param([{"type": "text", "text": "taken at noon"}], "taken at noon", id="block"),
        pytest.param("first line of it\nand the second", "1\tfirst line of it\n2\tand the second", id="numbered"),
        pytest.param("first line of it\nand the second", '"first line of it\\nand the second"', id="quoted"),
        pytest.param("a < b and c > d, surely", "a &lt; b and c &gt; d, surely", id="html"),
        pytest.param({"content": [{"type": "text", "text": "x y z"}], "isError": False}, "x y z", id="mcp"),
        pytest.param(None, "null", id="none"),
        pytest.param(None, "", id="none as nothing"),
        pytest.param(None, "(no output)", id="none as words"),
        pytest.param({}, "{}", id="empty object"),
        pytest.param(0, "0", id="zero"),
        pytest.param(False, "False", id="false"),
        pytest.param(5, '{"result": 5}', id="wrapped number"),
    ],
)  # fmt: skip
def test_a_result_in_another_serialisation_is_whole(returned: object, text: str) -> None:
    assert compare(returned, delivered(text)) == "whole"


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        pytest.param(ROWS, json.dumps(ROWS).replace("-2.0", "2.0"), id="lost minus"),
        pytest.param(ROWS, str(ROWS).replace("-2.0", "2.0"), id="lost minus in a literal"),
        pytest.param(ROWS, json.dumps(ROWS[:1]), id="rows cut"),
        pytest.param(ROWS, json.dumps(ROWS)[:60] + "...[truncated]", id="text cut"),
        pytest.param(ROWS, json.dumps(ROWS).replace("A", "B x", 1), id="name replaced"),
        pytest.param("first line of it\nand the second", "first line of it", id="line lost"),
        pytest.param("some result with words", "", id="nothing"),
        *(
            pytest.param(value, "COMPLETED", id=f"falsy {value!r}")
            for value in (None, {}, 0, "", [])
        ),
        pytest.param("37.2", "38.2", id="other number"),
    ],
)
def test_a_result_with_a_value_missing_is_altered(returned: object, text: str) -> None:
    assert compare(returned, delivered(text)) == "altered"


def test_a_short_result_inside_a_sentence_is_unknown() -> None:
    assert compare("Paris", delivered("The city is Paris")) == "unknown"


def test_a_lost_image_is_altered_and_an_arrived_one_whole() -> None:
    returned = [{"type": "text", "text": "screenshot taken"}, {"type": "image", "data": "…"}]
    types = ("text", "image")
    text = "screenshot taken"
    assert compare(returned, delivered(text), returned_part_types=types) == "altered"
    assert compare(returned, delivered(text, n_images=1), returned_part_types=types) == "whole"


def test_a_reference_or_a_cut_record_is_unknown() -> None:
    reference = ToolResultPart(call_id="c1", parts=(OpaquePart(kind="file_id"),))
    assert compare(ROWS, reference) == "unknown"
    assert compare("the begin", delivered("something else"), returned_is_cut=True) == "unknown"


def test_structured_delivery_is_compared_by_value() -> None:
    assert compare(ROWS, delivered(value={"result": ROWS})) == "whole"
    changed = copy.deepcopy(ROWS)
    changed[1]["volts"] = 3.6
    assert compare(ROWS, delivered(value={"result": changed})) == "altered"


def test_objects_are_compared_by_their_fields_and_unknown_ones_never_altered() -> None:
    @dataclasses.dataclass
    class Reading:
        name: str
        volts: float
        page: int

    class Own:
        def __str__(self) -> str:
            return "a reading of four volts"

    assert compare(Reading("x", 1.5, 3), delivered('{"name":"x","volts":1.5,"page":3}')) == "whole"
    assert (
        compare(Reading("x", 1.5, 3), delivered('{"name":"x","volts":2.5,"page":3}')) == "altered"
    )
    assert compare(Own(), delivered("something of another kind")) == "unknown"


def test_large_results_are_compared_cheaply() -> None:
    rows = [{"id": i, "text": f"row number {i} of the table"} for i in range(8000)]
    assert compare(rows, delivered(json.dumps(rows))) == "whole"
    assert compare(rows, delivered(json.dumps(rows)[:50_000])) == "altered"


_scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-10_000, 10_000), st.floats(-1e4, 1e4).map(lambda x: round(x, 3)),
    st.text("abcdefg hij", min_size=1, max_size=20).map(str.strip).filter(bool),
)  # fmt: skip
_records = st.lists(
    st.dictionaries(st.sampled_from(["name", "volts", "page", "note"]), _scalars, min_size=3),
    min_size=1,
    max_size=5,
)


@settings(deadline=None)
@given(_records)
def test_any_json_writer_delivers_whole(rows: list[dict[str, Any]]) -> None:
    for text in (
        json.dumps(rows),
        json.dumps(rows, indent=1),
        str(rows),
        json.dumps({"data": rows}),
    ):
        assert compare(rows, delivered(text)) == "whole"


@settings(deadline=None)
@given(_records, st.data())
def test_one_changed_number_is_never_called_whole(
    rows: list[dict[str, Any]], data: st.DataObject
) -> None:
    changed = copy.deepcopy(rows)
    row = data.draw(st.sampled_from(changed))
    keys = sorted(key for key, value in row.items() if value is not None)
    assume(keys)
    key = data.draw(st.sampled_from(keys))
    row[key] = 123_456.5
    for text in (json.dumps(changed), str(changed)):
        assert compare(rows, delivered(text)) != "whole"
