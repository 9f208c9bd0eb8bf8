"""A framework that builds its client itself: `instrument` sees every client built after it."""

import asyncio

import openai

import spanwitness as sw
from spanwitness.testing import ScriptedProvider, call, text


class Framework:
    """Stands for an agent framework: nobody outside can reach its client."""

    def __init__(self, base_url: str) -> None:
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key="scripted")
        self._tools = {}

    def tool(self, function):
        self._tools[function.__name__] = function
        return function

    async def run(self, question: str) -> str:
        messages = [{"role": "user", "content": question}]
        definitions = [
            {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
            for name in self._tools
        ]
        while True:
            reply = await self._client.chat.completions.create(
                model="scripted", messages=messages, tools=definitions
            )
            message = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return message.content
            for wanted in message.tool_calls:
                result = self._tools[wanted.function.name]()
                messages.append({"role": "tool", "tool_call_id": wanted.id, "content": result})


async def main() -> None:
    witness = sw.configure(service_name="framework-agent")
    sw.instrument("openai")
    with ScriptedProvider([call("stock_level"), text("There are 17 left.")]) as provider:
        framework = Framework(provider.openai_url)

        # The framework's decorator stands outside, ours inside: it registers what we watch.
        @framework.tool
        @sw.tool(effect="read")
        def stock_level() -> str:
            return "17 pieces"

        async with sw.run("stock"):
            print(await framework.run("How many are left?"))
    witness.flush(timeout_s=5)
    print("trace written below", witness.trace_dir)


if __name__ == "__main__":
    asyncio.run(main())
