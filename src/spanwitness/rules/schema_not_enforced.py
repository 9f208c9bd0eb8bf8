"""`schema_not_enforced`: the accepted reply does not satisfy the schema on its request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanwitness.rules.replies import (
    CUT_REASONS,
    REFUSAL_REASONS,
    UNFINISHED_REASONS,
    finish_words,
    has_visible,
    reply_texts,
)
from spanwitness.rules.rule import NOT_APPLICABLE, not_assessed, rule, violated
from spanwitness.rules.subjects import CHATS, FORMATS

if TYPE_CHECKING:
    from spanwitness.model import ChatCall
    from spanwitness.rules.facts import Facts
    from spanwitness.rules.rule import Outcome


@rule("schema_not_enforced", severity="error", fault="harness", needs=CHATS | FORMATS)
def schema_not_enforced(facts: Facts) -> Outcome:
    """A reply was accepted that does not satisfy the schema, or is not the JSON, asked for.

    Claims: The request carried a JSON Schema (or asked for JSON), the server took it, and the
        text of the accepted reply does not satisfy it. `warning` when it does once a code fence
        is taken off.
    Needs: The wrapped client's own check, or the schema and the reply's text.
    Not assessed when: Neither is recorded, or the schema cannot be used here (references
        elsewhere, patterns of another language); spans are missing.
    Can be wrong: Keywords that a provider documents as unsupported are checked all the same.
        Replies with calls, refusals, cut and empty replies, and replies that a later one of the
        step replaced or a step's parser refused are not told here.
    """
    unknown = ""
    is_asked = False
    for chat in facts.accepted:
        form = chat.output_format
        if form is None:
            unknown = unknown or "The output format of a request is not recorded."
        elif form.kind in ("json_schema", "json_object") and _is_plain_answer(chat):
            is_asked = True
            how = _how(chat)
            if how in ("broken", "fenced"):
                return _told(chat, is_fenced=how == "fenced")
            unknown = unknown or how
    if unknown:
        return not_assessed(unknown)
    return facts.nothing_found if is_asked else NOT_APPLICABLE


def _is_plain_answer(chat: ChatCall) -> bool:
    if chat.requested or chat.has_refusal or chat.ending == "error":
        return False
    words = finish_words(chat)
    if words & (CUT_REASONS | REFUSAL_REASONS | UNFINISHED_REASONS) or "incomplete" in words:
        return False
    return has_visible(chat) is not False


def _how(chat: ChatCall) -> str:
    """Return `broken`, `fenced`, `""` when it is satisfied, or why it cannot be told."""
    form = chat.output_format
    if chat.is_schema_satisfied is True or form is None:
        return ""
    texts = reply_texts(chat)
    if texts is None or (form.kind == "json_schema" and form.schema is None):
        if chat.is_schema_satisfied is False:
            return "broken"
        return "The schema or the reply's text is not recorded."
    if chat.wire == "openai_responses":
        texts = texts[-1:]
    for text in texts:
        found = _check(text, form.schema)
        if found:
            return found
    return ""


def _check(text: str, schema: dict[str, object] | None) -> str:
    from spanwitness.normalize.json_schema import is_json, satisfies, unfenced

    def holds(value: str) -> bool | None:
        return is_json(value) if schema is None else satisfies(value, schema)

    whole = holds(text)
    if whole is None:
        return "The schema on the request cannot be checked here."
    if whole:
        return ""
    inner = unfenced(text)
    return "fenced" if inner is not None and holds(inner) else "broken"


def _told(chat: ChatCall, *, is_fenced: bool) -> Outcome:
    form = chat.output_format
    kind = form.kind if form is not None else ""
    asked = "the schema on its request" if kind == "json_schema" else "the JSON that was asked for"
    how = "satisfies only without its code fence" if is_fenced else "does not satisfy"
    return violated(
        f"An accepted reply {how} {asked}: the server did not enforce it.",
        span_ids=(chat.span_id,),
        evidence={
            "kind": kind,
            "schema": form.name if form is not None else None,
            "is_fenced": is_fenced,
            "host": chat.host,
            "model": chat.response_model or chat.request_model,
        },
        severity="warning" if is_fenced else None,
    )
