from __future__ import annotations

import sys
import unicodedata

import pytest

from spanwitness.model.digest import span_id_for
from spanwitness.model.shapeless import SHAPELESS, spelled_out

MARKS = {"\u0600", "\u0601", "\u0602", "\u0603", "\u0604", "\u0605", "\u06dd", "\u070f"}
"""Signs that Unicode lists with the format characters and that are drawn all the same."""
FILLERS = {"\u115f", "\u1160", "\u3164", "\uffa0"}
"""Letters that are drawn as nothing."""


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[31mred", "\\u001b[31mred"),
        ("x\u202egnp.exe", "x\\u202egnp.exe"),
        ("a\u2028b\u200bc\u3164d", "a\\u2028b\\u200bc\\u3164d"),
        ("half \ud800", "half \\ud800"),
        ("two\nlines\tapart", "two\nlines\tapart"),
        ("Grüße, 世界, עברית 👍", "Grüße, 世界, עברית 👍"),
    ],
)
def test_what_has_no_shape_is_spelled_out(text, seen):
    assert spelled_out(text) == seen


def test_every_control_character_and_direction_mark_has_no_shape_and_no_other_letter_does():
    turns = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    for char in map(chr, range(sys.maxunicode + 1)):
        category = unicodedata.category(char)
        is_control = category in {"Cc", "Cs", "Co", "Zl", "Zp"} and char not in "\t\n"
        if is_control or unicodedata.bidirectional(char) in turns:
            assert SHAPELESS.match(char), hex(ord(char))
        elif char in MARKS or (category[0] in "LNPS" and char not in FILLERS):
            assert not SHAPELESS.match(char), hex(ord(char))


def test_the_id_of_a_span_follows_from_what_it_tells():
    assert span_id_for("a", "b") == span_id_for("a", "b")
    assert span_id_for("a", "b") != span_id_for("ab")
    assert len(span_id_for("\ud800")) == 16
