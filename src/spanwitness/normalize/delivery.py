"""Whether what a tool returned stands whole in a later request.

Harnesses serialise results in many ways (JSON, a Python literal, wrapped in an envelope, as a
table), so bytes cannot be compared. The order of the steps is from cheap and certain to dear and
tolerant: parts that are no text, raw text, canonical values, then the sequence of normalised
tokens. Multisets of tokens are not used: they miss lost minus signs and swapped values.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from spanwitness.model import MediaPart, OpaquePart, TextPart, ToolResultPart
from spanwitness.normalize.plain import plain_value, unblock
from spanwitness.normalize.tokens import Token, is_number, tokens_of

__all__ = ["compare", "is_empty_text"]

DeliveryWord: TypeAlias = Literal["whole", "altered", "unknown"]

_MAX_CHARS = 65_536
"""Above it only the cheap steps run: 1 MB of altered text costs 415 ms otherwise."""
_MIN_TOKENS = 3
_MIN_CHARS = 24
_EMPTY_TEXTS: Final = frozenset({"", "null", "None", "[]", "{}", '""', "''", "undefined"})
_NOTHING = re.compile(r"\b(?:no|not|none|null|nothing|empty|without|void)\b", re.IGNORECASE)
_EMBEDDED = re.compile(r"[\[{]")


def is_empty_text(value: str) -> bool:
    """Say whether a result's text says nothing: blank, null, an empty list or object."""
    return value.isspace() or (len(value) < 64 and value.strip() in _EMPTY_TEXTS)


def compare(
    returned: object,
    delivered: ToolResultPart,
    *,
    returned_part_types: Sequence[str] | None = None,
    returned_is_cut: bool = False,
) -> DeliveryWord:
    """Compare what a tool returned with what a request carries of it.

    Args:
        returned: The value as returned, or the text that was recorded of it.
        delivered: The result as it stands in the request.
        returned_part_types: `text`, `image`, ... of what was returned; `None` = not known.
        returned_is_cut: Only a beginning of what was returned is known.

    Returns:
        `whole` when every value of the result stands in the request, in whatever serialisation;
        `altered` when some are missing; `unknown` when neither can be said (a reference, too little
        to compare, too large to compare).
    """
    parts = delivered.parts
    if (
        len(parts) == 1
        and not returned_is_cut
        and (returned_part_types is None or tuple(returned_part_types) == ("text",))
        and isinstance(parts[0], TextPart)
        and _is_same(returned, parts[0].text)
    ):
        return "whole"
    media = [part for part in parts if isinstance(part, MediaPart)]
    if any(isinstance(part, OpaquePart) for part in parts):
        return "unknown"
    if returned_part_types is not None:
        n_media = sum(kind != "text" for kind in returned_part_types)
        if len(media) < n_media:
            return "altered"
        if n_media and "text" not in returned_part_types:
            return "whole"
    if returned_is_cut:
        return "unknown"
    texts = [part.text for part in parts if isinstance(part, TextPart)]
    plain = plain_value(returned)
    word = _compare_values(plain.value, "\n".join(texts), texts, delivered.value)
    if word == "altered" and not plain.is_exact:
        return "unknown"  # how the harness writes an object of its own class is not known
    return word


def _is_same(returned: object, text: str) -> bool:
    """Say whether a text is the result itself, or its JSON: by far the most frequent case."""
    if type(returned) is str:
        return returned == text
    return type(returned) in (dict, list) and bool(_parse(text) == returned)


def _compare_values(
    returned: object, text: str, texts: list[str], structured: object
) -> DeliveryWord:
    value = unblock(returned)
    if isinstance(value, str):
        if value == text or (structured is not None and value == structured):
            return "whole"
        if len(value) >= _MIN_CHARS and value in text:
            return "whole"
    if isinstance(value, str) and len(value) > _MAX_CHARS:
        return _compare_large(value, text)
    if len(text) > _MAX_CHARS:
        return _compare_large(value, text)
    return _compare_small(value, text, texts, structured)


def _compare_small(value: object, text: str, texts: list[str], structured: object) -> DeliveryWord:
    asked = _parse(value)
    nodes = [_parse(text), *(_parse(part) for part in texts if len(texts) > 1)]
    if structured is not None:
        nodes.append(structured)
    tokens = list(_leaf_tokens(asked))
    is_short = len(tokens) < _MIN_TOKENS and sum(len(str(t)) for t in tokens) < _MIN_CHARS
    wanted, wanted_peeled = _canonical(asked), _canonical(_peel(asked))
    for node in nodes:
        if _canonical(_peel(node)) in (wanted, wanted_peeled) or _canonical(node) == wanted:
            return "whole"
    if _is_container(asked) and list(tokens_of(text)) == list(tokens_of(json.dumps(asked))):
        return "whole"
    if is_short:
        return _compare_short(asked, tokens, text, structured)
    embedded = list(_embedded(text))
    if any(_canonical(n) in (wanted, wanted_peeled) for n in _nodes([*nodes, *embedded])):
        return "whole"
    if _is_container(asked) and any(_is_container(node) for node in nodes):
        leaves = [_canonical(leaf) for leaf in _leaves(asked)]
        same = any([_canonical(x) for x in _leaves(node)] == leaves for node in _nodes(nodes))
        return "whole" if same else "altered"
    return _compare_tokens(asked, value, text, structured, tokens)


def _compare_tokens(
    asked: object, value: object, text: str, structured: object, leaves: list[Token]
) -> DeliveryWord:
    rendered = text if structured is None else f"{text}\n{json.dumps(structured, default=str)}"
    candidates = [list(tokens_of(rendered))]
    if "\\" in rendered:
        candidates.append(list(tokens_of(_unescape(rendered))))
    if "&" in rendered:
        candidates.append(list(tokens_of(html.unescape(rendered))))
    is_text = isinstance(asked, str)
    wanted = list(tokens_of(value)) if isinstance(value, str) else leaves
    for have in candidates:
        if _holds(have, wanted, may_skip_words=not is_text and not isinstance(value, str)):
            return "whole"
        if wanted is not leaves and not is_text and _holds(have, leaves, may_skip_words=True):
            return "whole"
    return "altered"


def _compare_short(
    asked: object, tokens: list[Token], text: str, structured: object
) -> DeliveryWord:
    """Judge a value of fewer than three tokens: equality was tried, containment proves little."""
    have = list(tokens_of(text)) + list(_leaf_tokens(structured))
    if asked is None or asked == "" or (_is_container(asked) and not asked):
        if not have or _NOTHING.search(text):
            return "whole"
        return "altered"
    if not have:
        return "altered"
    if any(token in have for token in tokens):
        return "unknown"
    if isinstance(asked, (int, float)) and not asked:
        return "altered"
    numbers = [token for token in tokens if is_number(token)]
    others = [token for token in have if is_number(token)]
    if numbers and others and not any(_near(a, b) for a in numbers for b in others):
        return "altered"
    return "unknown"


def _compare_large(value: object, text: str) -> DeliveryWord:
    """Cheap and certain: values that are longer than what was delivered cannot all stand in it."""
    if isinstance(value, str) and value[:1] in "[{":
        value = _parse(value)
    room = len("".join(text.split()))
    needed = sum(len("".join(leaf.split())) for leaf in _leaves(value) if isinstance(leaf, str))
    needed += sum(1 for leaf in _leaves(value) if not isinstance(leaf, str))
    if _canonical(_parse(text)) == _canonical(value):
        return "whole"
    return "altered" if needed > room else "unknown"


def _near(left: Token, right: Token) -> bool:
    a, b = float(left), float(right)
    return abs(a - b) <= 1e-3 * max(abs(a), abs(b))


def _holds(have: list[Token], wanted: list[Token], *, may_skip_words: bool) -> bool:
    """Say whether `wanted` stands in `have` in order, with only harmless tokens between.

    Harmless are small integers (line and row numbers) and, for values rendered as text, words
    (labels). A skipped number of another kind means that a value was replaced.
    """
    if not wanted:
        return True
    limit = len(wanted) + 1
    starts = [i for i, token in enumerate(have) if token == wanted[0]]
    return any(
        _holds_from(have, i, wanted, limit, may_skip_words=may_skip_words) for i in starts[:16]
    )


def _holds_from(
    have: list[Token], at: int, wanted: list[Token], limit: int, *, may_skip_words: bool
) -> bool:
    n = 0
    for token in have[at:]:
        if token == wanted[n]:
            n += 1
            if n == len(wanted):
                return True
        elif is_number(token):
            if not token.isdigit() or int(token) > limit:
                return False
        elif not may_skip_words:
            return False
    return False


def _leaf_tokens(value: object) -> Iterator[Token]:
    for leaf in _leaves(value):
        yield from tokens_of(leaf if isinstance(leaf, str) else json.dumps(leaf, default=str))


def _leaves(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif value is not None:
        yield value


def _nodes(values: list[object]) -> Iterator[object]:
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            inner = _parse(value)
            if inner is not value:
                pending.append(inner)
        yield value
        if isinstance(value, Mapping):
            pending.extend(value.values())
        elif isinstance(value, (list, tuple)):
            pending.extend(value)


def _is_container(value: object) -> bool:
    return isinstance(value, (Mapping, list, tuple))


def _peel(value: object) -> object:
    """Take off envelopes of one key: `{"result": x}` is x."""
    while True:
        value = unblock(_parse(value))
        if isinstance(value, Mapping) and len(value) == 1:
            (value,) = value.values()
        elif isinstance(value, list) and len(value) == 1 and _is_container(value[0]):
            (value,) = value
        else:
            return value


def _parse(value: object) -> object:
    """Decode a text that is JSON; leave all else as it is."""
    if not isinstance(value, str) or len(value) > 32 * _MAX_CHARS:
        return value
    text = value.strip()
    if not text or text[0] not in '[{"-0123456789tfnNTF':
        return value
    try:
        return _decode_json(text)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(text)  # NaN, lone surrogates
    except (ValueError, RecursionError):
        return _WORDS.get(text, value)


_decode_json = msgspec.json.decode
_WORDS: dict[str, object] = {"None": None, "True": True, "False": False}


def _embedded(text: str) -> Iterator[object]:
    """Yield JSON values that stand inside a text."""
    decoder = json.JSONDecoder()
    at = 0
    for _ in range(32):
        found = _EMBEDDED.search(text, at)
        if found is None:
            return
        try:
            value, at = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            at = found.end()
            continue
        yield value


def _canonical(value: object) -> object:
    """Return a hashable value that is equal for equal content in whatever serialisation."""
    if isinstance(value, Mapping):
        items = ((str(k), _canonical(v)) for k, v in value.items() if v is not None)
        return ("map", tuple(sorted(items, key=lambda item: item[0])))
    if isinstance(value, (list, tuple)):
        return ("list", tuple(_canonical(item) for item in value))
    if isinstance(value, str):
        return ("text", " ".join(unicodedata.normalize("NFC", value).split()))
    if isinstance(value, bool) or value is None:
        return ("word", value)
    if isinstance(value, (int, float)):
        return ("number", repr(int(value)) if value == value // 1 else repr(value))
    return ("other", str(value))


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))")


def _unescape(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        code = found[1] or found[2]
        if code:
            return chr(int(code, 16))
        return found[3] if found[3] in "\"'\\/" else " "

    return _ESCAPE.sub(one, text)
