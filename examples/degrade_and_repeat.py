"""Two experiments on your own pipeline: worse evidence for a stage, and the same run again."""

import itertools
import json

import openai

import spanwitness as sw
from spanwitness.experiment import degrade, repeat
from spanwitness.testing import ScriptedProvider, SeenRequest, text

PARTS = {
    "P1": ["The supply voltage is 3.6 V.", "The part answers on address 0x77.", "Keep it dry."],
    "P2": ["Standby current is 0.5 uA.", "The supply voltage is 5.5 V.", "Pin 7 is ground."],
    "P3": ["The supply voltage is 2.7 V.", "The package has 8 pins.", "It weighs 1 g."],
}
TRUTH = {"P1": "3.6", "P2": "5.5", "P3": "2.7"}
CONDITIONS = ("clean", "partial_dropout", "wrong_document")
ANSWER = {
    "type": "object", "required": ["volts"], "properties": {"volts": {"type": "string"}},
}  # fmt: skip


def model(request: SeenRequest) -> object:
    """Stand in for a model: it reads the first voltage it is shown, and guesses without one."""
    words = str(request.json["messages"][-1]["content"]).split()
    found = [word for word, unit in itertools.pairwise(words) if unit == "V."]
    guess = ("3.3", "5.0")[len(request.headers.get("x-run", "")) % 2]
    return text(json.dumps({"volts": found[0] if found else guess}))


def ask(client: openai.OpenAI, passages: list[str], run: int = 1) -> str:
    reply = client.chat.completions.create(
        model="scripted",
        messages=[{"role": "user", "content": "Give the supply voltage. " + " ".join(passages)}],
        extra_headers={"x-run": "x" * run},
    )
    return reply.choices[0].message.content


def pipeline(client: openai.OpenAI, part: str, condition: str) -> None:
    """Decide, audit, escalate: three stages that state what they know of their evidence."""
    others = [passages for name, passages in PARTS.items() if name != part]

    @sw.step(output=ANSWER)
    def decide() -> str:
        # Inside a step, `degrade` writes condition, case, seed and strength on its span.
        shown = degrade(PARTS[part], condition, case_id=part, seed=5205, other=others).evidence
        answer = ask(client, shown)
        sw.current_step().set(
            validity=json.loads(answer)["volts"] == TRUTH[part],
            evidence_adequate=any(TRUTH[part] in passage for passage in shown),
        )
        return answer

    @sw.step(kind="audit", output={"type": "boolean"})
    def audit(answer: str) -> bool:
        is_suspect = json.loads(answer)["volts"] in ("3.3", "5.0")  # a guess is a round number
        is_wrong = json.loads(answer)["volts"] != TRUTH[part]
        sw.current_step().set(
            condition=condition, case_id=part, validity=is_suspect is is_wrong,
            audit_detected=is_suspect, audit_false_assurance=is_wrong and not is_suspect,
        )  # fmt: skip
        return is_suspect

    @sw.step(kind="escalate", output=ANSWER)
    def escalate() -> str:
        answer = ask(client, PARTS[part])  # with the whole evidence
        is_right = json.loads(answer)["volts"] == TRUTH[part]
        sw.current_step().set(
            condition=condition, case_id=part, validity=is_right,
            escalation_outcome="recovered" if is_right else "unresolved",
        )  # fmt: skip
        return answer

    with sw.run("extract", item_id=part) as run:
        answer = decide()
        if audit(answer):
            answer = escalate()
        run.submit(answer)


def main() -> None:
    witness = sw.configure(service_name="extraction")
    with ScriptedProvider(model) as provider:
        client = sw.wrap_client(openai.OpenAI(base_url=provider.openai_url, api_key="scripted"))
        for part in PARTS:
            for condition in CONDITIONS:
                pipeline(client, part, condition)

        turns = {"whole": 0, "half": 0}

        def agent(configuration: str, passages: list[str]) -> str:
            turns[configuration] += 1
            return ask(client, passages, run=turns[configuration] // len(PARTS))

        for configuration, n_shown in (("whole", 3), ("half", 1)):
            items = {part: passages[:n_shown] for part, passages in PARTS.items()}
            for result in repeat(
                lambda passages, name=configuration: agent(name, passages),
                items, n_runs=4, configuration=configuration,
            ):  # fmt: skip
                assert result.error is None, result.error
    witness.flush(timeout_s=5)
    print("traces written below", witness.trace_dir)


if __name__ == "__main__":
    main()
