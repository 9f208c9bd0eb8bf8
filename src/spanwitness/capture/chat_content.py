"""What messages become on a chat span: texts where the policy lets them leave, else facts."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, cast

from spanwitness.capture import chat_attributes
from spanwitness.capture.content import content_key, encode
from spanwitness.capture.redact import redact_secrets
from spanwitness.guard import guard
from spanwitness.model import TextPart
from spanwitness.model.digest import digest_text
from spanwitness.normalize.messages import encode_definitions, encode_messages
from spanwitness.normalize.values import unseen
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as sw
from spanwitness.wire.reading import encode_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanwitness.capture.content import ContentPolicy
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
    request: WireRequest, reply: WireReply | None, policy: ContentPolicy
) -> Attributes:
    """Return the content attributes of a call: nothing unless the policy lets texts leave."""
    if not policy.is_on:
        return {}
    found: Attributes = {}
    cuts: list[tuple[str, int, str]] = []
    cap = policy.max_chars * _CAP_FACTOR

    def record(key: str, text: str, shorten: Callable[[int], str] | None = None) -> None:
        is_cut = len(text) > cap
        if is_cut:
            cuts.append((key, len(text), _digest(text)))
        kept = shorten(cap) if is_cut and shorten is not None else text
        if len(kept) > cap or policy.redact is not None:
            found[key] = encode(json.loads(kept), policy, max_chars=cap).text or ""
        else:
            found[key] = redact_secrets(kept) if policy.redact_secrets else kept

    if request.messages:
        messages = request.messages
        record(
            gen_ai.INPUT_MESSAGES,
            encode_messages(messages),
            lambda room: _newest(messages, room),
        )
    if request.offered:
        record(gen_ai.TOOL_DEFINITIONS, encode_definitions(request.offered))
    form = request.output_format
    if form is not None and form.schema is not None:
        record(sw.RESPONSE_SCHEMA, encode_json(form.schema))
    if reply is not None and reply.messages:
        record(gen_ai.OUTPUT_MESSAGES, encode_messages(reply.messages))
    if cuts:
        found[sw.TRUNCATED] = [cut[0] for cut in cuts]
        found[sw.TRUNCATED_CHARS] = [cut[1] for cut in cuts]
        found[sw.TRUNCATED_DIGESTS] = [cut[2] for cut in cuts]
    return found


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


def content_facts(request: WireRequest, reply: WireReply, *, has_calls: bool) -> Attributes:
    """Return what rules need to know of texts that do not leave.

    Args:
        request: What was asked.
        reply: The reply; it is no failure.
        has_calls: Whether calls came out as text.
    """
    answer = "\n".join(chat_attributes.texts_of(reply.messages, TextPart))
    if not answer.strip() or reply.is_cut:
        return {}
    found: Attributes = {}
    form = request.output_format
    if form is not None and form.schema is not None and not reply.requested:
        with guard("capture.chat.schema"):
            is_satisfied = _satisfies(answer, form.schema, form.schema_digest)
            if is_satisfied is not None:
                found[sw.SCHEMA_SATISFIED] = is_satisfied
    if request.offered and not reply.requested and not has_calls:
        with guard("capture.chat.values"):
            inputs = chat_attributes.input_texts(request)
            values = unseen(answer, inputs or ())
            found[sw.VALUES] = values.n_values
            if inputs is not None or not values.n_values:
                found[sw.VALUES_UNSEEN] = values.n_values_unseen
    return found


def _satisfies(answer: str, schema: dict[str, Any], digest: str | None) -> bool | None:
    """Say whether an answer satisfies its schema; `None` = the schema is unusable."""
    try:
        value = json.loads(answer)
    except ValueError:
        return False
    key = digest or encode_json(schema, is_sorted=True)
    validate = _validators.get(key)
    if validate is None:
        validate = _validators[key] = _compile(schema)
        while len(_validators) > _MAX_VALIDATORS:
            _validators.popitem(last=False)
    return validate(value)


def _compile(schema: dict[str, Any]) -> Callable[[object], bool | None]:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(schema)
    except SchemaError:
        return lambda _: None
    # An empty registry: a reference to another document is never fetched.
    made = kind(schema, registry=Registry())

    def validate(value: object) -> bool | None:
        try:
            return bool(made.is_valid(cast("Any", value)))
        except (Unresolvable, RecursionError):
            return None

    return validate
