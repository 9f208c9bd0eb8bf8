"""Small agents on real SDKs, for the tests of this folder."""

from __future__ import annotations

import json

import openai

import spanwitness as sw

PAGES = {3: "VDD: supply voltage 1.7 V to 3.6 V", 12: "Package: LGA-8"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_page",
            "description": "Read one page.",
            "parameters": {
                "type": "object",
                "properties": {"page": {"type": "integer"}},
                "required": ["page"],
            },
        },
    }
]
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"value": {"type": "number"}, "quote": {"type": "string"}},
            "required": ["value", "quote"],
            "additionalProperties": False,
        },
    },
}
QUESTION = "What is the highest supply voltage of the DPS310?"
CONTRACT = """
contract: reading
version: "1"
tools:
  reading: [read_page]
expect:
  - {rule: navigation_bypassed, group: reading, at_least: 1, before: submit}
"""


@sw.tool(effect="read")
def read_page(page: int) -> str:
    return PAGES.get(page, "")


CLIENTS = []
"""Those that the running test made; they are closed after it."""


def openai_client(provider):
    client = openai.OpenAI(base_url=provider.openai_url, api_key="k", max_retries=0)
    CLIENTS.append(client)
    return sw.wrap_client(client)


def ask(client, *, question=QUESTION, tools=TOOLS, **more) -> str:
    """Run the usual loop: call the model, run the tools it asks for, until it answers."""
    messages = [{"role": "user", "content": question}]
    for _ in range(10):
        reply = client.chat.completions.create(
            model="gpt-5-mini", messages=messages, tools=tools, **more
        )
        said = reply.choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        if not said.tool_calls:
            return said.content or ""
        for asked in said.tool_calls:
            result = read_page(**json.loads(asked.function.arguments))
            messages.append({"role": "tool", "tool_call_id": asked.id, "content": result})
    return ""
