"""Text of a trace on the page: plain, bounded, with nothing invisible in it."""

from __future__ import annotations

import pytest

from spanwitness.review.web.shown_text import Mark, one_line, readable, shown


def spelled(text, **more):
    return "".join(
        f"[{p.text}]" if p.kind != "plain" else p.text for p in shown(text, **more).pieces
    )


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\nb\tc", "a\nb\tc"),
        ("a\r\nb", "a\nb"),
        ("x\u202egnp.exe", "x[U+202E]gnp.exe"),
        ("\x1b[31mred", "[U+001B][31mred"),
        ("a\x00b\ufeff", "a[U+0000]b[U+FEFF]"),
        ("\u2066in\u2069", "[U+2066]in[U+2069]"),
        ("lone \ud800 half", "lone [U+D800] half"),
        ("\U000e0041tag", "[U+E0041]tag"),
        ("Grüße, 世界, עברית", "Grüße, 世界, עברית"),
        ("<b>&amp;", "<b>&amp;"),
    ],
)
def test_what_has_no_shape_of_its_own_is_spelled_out(text, seen):
    assert spelled(text) == seen


def test_a_long_text_is_cut_and_says_by_how_much():
    cut = shown("a" * 10_000_000, limit=100)
    assert sum(len(p.text) for p in cut.pieces) == 100
    assert (cut.n_chars, cut.n_hidden) == (10_000_000, 9_999_900)


def test_marks_stand_where_they_are_put_and_never_overlap():
    marks = [Mark(2, 4, "good"), Mark(3, 6, "bad"), Mark(8, 99, "weak"), Mark(50, 60, "bad")]
    pieces = shown("0123456789", marks=marks).pieces
    assert [(p.text, p.tone) for p in pieces if p.kind == "mark"] == [
        ("23", "good"),
        ("89", "weak"),
    ]
    assert "".join(p.text for p in pieces) == "0123456789"


def test_a_mark_holds_no_invisible_character():
    assert spelled("ab\u200bcd", marks=[Mark(1, 4, "good")]) == "a[b][U+200B][c]d"


def test_one_line_has_one_line_of_bounded_length():
    line = one_line("two\nlines \x1b[0m " + "x" * 1000, limit=40)
    assert "\n" not in line
    assert "\x1b" not in line
    assert len(line) <= 50
    assert line.endswith("…")


def test_values_are_read_as_a_person_reads_them():
    assert readable("as it is") == "as it is"
    assert readable({"ä": [1]}) == '{\n  "ä": [\n    1\n  ]\n}'
    loop: list[object] = []
    loop.append(loop)
    assert readable(loop)
