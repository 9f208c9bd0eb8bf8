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

_SK = re.compile(_START + r"sk-[A-Za-z0-9_-]{16,}")
_SLACK = re.compile(_START + r"xox[abeoprs]-[A-Za-z0-9-]{10,}")
_JWT = re.compile(_START + r"eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*){0,2}")
_CLOUD = re.compile(_START + r"(?:AKIA[0-9A-Z]{12,}|ASIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30,})")
_GITHUB = re.compile(_START + r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})")
_BEARER = re.compile(r"([Bb]earer(?:\s|\\[nrt])+)[A-Za-z0-9._~+/=-]{6,}")
_PRIVATE = re.compile(_PEM)


# A name and what parts it from its value: `name: `, `name=`, `'name': `, `(b'name', `.
_NAME = re.compile(
    r"""(?x)
    (?<![A-Za-z0-9_-]) ([A-Za-z0-9_-]{2,64}) (?![A-Za-z0-9_-])
    (?: \\? ["'] )? \s{0,8} (?: [:=] \s{0,8} | , \s{0,8} (?= b? \\? ["'] ) )
    """
)
_SECRET_NAME = re.compile(
    r"""(?ix)
    (?: .* [-_] )?
    (?: authorization | cookie2? | api[-_]?key | access[-_]?key | secret | password | passwd )
    (?: [-_] .* )?
    | .+ [-_] (?: token | auth | key | credentials? )
    """
)
_VALUE = re.compile(
    r"""(?imx)
    b? (\\? ["']) .*? (?: \1 | $ )
    | (?: (?: bearer | basic | digest | token ) \s+ )? [^\s"',;)}\]\\]+
      (?: ; \s{0,8} [^\s"',;)}\]\\]+ )*
    """
)


def redact_named(text: str) -> str:
    """Replace values that stand beside the name of a credential: headers, passwords, tokens.

    For texts of errors, which like to echo a whole request. Not for content, where such a name may
    be what a document is about.
    """
    pieces: list[str] = []
    done = 0
    for name in _NAME.finditer(text):
        if name.start() < done or _SECRET_NAME.fullmatch(name[1]) is None:
            continue
        value = _VALUE.match(text, name.end())
        if value is not None:
            pieces += (text[done : name.end()], REDACTED)
            done = value.end()
    return "".join([*pieces, text[done:]]) if pieces else text


def redact_secrets(text: str) -> str:
    """Replace what looks like a credential: API keys, bearer tokens, JWTs, private keys.

    Works on plain text and on JSON text alike (it never crosses a quotation mark, so JSON stays
    JSON). What has no such form, a password in prose, is not recognised: give `redact=` for that.
    """
    # Looking for one character costs a fiftieth of looking for three, so it is asked first.
    if "-" in text:
        if "sk-" in text:
            text = _SK.sub(REDACTED, text)
        if "PRIVATE KEY" in text:
            text = _PRIVATE.sub(REDACTED, text)
        if "xox" in text:
            text = _SLACK.sub(REDACTED, text)
    if "J" in text and "eyJ" in text:
        text = _JWT.sub(REDACTED, text)
    if "I" in text and ("AKIA" in text or "AIza" in text or "ASIA" in text):
        text = _CLOUD.sub(REDACTED, text)
    if "_" in text and "gh" in text:
        text = _GITHUB.sub(REDACTED, text)
    if ("B" in text or "b" in text) and "earer" in text:
        text = _BEARER.sub(r"\g<1>" + REDACTED, text)
    return text
