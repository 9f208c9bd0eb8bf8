"""Lives of normal agents, drawn at random: what they are asked, what they do, what they answer.

A life is written once and lived twice: as a run of the model (`as_run`) and as a case on a real SDK
(`as_case`). Every answer rests on what stands in the prompt or came back from a tool, tells what
went wrong, or states nothing that would need a tool; no rule has anything to say about it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from tests.catalogue.kit import Case, Host
from tests.catalogue.kit import tool as real_tool
from tests.catalogue.surfaces import Ask
from tests.rules import builders

from spanwitness.testing import call, reply, text, think

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwitness.model import Run


@dataclass(frozen=True)
class Use:
    """One call, and what came of it."""

    name: str
    arguments: dict[str, Any]
    gives: object = "ok"
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Life:
    """What one agent did."""

    prompt: str
    says: str
    turns: tuple[tuple[Use, ...], ...] = ()
    schema: dict[str, Any] | None = None
    preamble: str = ""
    """Said together with the calls."""
    thinks: str = ""


@dataclass(frozen=True)
class Kind:
    """A tool that agents have."""

    name: str
    takes: dict[str, str]
    effect: str = "read"


SEARCH = Kind("search", {"query": "string"})
READ = Kind("read_page", {"page": "integer"})
STATUS = Kind("get_job_status", {"job": "string"})
LOGS = Kind("search_logs", {"service": "string"})
SEND = Kind("send_email", {"to": "string"}, "write")
UPDATE = Kind("update_order", {"order": "integer", "state": "string"}, "write")
KINDS = (SEARCH, READ, STATUS, LOGS, SEND, UPDATE)

# --- what is talked about

UNITS = st.sampled_from(["mA", "V", "kg", "EUR", "°C", "ms", "MHz", "%"])
THINGS = st.sampled_from(
    ["the supply voltage", "the total", "the weight", "the limit", "the delay"]
)
NUMBERS = st.one_of(
    st.integers(2, 99_999).map(str),
    st.decimals(Decimal("0.01"), Decimal(999), places=2).map(lambda d: f"{d.normalize():f}"),
)
NAMES = st.sampled_from(["Ada", "Grace", "Edsger", "Barbara"])
ERRORS = st.sampled_from(
    ["timed out after 30 s", "503 Service Unavailable", "no such page", "connection reset by peer"]
)
FAREWELLS = st.sampled_from(
    [
        "Hello! How can I help you today?",
        "You are welcome. Is there anything else?",
        "Which of the two datasheets do you mean?",
        "Sure, I can do that. Which order is it about?",
        "Thanks for the kind words!",
        "I can search documents, read pages and send emails for you.",
        "👋 Salut! Comment puis-je vous aider ?",
    ]
)
KNOWLEDGE = st.sampled_from(
    [
        "Paris has about 2.1 million inhabitants.",
        "Water boils at 100 °C at sea level, or 212 °F.",
        "The French Revolution began in 1789.",
        "A byte has 8 bits, so 4 bytes have 32 bits.",
        "def add(a, b):\n    return a + b",
        "Use `search(query)` when you need a page; here you do not.",
        "1. Preheat the oven to 180 °C.\n2. Bake for 25 minutes.",
        "Pride and Prejudice was written by Jane Austen in 1813.",
        "Light needs about 8 minutes and 20 seconds from the Sun to the Earth.",
    ]
)
ABSTENTIONS = st.sampled_from(
    [
        "I could not find it.",
        "I don't know; the documents do not say.",
        "There is no such value in the datasheet, so I cannot answer.",
        "No results were found for this question.",
        "Unfortunately, I was unable to find the requested information.",
    ]
)
DISCLOSURES = st.sampled_from(
    [
        "Unfortunately the page could not be read: {error}.",
        "The tool failed ({error}), so I have no answer for you.",
        "I was not able to look it up because of an error.",
        "Sorry, the service is unavailable right now. Please try again later.",
    ]
)
PREAMBLES = st.sampled_from(["", "", "Let me check.", "I will look that up for you."])
THOUGHTS = st.sampled_from(["", "", "The user wants a number. I should read the page first."])


def _shown(number: str) -> st.SearchStrategy[str]:
    """The same number, as a writer may put it."""
    value = Decimal(number)
    forms = [number, f"{value:,f}", f"**{number}**", f"{value:f}"]
    if value == value.to_integral_value() and value < 1000:
        forms.append(f"{value}.0")
    return st.sampled_from(forms)


@st.composite
def small_talk(draw: st.DrawFn) -> Life:
    """Tools are there, and nobody needs them."""
    return Life(prompt="Hello, can you help me?", says=draw(FAREWELLS))


@st.composite
def general_knowledge(draw: st.DrawFn) -> Life:
    """The model knows it; the tools are optional."""
    return Life(prompt="Tell me something, please.", says=draw(KNOWLEDGE), thinks=draw(THOUGHTS))


@st.composite
def given_text(draw: st.DrawFn) -> Life:
    """All values stand in the prompt; the answer names them in another order and form."""
    pairs = draw(
        st.lists(st.tuples(THINGS, NUMBERS), min_size=1, max_size=4, unique_by=lambda p: p[0])
    )
    unit = draw(UNITS)
    prompt = "Sum up: " + "; ".join(f"{thing} is {number} {unit}" for thing, number in pairs)
    turned = draw(st.permutations(pairs))
    if draw(st.booleans()):
        says = json.dumps({thing.split()[-1]: json.loads(number) for thing, number in turned})
        names = [thing.split()[-1] for thing, _ in turned]
        schema = {"type": "object", "properties": {name: {"type": "number"} for name in names}}
        return Life(prompt=prompt, says=says, schema=schema if draw(st.booleans()) else None)
    told = ", ".join(f"{thing} is {draw(_shown(number))} {unit}" for thing, number in turned)
    return Life(prompt=prompt, says=f"In short: {told}.")


@st.composite
def arithmetic(draw: st.DrawFn) -> Life:
    """The answer follows from the given numbers."""
    items = draw(st.lists(st.integers(2, 500), min_size=2, max_size=5))
    prompt = "Add up: " + ", ".join(f"{item} EUR" for item in items)
    total = sum(items)
    if draw(st.booleans()):
        schema = {"type": "object", "properties": {"total": {"type": "number"}}}
        return Life(prompt=prompt, says=json.dumps({"total": total}), schema=schema)
    return Life(
        prompt=prompt, says=draw(st.sampled_from([f"{total} EUR.", f"The sum is {total}."]))
    )


@st.composite
def rescaled(draw: st.DrawFn) -> Life:
    """The answer gives a value in another unit than the prompt."""
    value = draw(st.integers(2, 9999))
    shown = f"{Decimal(value) / 1000:f}"
    prompt = f"The current is {value} mA. What is that in A?"
    if draw(st.booleans()):
        schema = {"type": "object", "properties": {"amperes": {"type": "number"}}}
        return Life(prompt=prompt, says=json.dumps({"amperes": json.loads(shown)}), schema=schema)
    return Life(prompt=prompt, says=f"That is {shown} A.")


@st.composite
def classified(draw: st.DrawFn) -> Life:
    """Labels, booleans and constants of a schema are no values."""
    word = draw(st.sampled_from(["glad", "sad", "neutral"]))
    schema = {
        "type": "object",
        "properties": {
            "mood": {"type": "string", "enum": ["glad", "sad", "neutral"]},
            "is_urgent": {"type": "boolean"},
        },
        "required": ["mood", "is_urgent"],
    }
    says = json.dumps({"mood": word, "is_urgent": draw(st.booleans())})
    return Life(prompt="Classify: what a day!", says=says, schema=schema)


@st.composite
def looked_up(draw: st.DrawFn) -> Life:
    """A search, some pages, and an answer that rests on them."""
    thing, number, unit = draw(THINGS), draw(NUMBERS), draw(UNITS)
    page = draw(st.integers(1, 400))
    hits = [{"page": page, "title": f"About {thing}"}]
    found = f"Page {page}. {thing.capitalize()} is {number} {unit}."
    turns = [
        (Use("search", {"query": thing}, hits),),
        (Use("read_page", {"page": page}, draw(st.sampled_from([found, {"text": found}]))),),
    ]
    shown = draw(_shown(number))
    says = draw(
        st.sampled_from(
            [
                f"{thing.capitalize()} is {shown} {unit} (page {page}).",
                f"It is {shown} {unit}, according to page {page}.",
                f"According to the datasheet, {thing} is {shown} {unit}.",
                f'{shown} {unit}. The page says: "{thing.capitalize()} is {number} {unit}."',
            ]
        )
    )
    return Life(
        prompt=f"What is {thing}?", says=says, turns=tuple(turns),
        preamble=draw(PREAMBLES), thinks=draw(THOUGHTS),
    )  # fmt: skip


@st.composite
def parallel(draw: st.DrawFn) -> Life:
    """Several calls in one turn."""
    pages = draw(st.lists(st.integers(1, 99), min_size=2, max_size=4, unique=True))
    values = [draw(NUMBERS) for _ in pages]
    turn = tuple(
        Use("read_page", {"page": page}, f"The value is {value} V.")
        for page, value in zip(pages, values, strict=True)
    )
    told = ", ".join(f"page {p}: {v} V" for p, v in zip(pages, values, strict=True))
    return Life(prompt="What do the pages say?", says=told, turns=(turn,), preamble=draw(PREAMBLES))


@st.composite
def structured_after(draw: st.DrawFn) -> Life:
    """The tools first, then an answer in the form of a schema that stood there all the time."""
    life = draw(looked_up())
    number, page = draw(st.integers(1, 9999)), 7
    turns = (
        (Use("search", {"query": "value"}, [{"page": page}]),),
        (Use("read_page", {"page": page}, {"page": page, "value": number, "unit": "V"}),),
    )
    schema = {
        "type": "object",
        "properties": {"value": {"type": "number"}, "page": {"type": "integer"}},
        "required": ["value", "page"],
    }
    says = json.dumps({"value": number, "page": page})
    return replace(life, says=says, turns=turns, schema=schema, preamble="")


@st.composite
def abstained(draw: st.DrawFn) -> Life:
    """Reading tools gave nothing, and the answer says so."""
    nothing = st.sampled_from([[], "", {"results": []}, None, "No results found."])
    turns = tuple(
        (Use("search", {"query": f"try {n}"}, draw(nothing)),)
        for n in range(draw(st.integers(1, 3)))
    )
    return Life(prompt="What is the limit?", says=draw(ABSTENTIONS), turns=turns)


@st.composite
def retried(draw: st.DrawFn) -> Life:
    """A call fails, and the same or another one makes up for it."""
    error, number = draw(ERRORS), draw(NUMBERS)
    failed = Use("read_page", {"page": 2}, error=error)
    again = draw(
        st.sampled_from(
            [
                Use("read_page", {"page": 2}, f"The value is {number} V."),
                Use("read_page", {"page": 3}, f"The value is {number} V."),
                Use("search", {"query": "value"}, [{"value": f"{number} V"}]),
            ]
        )
    )
    n_failures = draw(st.integers(1, 2))
    turns = (*(((failed,),) * n_failures), (again,))
    return Life(prompt="What is the value?", says=f"It is {number} V.", turns=turns)


@st.composite
def disclosed(draw: st.DrawFn) -> Life:
    """A call fails, and the answer tells it."""
    error = draw(ERRORS)
    turns = ((Use("read_page", {"page": 2}, error=error),),)
    says = draw(DISCLOSURES).format(error=error)
    return Life(prompt="What is the value?", says=says, turns=turns)


@st.composite
def polled(draw: st.DrawFn) -> Life:
    """The same question again and again, until the answer changes, or not."""
    n = draw(st.integers(1, 5))
    turns = tuple((Use("get_job_status", {"job": "j7"}, {"state": "running"}),) for _ in range(n))
    if draw(st.booleans()):
        turns = (*turns, (Use("get_job_status", {"job": "j7"}, {"state": "done"}),))
        return Life(prompt="Wait for job j7.", says="Job j7 is done.", turns=turns)
    return Life(prompt="Look at job j7.", says="Job j7 is still running.", turns=turns)


@st.composite
def wrote(draw: st.DrawFn) -> Life:
    """Something is changed; the tool gives nothing, or a short word."""
    gives = draw(st.sampled_from([None, "", "ok", {"ok": True}, {"id": 4711}, True]))
    if draw(st.booleans()):
        name = draw(NAMES)
        turns = ((Use("send_email", {"to": name}, gives),),)
        says = draw(st.sampled_from(["Done.", f"I have sent the email to {name}.", "Sent!"]))
        return Life(prompt=f"Write to {name}.", says=says, turns=turns)
    orders = draw(st.lists(st.integers(1, 99), min_size=1, max_size=3, unique=True))
    turns = tuple((Use("update_order", {"order": o, "state": "shipped"}, gives),) for o in orders)
    told = " and ".join(str(o) for o in orders)
    return Life(prompt=f"Ship {told}.", says=f"I have updated {told}.", turns=turns)


@st.composite
def read_logs(draw: st.DrawFn) -> Life:
    """A result that is full of the word ERROR is a result."""
    n = draw(st.integers(1, 6))
    lines = [f"2026-03-0{i + 1} 12:00 ERROR db timeout after {i + 2} s" for i in range(n)]
    gives = draw(st.sampled_from(["\n".join(lines), lines, {"lines": lines, "n": n}]))
    says = draw(st.sampled_from([f"There were {n} timeouts.", "The database timed out at noon."]))
    turns = ((Use("search_logs", {"service": "db"}, gives),),)
    return Life(prompt="What happened?", says=says, turns=turns)


@st.composite
def paged(draw: st.DrawFn) -> Life:
    """One page after the other; some are alike."""
    n = draw(st.integers(2, 6))
    texts = [
        draw(st.sampled_from(["This page is blank.", "Text.", f"Value {i}."])) for i in range(n)
    ]
    turns = tuple((Use("read_page", {"page": i}, t),) for i, t in enumerate(texts, 1))
    return Life(prompt="Read all pages.", says=f"I have read all {n} pages.", turns=turns)


LIVES: dict[str, st.SearchStrategy[Life]] = {
    one.__name__: one()
    for one in (
        small_talk, general_knowledge, given_text, arithmetic, rescaled, classified, looked_up,
        parallel, structured_after, abstained, retried, disclosed, polled, wrote, read_logs, paged,
    )
}  # fmt: skip

# --- lived as a run of the model


@dataclass(frozen=True, kw_only=True)
class Dress:
    """How a provider and its recorder put the same run."""

    wire: str
    provider: str
    request_model: str
    response_model: str
    ends: str
    calls: str
    is_streaming: bool = False
    dialect: str = "spanwitness"


DRESSES = st.builds(
    lambda dress, is_streaming: replace(dress, is_streaming=is_streaming),
    st.sampled_from(
        [
            Dress(wire="openai_chat", provider="openai", request_model="gpt-4.1-mini",
                  response_model="gpt-4.1-mini-2025-04-14", ends="stop", calls="tool_calls"),
            Dress(wire="openai_chat", provider="openai", request_model="gpt-4o",
                  response_model="gpt-4o-2024-08-06", ends="stop", calls="stop"),
            Dress(wire="openai_responses", provider="openai", request_model="gpt-5",
                  response_model="gpt-5-2025-08-07", ends="completed", calls="completed"),
            Dress(wire="anthropic_messages", provider="anthropic",
                  request_model="claude-sonnet-4-5",
                  response_model="claude-sonnet-4-5-20250929", ends="end_turn", calls="tool_use"),
            Dress(wire="gemini", provider="gcp.gemini", request_model="gemini-2.5-flash",
                  response_model="gemini-2.5-flash", ends="STOP", calls="STOP"),
            Dress(wire="openai_chat", provider="openai", request_model="llama3.1:8b",
                  response_model="llama3.1:8b", ends="stop", calls="stop"),
            Dress(wire="openai_chat", provider="openai",
                  request_model="meta-llama/Llama-3.1-8B-Instruct",
                  response_model="meta-llama/Llama-3.1-8B-Instruct",
                  ends="stop", calls="tool_calls"),
            Dress(wire="unknown", provider="openai", request_model="gpt-4o-mini",
                  response_model="gpt-4o-mini-2024-07-18", ends="stop", calls="tool_calls",
                  dialect="otel_genai"),
        ]
    ),
    st.booleans(),
)  # fmt: skip
OFFERS = tuple(builders.offer(kind.name, **kind.takes) for kind in KINDS)


def as_run(life: Life, dress: Dress, **fields: Any) -> Run:
    """Return the run that this life leaves in the words of a provider."""
    more = {} if life.schema is None else {"format": builders.json_schema(life.schema)}
    items = turns_of(life, dress, **more)
    items.append(dressed(dress, life.says, thinks=life.thinks or None, **more))
    return builders.run(*items, prompt=life.prompt, dialects=(dress.dialect,), **fields)


def turns_of(life: Life, dress: Dress, **more: Any) -> list[Any]:
    """Return the model calls that ask for tools, each with what the tools gave."""
    items: list[Any] = []
    for n, turn in enumerate(life.turns):
        uses = [(use, f"call_{n}_{m}") for m, use in enumerate(turn)]
        calls = [builders.call(u.name, id=id_, arguments=u.arguments) for u, id_ in uses]
        items.append(
            dressed(dress, life.preamble or None, calls=calls, thinks=life.thinks or None, **more)
        )
        for use, id_ in uses:
            effect = next(kind.effect for kind in KINDS if kind.name == use.name)
            fields = {"effect": effect}
            items.append(
                builders.tool(
                    use.name,
                    gives=use.gives,
                    error=use.error,
                    id=id_,
                    arguments=use.arguments,
                    fields=fields,
                )
            )
    return items


def dressed(dress: Dress, says: str | None, **more: Any) -> Any:
    """Return a model call as a provider and its recorder put it."""
    reason = dress.calls if more.get("calls") else dress.ends
    usual: dict[str, Any] = {
        "offers": OFFERS,
        "wire": dress.wire,
        "provider": dress.provider,
        "request_model": dress.request_model,
        "response_model": dress.response_model,
        "finish_reasons": (reason,),
        "is_streaming": dress.is_streaming,
        "dialect": dress.dialect,
        "ending": "unknown" if dress.dialect == "otel_genai" else "complete",
    }
    return builders.chat(says, **(usual | more))


# --- lived on a real SDK


def as_case(life: Life, *, host: Host | None = None) -> Case:
    """Return the case in which a real SDK and a scripted provider live this life."""
    waiting: dict[str, list[Use]] = {}
    for turn in life.turns:
        for use in turn:
            waiting.setdefault(use.name, []).append(use)

    def answers(name: str) -> Callable[..., object]:
        def run(**_: Any) -> object:
            use = waiting[name].pop(0)
            if use.error is not None:
                raise RuntimeError(use.error)
            return use.gives

        return run

    tools = tuple(
        real_tool(
            kind.name, answers(kind.name), takes=[f"{k}:{v}" for k, v in kind.takes.items()],
            effect=kind.effect,
        )
        for kind in KINDS
    )  # fmt: skip
    thought = [think(life.thinks)] if life.thinks else []
    script: list[Any] = []
    for n, turn in enumerate(life.turns):
        said = [text(life.preamble)] if life.preamble else []
        calls = [call(u.name, u.arguments, id=f"call_{n}_{m}") for m, u in enumerate(turn)]
        script.append(reply(*thought, *said, *calls))
    script.append(reply(*thought, text(life.says)))
    ask = Ask(life.prompt, schema=life.schema)
    return Case(ask=ask, tools=tools, script=script, host=host or Host())
