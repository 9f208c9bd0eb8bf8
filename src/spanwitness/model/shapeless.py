"""Characters of a text that a reader would not see, or that would move or hide what is read.

Text of a trace is anybody's: on terminals and on pages these are spelled out.
"""

from __future__ import annotations

import re
from typing import Final

SHAPELESS: Final = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f"
    "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ud800-\\uf8ff\\ufe00-\\ufe0e\\ufeff"
    "\\uffa0\\ufff9-\\ufffb\\ufffe\\uffff\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a"
    "\\U000e0000-\\U0010ffff]"
)
"""Control characters but tab and newline, marks that turn the direction of writing, characters
without a width, lone surrogates, and what is private or no character."""


def spelled_out(text: str) -> str:
    r"""Return a text with what has no shape written as `\u202e`; tab and newline stay."""
    return SHAPELESS.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
