"""Short digests: equal texts have equal ones; a key keeps values unguessable that are not."""

from __future__ import annotations

from hashlib import blake2b, sha256


def digest_text(text: str, *, key: bytes = b"") -> str:
    """Return 16 hex digits that identify a text.

    Args:
        text: Any text; lone surrogates are allowed.
        key: At most 64 bytes. Give one where the text is content that must not leave: short values
            (an amount, a yes or no) can otherwise be found by trying.
    """
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key).hexdigest()


def span_id_for(*identity: str) -> str:
    """Return the id of a span made later, which follows from what it tells.

    A second delivery of the same thing makes the same span, and a backend keeps one.

    Args:
        identity: What makes the span the one it is, at any number of texts.
    """
    return sha256("\0".join(identity).encode("utf-8", "replace")).hexdigest()[:16]
