# ruff: noqa: E501
from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwitness.normalize.values import find_values, missing, unseen

PROSE = "The quick brown fox, as ever, jumps over the lazy dog. " * 400


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"value": "300 mA", "page": 2}', {"number:300", "page:2"}),
        ("It costs $5, 12% of 1,234.50.", {"number:5", "number:12%", "number:1234.5"}),
        ("See p. 3, pages 4-6 and section 4.2.", {"page:3", "page:4", "page:6", "section:4.2"}),
        ("On January 2, 2024 and 2024-03-04 and 5.6.2025", {"date:2024-01-02", "date:2024-03-04", "date:2025-06-05"}),
        ("In report.pdf, https://x.org/a?b=1.", {"file:report.pdf", "url:https://x.org/a?b=1"}),
        ('It says "the supply voltage is nominal".', {"quote:the supply voltage is nominal"}),
        ('{"quote": "up to 3.6 V"}', {"quote:up to 3.6 v"}),
        ("-40\u00b0C to 85 C at 1e-3", {"number:-40", "number:85", "number:0.001"}),
        ("```json\n{\"total\": 41.5}\n```", {"number:41.5"}),
    ],
)  # fmt: skip
def test_numbers_dates_quotations_and_references_are_values(text: str, values: set[str]) -> None:
    assert find_values(text) == values


@pytest.mark.parametrize(
    "text",
    [
        "Hello! How can I help?",
        "Here are 3 ideas:\n1. walk\n2. swim\n10. rest",
        '{"sentiment": "positive", "confidence": 0.93, "is_final": true}',
        "The DPS310 and call_0005_0 in v1.2.3, the 21st of its kind",
        "the id 550e8400-e29b-41d4-a716-446655440000",
        '{"category": "billing", "labels": ["a", "b"], "x": null}',
    ],
)
def test_labels_judgements_names_and_list_markers_are_no_values(text: str) -> None:
    assert find_values(text) == frozenset()


@pytest.mark.parametrize(
    ("answer", "given_text"),
    [
        ('{"value": "250 mA", "page": 2}', '{"page": 2, "snippet": "Maximum 0.25 A"}'),
        ("37.2 and 3.14", "x 37.2, 3.14159"),
        ("250", "name,250,300"),
        ("250", "[1,250,3]"),
        ("1,250", "it is 1250"),
        ("12%", "a share of 0.12"),
        ("2 January 2024", "on 2024-01-02"),
        ('"Maximum output current 250 mA"', "Maximum  output\ncurrent 250 mA."),
        ("p. 4", "found on pages 3-6"),
        (
            '"die Höhe über Grund beträgt"',
            r'{"text": "die H\u00f6he \u00fcber Grund betr\u00e4gt 5"}',
        ),
        ('"the mark \U0001d53e is a letter"', r'{"text": "the mark \ud835\udd3e is a letter"}'),
        ("5\u20137 \u00b0C", r'{"range": "5\u20137 \u00b0C"}'),
    ],
)
def test_what_an_input_holds_in_another_form_is_seen(answer: str, given_text: str) -> None:
    assert unseen(answer, ["some text", given_text]).n_values_unseen == 0


@pytest.mark.parametrize(
    ("answer", "given_text"),
    [
        ("25 mA", "the value is 250 mA, or 1.25 or 125"),
        ("300 mA", "Maximum output current 250 mA, page 3"),
        ("234.5 V", "1,234.5 V"),
        ("12.5 V", "12.58 V"),
        ("page 9", "page 2, page 19"),
        ('"Maximum input current"', "Maximum output current 250 mA."),
    ],
)
def test_a_number_never_matches_inside_another(answer: str, given_text: str) -> None:
    assert unseen(answer, [given_text]).n_values_unseen == 1


def test_samples_name_what_is_unseen() -> None:
    found = unseen('{"value": "300 mA", "page": 2}', ["page 2 says 250 mA"])
    assert found == (2, 1, ("number:300",))
    assert unseen("no values here", []) == (0, 0, ())


@settings(deadline=None)
@given(st.lists(st.integers(11, 10**9), min_size=1, max_size=6, unique=True))
def test_every_number_of_an_input_is_seen_in_any_layout(numbers: list[int]) -> None:
    answer = json.dumps({"values": numbers})
    for text in (
        str(numbers),
        json.dumps(numbers, separators=(",", ":")),
        "; ".join(map(str, numbers)),
    ):
        assert unseen(answer, [text]).n_values_unseen == 0
    assert unseen(answer, ["nothing"]).n_values_unseen == len(numbers)


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_can_be_read(answer: str, other: str) -> None:
    found = unseen(answer, [other])
    assert 0 <= found.n_values_unseen <= found.n_values
    assert unseen(answer, [answer]).n_values == found.n_values


@given(
    st.lists(
        st.one_of(
            st.floats(-1e7, 1e7, allow_nan=False).map(lambda x: f"{x:.3g}"),
            st.integers(0, 10**6).map("{:,}".format),
            st.sampled_from(["0", "0.0", "12%", "1e3", "page 3", "2024-03-04", "three", "1,2,30"]),
        ),
        max_size=20,
    ),
    st.sampled_from([" ", ", ", "\n", ",", " / "]),
    st.sampled_from(
        ["250 V, 3.14, 0, 12.5%, page 3, 4 March 2024", "5000 and 0.001", "-40 C, 7 V"]
    ),
)
def test_a_long_text_is_searched_as_a_short_one_is_read(
    pieces: list[str], separator: str, answer: str
) -> None:
    values = find_values(answer)
    text = separator.join(pieces)
    assert missing(values, [text]) == missing(values, [f"{PROSE}\n{text}\n{PROSE}"])


@pytest.mark.parametrize(
    "text",
    [
        "-",
        "\n",
        "1",
        "1,",
        "300.1 ",
        '"a',
        "a.",
        "2024 ",
        "1e",
        "page ",
        "page3.pdf ",
        "\u201c",
        "- 1",
    ],
)
def test_a_text_made_to_be_slow_takes_linear_time(text: str) -> None:
    hostile = text * (100_000 // len(text))  # quadratic time would be minutes
    answer = '{"value": "300 mA", "page": 2, "quote": "up to 3.6 V", "on": "2024-03-05"}'
    assert unseen(answer, [hostile, hostile]).n_values == 4
    find_values(hostile)
    find_values("page" + hostile)


def test_a_negative_number_is_a_value_as_its_absolute_is() -> None:
    assert find_values("it is -40 here") == {"number:-40"}
