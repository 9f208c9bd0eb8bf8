"""What makes a step's operation this one and no other: seen from the model calls inside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanwitness.capture.step_facts import current_step, note_model_call
from spanwitness.model import TextPart
from spanwitness.model.digest import digest_text
from spanwitness.semconv import gen_ai
from spanwitness.semconv import spanwitness as own

if TYPE_CHECKING:
    from spanwitness.capture.spans import Attributes
    from spanwitness.wire.facts import WireRequest

__all__ = ["note_request"]

_DECODING: Final = (
    gen_ai.REQUEST_TEMPERATURE,
    gen_ai.REQUEST_TOP_P,
    gen_ai.REQUEST_MAX_TOKENS,
    own.REASONING_MODE,
)
"""Not the seed: calls that differ in it alone repeat one operation."""


def note_request(request: WireRequest, found: Attributes) -> None:
    """Tell the current step, if there is one, of a model request.

    System text that changes from run to run (a date, an item) makes another operation each time:
    declare `operation=` on such a step.

    Args:
        request: The request.
        found: Its structural attributes.
    """
    if current_step() is None:
        return
    texts = [
        part.text
        for message in request.messages
        if message.role == "system"
        for part in message.parts
        if isinstance(part, TextPart)
    ]
    note_model_call(
        model=request.model,
        instruction=digest_text("\n".join(texts)),
        decoding=[found.get(key) for key in _DECODING],
        output_form=f"{found.get(own.RESPONSE_FORMAT)} {found.get(own.RESPONSE_SCHEMA_DIGEST)}",
        tools=f"{found.get(own.TOOLS_OFFERED_DIGEST)} {found.get(own.TOOL_CHOICE)}",
    )
