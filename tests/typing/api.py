"""User code that type checkers must accept; it is checked, never run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import spanwitness as sw

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import openai
    from opentelemetry.sdk.trace import TracerProvider


@sw.tool
def bare(page: int) -> str:
    return str(page)


@sw.tool(effect="read", evidence=True, server="docs")
def search(query: str, *, limit: int = 5) -> list[str]:
    return [query] * limit


@sw.tool(name="fetch_url", effect="read")
async def fetch(url: str) -> bytes:
    return url.encode()


@sw.tool
def pages() -> Iterator[str]:
    yield "1"


@sw.tool
async def live_pages() -> AsyncIterator[str]:
    yield "1"


class Desk:
    @sw.tool(effect="write")
    def refund(self, order: str) -> bool:
        return bool(order)

    @staticmethod
    @sw.tool
    def price(item: str) -> float:
        return float(len(item))


@sw.step(kind="verify", verdict=lambda reply: reply == "ok")
def verify(answer: str) -> str:
    return answer


@sw.step(kind="revise", before="answer", success=lambda answer: answer == "42")
def revise(answer: str, feedback: str) -> str:
    return answer + feedback


@sw.step(kind="select", success=lambda answer: answer == "42")
def judge(answers: list[str]) -> str:
    shown = sw.shuffled(answers, item_id="q1", seed=7)
    return shown.choose(shown.candidates.index("42"))


@sw.agent(name="extractor", tools=["search"])
async def extract(question: str) -> str:
    text: bytes = await fetch(question)
    return text.decode()


def use(client: openai.OpenAI, provider: TracerProvider) -> None:
    witness: sw.Witness = sw.configure(service_name="extractor", contracts=[Path("contract.yaml")])
    same: openai.OpenAI = sw.wrap_client(client)
    provider.add_span_processor(sw.Detector(contracts=[]))
    found: list[str] = search("vdd", limit=2)
    first: str = next(pages())
    price: float = Desk.price("x")
    paid: bool = Desk().refund(order="o-1")
    with sw.run("extract-claim", item_id="ax100-vdd", subject="AX100") as run:
        run.submit(found, claims=[sw.Claim(value=3.6, unit="V", quote="...", source="p. 3")])
    sw.record_outcome(item_id="ax100-vdd", run_id=run.id, checkpoint="final", success=True)
    is_whole: bool = witness.flush(timeout_s=5)
    rates: list[float | None] = [t.pairs.correction_rate_raw for t in witness.step_counts()]
    chosen: str = judge(["41", "42"])
    print(rates, chosen)
    print(same, first, price, paid, bare(3), verify("42"), revise("4", "2"), is_whole)


async def use_async() -> None:
    async with sw.run("extract-claim") as run:
        answer: str = await extract("vdd")
        run.submit(answer)
    async for page in live_pages():
        print(page.upper())
