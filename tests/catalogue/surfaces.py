"""The four real SDKs behind one small face: a conversation with tools, whole, streamed or async.

Each SDK keeps its own form of the history; what the model said goes back as the SDK gave it.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import anthropic
import openai
from google import genai
from google.genai import types

import spanwitness as sw

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanwitness.testing import ScriptedProvider

FormName = Literal["chat", "responses", "messages", "gemini"]
WORDS: dict[str, dict[str, str | None]] = {
    "length": {
        "chat": "length",
        "responses": "max_output_tokens",
        "messages": "max_tokens",
        "gemini": "MAX_TOKENS",
    },
    "calls": {"chat": "tool_calls", "responses": None, "messages": "tool_use", "gemini": "STOP"},
}
"""Finish reasons as each wire format spells them."""


@dataclass(frozen=True)
class Surface:
    """One way to call one SDK."""

    form: FormName
    is_streaming: bool = False
    is_async: bool = False

    def __str__(self) -> str:
        return self.form + "_stream" * self.is_streaming + "_async" * self.is_async

    def word(self, meaning: str) -> str | None:
        """Return a finish reason as this wire format spells it."""
        return WORDS[meaning][self.form]


FORMS: tuple[FormName, ...] = ("chat", "responses", "messages", "gemini")
WHOLE = tuple(Surface(form) for form in FORMS)
STREAMED = tuple(Surface(form, is_streaming=True) for form in FORMS)
ASYNC = tuple(Surface(form, is_async=True) for form in FORMS)
ASYNC_STREAMED = tuple(Surface(form, is_streaming=True, is_async=True) for form in FORMS)
CHAT, RESPONSES, MESSAGES, GEMINI = WHOLE


@dataclass(frozen=True)
class Ask:
    """What the caller asks for, in no SDK's words."""

    prompt: str = "What is the total of the invoice?"
    system: str | None = None
    offers: tuple[dict[str, Any], ...] = ()
    """`name`, `description`, `parameters`."""
    schema: dict[str, Any] | None = None
    schema_name: str = "Answer"
    choice: str = "auto"
    """`auto`, `required`, `none`, or a tool's name; "required then auto" changes with the turn."""
    max_tokens: int | None = None
    model: str | None = None


@dataclass(frozen=True)
class Asked:
    """A call that the model asked for."""

    name: str
    arguments: dict[str, Any]
    id: str | None = None


@dataclass(frozen=True)
class Said:
    """What an SDK made of a reply."""

    text: str
    calls: list[Asked] = field(default_factory=list)
    echo: list[Any] = field(default_factory=list)
    """What goes back into the history."""


class Form(ABC):
    """One SDK: how it is asked, and how its replies are read."""

    model = ""

    @abstractmethod
    def client(self, provider: ScriptedProvider, *, is_async: bool) -> Any: ...

    @abstractmethod
    def method(self, client: Any, *, is_streaming: bool) -> Any: ...

    @abstractmethod
    def request(self, ask: Ask, history: list[Any]) -> dict[str, Any]: ...

    @abstractmethod
    def fold(self, events: list[Any]) -> Any: ...

    @abstractmethod
    def read(self, native: Any) -> Said: ...

    def user(self, text: str) -> Any:
        return {"role": "user", "content": text}

    @abstractmethod
    def results(self, results: list[tuple[Asked, object]]) -> list[Any]: ...


def _function(tool: dict[str, Any], key: str = "parameters") -> dict[str, Any]:
    return {"name": tool["name"], "description": tool["description"], key: tool["parameters"]}


def as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _is_parts(value: object) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(part, dict) and "type" in part for part in value)
    )


class Chat(Form):
    """`openai`, chat completions."""

    model = "gpt-4.1-mini"

    def client(self, provider, *, is_async):
        kind = openai.AsyncOpenAI if is_async else openai.OpenAI
        return kind(base_url=provider.openai_url, api_key="k", max_retries=0)

    def method(self, client, *, is_streaming):
        return client.chat.completions.create

    def request(self, ask, history):
        system = [{"role": "system", "content": ask.system}] if ask.system else []
        asked: dict[str, Any] = {"messages": [*system, *history]}
        if ask.offers:
            asked["tools"] = [{"type": "function", "function": _function(t)} for t in ask.offers]
        if ask.choice in {"required", "none"}:
            asked["tool_choice"] = ask.choice
        elif ask.choice != "auto":
            asked["tool_choice"] = {"type": "function", "function": {"name": ask.choice}}
        if ask.schema is not None:
            schema = {"name": ask.schema_name, "schema": ask.schema, "strict": True}
            asked["response_format"] = {"type": "json_schema", "json_schema": schema}
        if ask.max_tokens:
            asked["max_completion_tokens"] = ask.max_tokens
        return asked

    def fold(self, events):
        content, calls = "", {}
        for event in events:
            for choice in event.choices:
                content += choice.delta.content or ""
                for delta in choice.delta.tool_calls or ():
                    place = delta.id if delta.index is None else delta.index
                    call = calls.setdefault(place, {"id": "", "name": "", "arguments": ""})
                    if delta.index is None:  # sent whole, some servers twice
                        call.update(name="", arguments="")
                    call["id"] = call["id"] or delta.id
                    call["name"] += delta.function.name or ""
                    call["arguments"] += delta.function.arguments or ""
        return content, list(calls.values())

    def read(self, native):
        if not isinstance(native, tuple):
            message = native.choices[0].message
            calls = [
                {"id": c.id, "name": c.function.name, "arguments": c.function.arguments}
                for c in message.tool_calls or ()
            ]
            native = message.content or "", calls
        text, calls = native
        echo: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            echo["tool_calls"] = [
                {
                    "id": c["id"],
                    "type": "function",
                    "function": {"name": c["name"], "arguments": c["arguments"]},
                }
                for c in calls
            ]
        asked = [Asked(c["name"], json.loads(c["arguments"] or "{}"), c["id"]) for c in calls]
        return Said(text, asked, [echo])

    def results(self, results):
        messages, images = [], []
        for asked, value in results:
            content: Any = as_text(value)
            if _is_parts(value):
                content = [part for part in value if part["type"] == "text"]
                images += [part for part in value if part["type"] == "image"]
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": content})
        if images:  # a tool message takes text only
            urls = [f"data:image/png;base64,{image['data']}" for image in images]
            parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
            messages.append({"role": "user", "content": parts})
        return messages


class Responses(Form):
    """`openai`, Responses."""

    model = "gpt-4.1-mini"
    client = Chat.client

    def method(self, client, *, is_streaming):
        return client.responses.create

    def request(self, ask, history):
        asked: dict[str, Any] = {"input": list(history), "store": False}
        if ask.system:
            asked["instructions"] = ask.system
        if ask.offers:
            asked["tools"] = [{"type": "function", **_function(t)} for t in ask.offers]
        if ask.choice in {"required", "none"}:
            asked["tool_choice"] = ask.choice
        elif ask.choice != "auto":
            asked["tool_choice"] = {"type": "function", "name": ask.choice}
        if ask.schema is not None:
            schema = {"name": ask.schema_name, "schema": ask.schema, "strict": True}
            asked["text"] = {"format": {"type": "json_schema", **schema}}
        if ask.max_tokens:
            asked["max_output_tokens"] = ask.max_tokens
        return asked

    def fold(self, events):
        return events[-1].response

    def read(self, native):
        echo = [item.model_dump(mode="json", exclude_none=True) for item in native.output]
        calls = [item for item in native.output if item.type == "function_call"]
        asked = [Asked(c.name, json.loads(c.arguments or "{}"), c.call_id) for c in calls]
        return Said(native.output_text, asked, echo)

    def results(self, results):
        items = []
        for asked, value in results:
            output: Any = as_text(value)
            if _is_parts(value):
                output = [_input_part(part) for part in value]
            items.append({"type": "function_call_output", "call_id": asked.id, "output": output})
        return items


def _input_part(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "input_text", "text": part["text"]}
    return {"type": "input_image", "image_url": f"data:image/png;base64,{part['data']}"}


class Messages(Form):
    """`anthropic`, Messages."""

    model = "claude-sonnet-5"

    def client(self, provider, *, is_async):
        kind = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        return kind(base_url=provider.anthropic_url, api_key="k", max_retries=0)

    def method(self, client, *, is_streaming):
        return client.messages.create

    def request(self, ask, history):
        asked: dict[str, Any] = {"messages": list(history), "max_tokens": ask.max_tokens or 4096}
        if ask.system:
            asked["system"] = ask.system
        if ask.offers:
            asked["tools"] = [_function(t, "input_schema") for t in ask.offers]
        if ask.choice in {"required", "none"}:
            asked["tool_choice"] = {"type": "any" if ask.choice == "required" else "none"}
        elif ask.choice != "auto":
            asked["tool_choice"] = {"type": "tool", "name": ask.choice}
        if ask.schema is not None:
            asked["output_config"] = {"format": {"type": "json_schema", "schema": ask.schema}}
        return asked

    def fold(self, events):
        blocks: list[dict[str, Any]] = []
        for event in events:
            if event.type == "content_block_start":
                blocks.append(event.content_block.model_dump(exclude_none=True) | {"_json": ""})
            elif event.type == "content_block_delta":
                delta, block = event.delta, blocks[-1]
                if delta.type == "input_json_delta":
                    block["_json"] += delta.partial_json
                elif delta.type == "signature_delta":
                    block["signature"] = delta.signature
                else:
                    key = "text" if delta.type == "text_delta" else "thinking"
                    block[key] += getattr(delta, key)
        for block in blocks:
            written = block.pop("_json")
            if block["type"] == "tool_use":
                block["input"] = json.loads(written or "{}")
        return blocks

    def read(self, native):
        blocks = native
        if not isinstance(native, list):
            blocks = [block.model_dump(mode="json", exclude_none=True) for block in native.content]
        text = "".join(block["text"] for block in blocks if block["type"] == "text")
        asked = [
            Asked(b["name"], dict(b["input"]), b["id"]) for b in blocks if b["type"] == "tool_use"
        ]
        return Said(text, asked, [{"role": "assistant", "content": blocks}] if blocks else [])

    def results(self, results):
        blocks = []
        for asked, value in results:
            content: Any = as_text(value)
            if _is_parts(value):
                content = [_block(part) for part in value]
            blocks.append({"type": "tool_result", "tool_use_id": asked.id, "content": content})
        return [{"role": "user", "content": blocks}]


def _block(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return part
    source = {"type": "base64", "media_type": "image/png", "data": part["data"]}
    return {"type": "image", "source": source}


class Gemini(Form):
    """`google-genai`, generateContent."""

    model = "gemini-2.5-flash"

    def client(self, provider, *, is_async):
        return genai.Client(
            api_key="k", http_options=types.HttpOptions(base_url=provider.gemini_url)
        )

    def method(self, client, *, is_streaming):
        return client.generate_content_stream if is_streaming else client.generate_content

    def request(self, ask, history):
        config: dict[str, Any] = {}
        if ask.system:
            config["system_instruction"] = ask.system
        if ask.offers:
            functions = [
                types.FunctionDeclaration(**_function(t, "parameters_json_schema"))
                for t in ask.offers
            ]
            config["tools"] = [types.Tool(function_declarations=functions)]
            config["automatic_function_calling"] = {"disable": True}
        if ask.choice != "auto":
            is_named = ask.choice not in {"required", "none"}
            choice: dict[str, Any] = {"mode": "NONE" if ask.choice == "none" else "ANY"}
            if is_named:
                choice["allowed_function_names"] = [ask.choice]
            config["tool_config"] = {"function_calling_config": choice}
        if ask.schema is not None:
            config["response_mime_type"] = "application/json"
            config["response_json_schema"] = ask.schema
        if ask.max_tokens:
            config["max_output_tokens"] = ask.max_tokens
        return {"contents": list(history), "config": types.GenerateContentConfig(**config)}

    def user(self, text):
        return types.Content(role="user", parts=[types.Part(text=text)])

    def fold(self, events):
        return [part for event in events for part in self._parts(event)]

    def read(self, native):
        parts = native if isinstance(native, list) else self._parts(native)
        text = "".join(part.text for part in parts if part.text and not part.thought)
        calls = [part.function_call for part in parts if part.function_call]
        asked = [Asked(c.name, dict(c.args or {}), c.id) for c in calls]
        return Said(text, asked, [types.Content(role="model", parts=parts)] if parts else [])

    def results(self, results):
        parts = []
        for asked, value in results:
            given = value
            if _is_parts(value):
                given = {"result": "".join(p["text"] for p in value if p["type"] == "text")}
            elif not isinstance(value, dict):
                given = {"result": value}
            response = types.FunctionResponse(id=asked.id, name=asked.name, response=given)
            parts.append(types.Part(function_response=response))
            if _is_parts(value):
                images = [p for p in value if p["type"] == "image"]
                blobs = [types.Blob(data=i["data"], mime_type="image/png") for i in images]
                parts += [types.Part(inline_data=blob) for blob in blobs]
        return [types.Content(role="user", parts=parts)]

    def _parts(self, response: Any) -> list[Any]:
        candidates = response.candidates or []
        content = candidates[0].content if candidates else None
        return list(content.parts or []) if content is not None else []


SPOKEN: dict[FormName, Form] = {
    "chat": Chat(),
    "responses": Responses(),
    "messages": Messages(),
    "gemini": Gemini(),
}


class Clients:
    """Wrapped clients of one provider, each made when it is first asked for."""

    def __init__(self, provider: ScriptedProvider) -> None:
        self._provider = provider
        self._made: dict[tuple[str, bool], Any] = {}

    def method(self, surface: Surface) -> Any:
        """Return the SDK's method for a surface."""
        form = SPOKEN[surface.form]
        kind = "openai" if surface.form in {"chat", "responses"} else surface.form
        key = kind, surface.is_async
        if key not in self._made:
            made = form.client(self._provider, is_async=surface.is_async)
            self._made[key] = sw.wrap_client(made)
        client = self._made[key]
        if surface.form == "gemini":
            client = (client.aio if surface.is_async else client).models
        return form.method(client, is_streaming=surface.is_streaming)

    def made(self) -> Iterable[tuple[str, bool, Any]]:
        """Return what was made: the SDK, whether async, the client."""
        return [(kind, is_async, client) for (kind, is_async), client in self._made.items()]


class Conversation:
    """One conversation with a scripted model on one surface."""

    def __init__(self, surface: Surface, clients: Clients, ask: Ask) -> None:
        self.ask = ask
        self.surface = surface
        self._form = SPOKEN[surface.form]
        self._method = clients.method(surface)
        self.exchanges: list[list[Any]] = [[self._form.user(ask.prompt)]]
        """The history, in the SDK's own form: the prompt, then one list a turn."""

    async def turn(self) -> Said:
        """Send the history; what comes back is added to it."""
        history = [message for exchange in self.exchanges for message in exchange]
        choices = self.ask.choice.split(" then ")
        choice = choices[min(len(self.exchanges), len(choices)) - 1]
        asked = self._form.request(replace(self.ask, choice=choice), history)
        asked["model"] = self.ask.model or self._form.model
        if self.surface.is_streaming and self.surface.form != "gemini":
            asked["stream"] = True
        if self.surface.is_streaming and self.surface.form == "chat":
            asked["stream_options"] = {"include_usage": True}
        native = self._method(**asked)
        if self.surface.is_async:
            native = await native
        if self.surface.is_streaming:
            is_async = self.surface.is_async
            events = [event async for event in native] if is_async else list(native)
            native = self._form.fold(events)
        said = self._form.read(native)
        self.exchanges.append(said.echo)
        return said

    def give(self, results: list[tuple[Asked, object]]) -> None:
        """Add the results of the last turn's calls; none, no message."""
        if results:
            self.exchanges[-1] = [*self.exchanges[-1], *self._form.results(results)]

    def add(self, text: str) -> None:
        """Add a message of the user."""
        self.exchanges.append([self._form.user(text)])

    def compact(self, note: str) -> None:
        """Drop all turns but the last, and put a note in their place."""
        first, *_, last = self.exchanges
        self.exchanges = [first, [self._form.user(note)], last]
