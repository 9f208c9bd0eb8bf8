"""What messages become on a chat span: texts where the policy lets them leave, else facts."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanwitness.capture import chat_attributes, withheld
from spanwitness.capture.content import content_key, encode
from spanwitness.capture.redact import redact_secrets
from spanwitness.guard import guard
from spanwitness.model import TextPart, ToolResultPart
from spanwitness.model.digest import digest_text
from spanwitness.normalize.json_schema import compile_schema
from spanwitness.normalize.messages import encode_messages
from spanwitness.normalize.values import find_values, unsupported
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as sw
from spanwitness.wire.reading import encode_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwitness.capture.chat_attributes import ReplyTexts
    from spanwitness.capture.content import ContentPolicy
    from spanwitness.capture.histories import Histories
    from spanwitness.capture.spans import Attributes
    from spanwitness.model import Message
    from spanwitness.wire.facts import WireReply, WireRequest

__all__ = ["content_facts", "recorded_content"]

_CAP_FACTOR: Final = 32
"""Messages hold many texts: their cap is this many times the cap of one attribute."""
_MAX_DIGESTED_CHARS: Final = 131_072
_MAX_VALIDATORS: Final = 64
_validators: OrderedDict[str, Callable[[object], bool | None]] = OrderedDict()


def recorded_content(
    request: WireRequest,
    reply: WireReply | None,
    policy: ContentPolicy,
    histories: Histories,
    name_of: Callable[[str], str | None],
) -> Attributes:
    """Return the content attributes of a call: nothing unless the policy lets texts leave.

    Args:
        request: What was asked.
        reply: The reply, if there is one.
        policy: What may leave.
        histories: The memory of the client.
        name_of: Returns the tool that a call id belongs to, if that is known.
    """
    if not policy.is_on:
        return {}
    kept_in = withheld.names(policy)
    found: Attributes = {}
    cuts: list[_Cut] = []
    cap = policy.max_chars * _CAP_FACTOR
    is_quick = policy.redact is None

    def record(key: str, text: str, *, is_redacted: bool = False) -> None:
        if is_quick and len(text) <= cap:
            is_redacted = is_redacted or not policy.redact_secrets
            found[key] = text if is_redacted else redact_secrets(text)
            return
        if len(text) > cap:
            cuts.append(_Cut(key, len(text), _digest(text)))
        found[key] = encode(json.loads(text), policy, max_chars=cap).text or ""

    messages = withheld.withhold(request.messages, kept_in, name_of)
    if messages:
        text = histories.encode(messages, is_redacted=is_quick and policy.redact_secrets)
        if len(text) > cap:
            cuts.append(_Cut(gen_ai.INPUT_MESSAGES, len(text), _digest(text)))
            text = _newest(messages, cap)
        record(gen_ai.INPUT_MESSAGES, text, is_redacted=len(text) <= cap and not cuts)
    if request.offered:
        record(gen_ai.TOOL_DEFINITIONS, histories.offer(request.offered).definitions())
    form = request.output_format
    if form is not None and form.schema is not None:
        record(sw.RESPONSE_SCHEMA, encode_json(form.schema))
    if reply is not None and reply.messages:
        said = withheld.withhold(reply.messages, kept_in, name_of)
        record(gen_ai.OUTPUT_MESSAGES, encode_messages(said))
    if cuts:
        found[sw.TRUNCATED] = tuple([cut.key for cut in cuts])
        found[sw.TRUNCATED_CHARS] = tuple([cut.chars for cut in cuts])
        found[sw.TRUNCATED_DIGESTS] = tuple([cut.digest for cut in cuts])
    return found


class _Cut(NamedTuple):
    key: str
    chars: int
    digest: str


def _newest(messages: Sequence[Message], room: int) -> str:
    """Encode the system text and the newest messages that fit; earlier spans hold the others."""
    n_system = next((i for i, m in enumerate(messages) if m.role != "system"), len(messages))
    head = [encode_messages((message,))[1:-1] for message in messages[:n_system]]
    left = room - 2 - sum(len(text) + 1 for text in head)
    tail: list[str] = []
    for message in reversed(messages[n_system:]):
        text = encode_messages((message,))[1:-1]
        left -= len(text) + 1
        if left < 0 and tail:
            break
        tail.append(text)
    return f"[{','.join([*head, *reversed(tail)])}]"


def _digest(text: str) -> str:
    return digest_text(text, key=content_key()) if len(text) <= _MAX_DIGESTED_CHARS else ""


def content_facts(
    request: WireRequest, reply: WireReply, texts: ReplyTexts, *, has_calls: bool
) -> Attributes:
    """Return what rules need to know of texts that do not leave.

    Args:
        request: What was asked.
        reply: The reply; it is no failure.
        texts: Its texts.
        has_calls: Whether calls came out as text.
    """
    answer = "\n".join(texts.visible)
    if not answer.strip() or reply.is_cut:
        return {}
    found: Attributes = {}
    form = request.output_format
    if form is not None and form.schema is not None and not reply.requested:
        with guard("capture.chat.schema"):
            is_satisfied = _satisfies(answer, form.schema, form.schema_digest)
            if is_satisfied is not None:
                found[sw.SCHEMA_SATISFIED] = is_satisfied
    # Whoever used a tool may state what it returned: only an answer that rests on nothing returned
    # is looked at.
    if request.offered and not reply.requested and not has_calls and not _has_evidence(request):
        with guard("capture.chat.values"):
            values = find_values(answer)
            found[sw.VALUES] = len(values)
            inputs = chat_attributes.input_texts(request) if values else []
            if inputs is not None:
                found[sw.VALUES_UNSEEN] = len(unsupported(values, inputs))
    return found


_EMPTY_WORDS = frozenset({"", "None"})
_MAX_EMPTY_CHARS = 200
"""A longer result is taken to hold something."""


def _has_evidence(request: WireRequest) -> bool:
    """Say whether some tool result in the request holds anything."""
    return any(
        type(part) is ToolResultPart and not _is_empty(part)
        for message in request.messages
        for part in message.parts
    )


def _is_empty(result: ToolResultPart) -> bool:
    return _holds_nothing(result.value) and all(
        isinstance(part, TextPart) and _is_empty_text(part.text) for part in result.parts
    )


def _is_empty_text(text: str) -> bool:
    text = text.strip()
    if len(text) > _MAX_EMPTY_CHARS:
        return False
    if text in _EMPTY_WORDS:
        return True
    try:
        return _holds_nothing(json.loads(text))
    except ValueError:
        return False


def _holds_nothing(value: object) -> bool:
    """Say whether a decoded value has no leaf but empty ones; 0 and False are values."""
    if isinstance(value, dict):
        return all(map(_holds_nothing, value.values()))
    if isinstance(value, list):
        return all(map(_holds_nothing, value))
    return value is None or value == ""


def _satisfies(answer: str, schema: dict[str, Any], digest: str | None) -> bool | None:
    """Say whether an answer satisfies its schema; `None` = the schema is unusable."""
    try:
        value = json.loads(answer)
    except (ValueError, RecursionError):
        return False
    key = digest or encode_json(schema, is_sorted=True)
    validate = _validators.get(key)
    if validate is None:
        validate = _validators[key] = compile_schema(schema)
        while len(_validators) > _MAX_VALIDATORS:
            _validators.popitem(last=False)
    return validate(value)
