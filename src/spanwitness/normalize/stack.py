"""Stack identity: what answers depend on beside the input, as a digest with readable parts."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from spanwitness.model.digest import digest_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwitness.model import ChatCall

__all__ = ["stack_of"]


def stack_of(chats: Sequence[ChatCall]) -> str | None:
    """Describe the stack of a run whose tracer did not: provider, host, models, form, tools.

    Returns:
        Readable parts and a digest of all of them, such as `openai/gpt-x json_schema tools:3
        #1f0c…`; `None` without model calls.
    """
    if not chats:
        return None
    parts: set[tuple[str, ...]] = set()
    last: tuple[object, ...] = ()
    for chat in chats:
        form = chat.output_format
        same = (chat.provider, chat.request_model, chat.wire, chat.host, form, id(chat.offered))
        if same == last:
            continue
        last = same
        names = None if chat.offered is None else sorted(tool.name for tool in chat.offered)
        parts.add(
            (
                chat.provider or "?",
                chat.request_model or chat.response_model or "?",
                chat.wire,
                chat.host or "?",
                "?" if form is None else f"{form.kind}:{form.schema_digest or ''}",
                "?" if names is None else ",".join(names),
            )
        )
    return _described(tuple(sorted(parts)))


@lru_cache(maxsize=1024)
def _described(parts: tuple[tuple[str, ...], ...]) -> str:
    whole = digest_text(repr(list(parts)))
    models = sorted({f"{part[0]}/{part[1]}" for part in parts})
    forms = sorted({part[4].partition(":")[0] for part in parts if part[4] != "?"})
    return " ".join([*models, *forms, f"#{whole}"])
