"""A plain tool loop on the OpenAI SDK, watched in five lines."""

import json

import openai

import spanwitness as sw
from spanwitness.testing import ScriptedProvider, call, text

PAGES = {1: "AX100: supply voltage 1.7 to 3.6 V", 2: "AX100: supply current 345 uA"}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "read_page",
            "description": "Read one page of the datasheet.",
            "parameters": {
                "type": "object",
                "properties": {"page": {"type": "integer"}},
                "required": ["page"],
            },
        },
    }
]


@sw.tool(effect="read")
def read_page(page: int) -> str:
    """Read one page of the datasheet."""
    return PAGES[page]


def answer(client: openai.OpenAI, question: str) -> str:
    messages = [{"role": "user", "content": question}]
    while True:
        reply = client.chat.completions.create(model="scripted", messages=messages, tools=TOOLS)
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        for wanted in message.tool_calls:
            result = read_page(**json.loads(wanted.function.arguments))
            messages.append({"role": "tool", "tool_call_id": wanted.id, "content": result})


def main() -> None:
    witness = sw.configure(service_name="datasheet-agent")
    script = [call("read_page", {"page": 1}), text("The maximum supply voltage is 3.6 V (page 1).")]
    with ScriptedProvider(script) as provider:
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="scripted"))
        with sw.run("ask", item_id="ax100-vdd", subject="AX100") as run:
            run.submit(answer(client, "What is the maximum supply voltage of the AX100?"))
    witness.flush(timeout_s=5)
    print("trace written below", witness.trace_dir)


if __name__ == "__main__":
    main()
