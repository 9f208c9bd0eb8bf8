"""A solve, verify, revise protocol: a verdict, success before and after, a later outcome."""

import openai

import spanwitness as sw
from spanwitness.testing import ScriptedProvider, text

TRUTH = {"17 * 23": "391", "12 + 30": "42"}


def is_right(answer: str, *, item: str) -> bool:
    return answer.strip() == TRUTH[item]


def ask(client: openai.OpenAI, prompt: str) -> str:
    reply = client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": prompt}]
    )
    return reply.choices[0].message.content


@sw.step(kind="solve")
def solve(client: openai.OpenAI, item: str) -> str:
    return ask(client, f"Compute {item}. Reply with the number alone.")


@sw.step(kind="verify", verdict={"ok": True, "wrong": False}.get)
def verify(client: openai.OpenAI, item: str, answer: str) -> str:
    return ask(client, f"Is {answer} right for {item}? Reply ok or wrong.")


def protocol(client: openai.OpenAI, item: str) -> None:
    @sw.step(kind="revise", before="answer", success=lambda answer: is_right(answer, item=item))
    def revise(answer: str) -> str:
        return ask(client, f"{answer} was judged wrong for {item}. Reply with the right number.")

    with sw.run("arithmetic", item_id=item) as run:
        answer = solve(client, item)
        if verify(client, item, answer) != "ok":
            answer = revise(answer)
        run.submit(answer)
    # Ground truth may arrive days later, in another process: it is joined by run id and item id.
    sw.record_outcome(
        item_id=item, run_id=run.id, checkpoint="final", success=is_right(answer, item=item)
    )


def main() -> None:
    witness = sw.configure(service_name="arithmetic-agent")
    script = [
        *[text("381"), text("wrong"), text("391")],  # corrected by the revise step
        *[text("42"), text("wrong"), text("40")],  # corrupted by it: `check` tells answer_corrupted
    ]
    with ScriptedProvider(script) as provider:
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="scripted"))
        for item in TRUTH:
            protocol(client, item)
    witness.flush(timeout_s=5)
    print("traces written below", witness.trace_dir)


if __name__ == "__main__":
    main()
