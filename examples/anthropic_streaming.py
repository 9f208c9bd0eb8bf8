"""The async Anthropic SDK, streamed, with two tools called in parallel."""

import asyncio

import anthropic

import spanwitness as sw
from spanwitness.testing import ScriptedProvider, call, text

WEATHER = {"Bergen": "8 C, rain", "Oslo": "3 C, clear"}
TOOLS = [
    {
        "name": "weather",
        "description": "Current weather of a city.",
        "input_schema": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    }
]


@sw.tool(effect="read")
async def weather(city: str) -> str:
    """Return the current weather of a city."""
    await asyncio.sleep(0.01)
    return WEATHER[city]


@sw.agent(name="weather-agent", tools=["weather"])
async def answer(client: anthropic.AsyncAnthropic, question: str) -> str:
    messages = [{"role": "user", "content": question}]
    while True:
        async with client.messages.stream(
            model="scripted", max_tokens=500, messages=messages, tools=TOOLS
        ) as stream:
            async for piece in stream.text_stream:
                print(piece, end="", flush=True)
            reply = await stream.get_final_message()
        messages.append({"role": "assistant", "content": reply.content})
        wanted = [block for block in reply.content if block.type == "tool_use"]
        if not wanted:
            print()
            return "".join(block.text for block in reply.content if block.type == "text")
        results = await asyncio.gather(*(weather(**block.input) for block in wanted))
        messages.append(
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": block.id, "content": result}
                    for block, result in zip(wanted, results, strict=True)
                ],
            }
        )


async def main() -> None:
    witness = sw.configure(service_name="weather-agent")
    script = [
        [call("weather", {"city": "Bergen"}), call("weather", {"city": "Oslo"})],
        text("Bergen has 8 C and rain, Oslo 3 C and a clear sky."),
    ]
    with ScriptedProvider(script) as provider:
        client = sw.wrap_client(
            anthropic.AsyncAnthropic(base_url=provider.anthropic_url, api_key="scripted")
        )
        await answer(client, "Compare the weather in Bergen and Oslo.")
        await client.close()
    witness.flush(timeout_s=5)
    print("trace written below", witness.trace_dir)


if __name__ == "__main__":
    asyncio.run(main())
