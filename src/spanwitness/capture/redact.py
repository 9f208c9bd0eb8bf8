"""Secrets are taken out of text before it leaves, also where the caller's own redaction fails."""

from __future__ import annotations

import re
from typing import Final

REDACTED: Final = "[redacted]"
"""Stands where a secret stood."""
REDACTION_FAILED: Final = "[redaction failed]"
"""Stands for a whole text whose redaction raised: it fails closed."""
MARGIN: Final = 96
"""Characters beyond a cut that must be looked at, so that a secret across the cut is recognised."""

# A secret may follow a JSON escape ("\nsk-..."), whose last letter is no part of a word.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9a-f]{4}))"

_PEM = (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[^\"]*?"
    r"(?:-----END [A-Z ]*PRIVATE KEY-----|(?=\")|\Z)"
)

# (a cheap look that must succeed first, the pattern, what replaces it)
_PATTERNS: Final = tuple(
    (needle, re.compile(pattern), replacement)
    for needle, pattern, replacement in (
        ("sk-", _START + r"sk-[A-Za-z0-9_-]{16,}", REDACTED),
        ("eyJ", _START + r"eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*){0,2}", REDACTED),
        ("earer", r"([Bb]earer(?:\s|\\[nrt])+)[A-Za-z0-9._~+/=-]{6,}", r"\g<1>" + REDACTED),
        ("AKIA", _START + r"AKIA[0-9A-Z]{12,}", REDACTED),
        ("ASIA", _START + r"ASIA[0-9A-Z]{16}", REDACTED),
        ("AIza", _START + r"AIza[0-9A-Za-z_-]{30,}", REDACTED),
        ("gh", _START + r"gh[pousr]_[A-Za-z0-9]{20,}", REDACTED),
        ("github_pat_", r"github_pat_[A-Za-z0-9_]{20,}", REDACTED),
        ("xox", _START + r"xox[abeoprs]-[A-Za-z0-9-]{10,}", REDACTED),
        (
            "PRIVATE KEY",
            _PEM,
            REDACTED,
        ),
    )
)


def redact_secrets(text: str) -> str:
    """Replace what looks like a credential: API keys, bearer tokens, JWTs, private keys.

    Works on plain text and on JSON text alike (it never crosses a quotation mark, so JSON stays
    JSON). What has no such form, a password in prose, is not recognised: give `redact=` for that.
    """
    for needle, pattern, replacement in _PATTERNS:
        if needle in text:
            text = pattern.sub(replacement, text)
    return text
