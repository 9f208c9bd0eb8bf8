"""Records the traces of `tests/traces/packs`: `python -m tests.contracts.record_packs FOLDER`.

Each is one run of a small agent over the OpenAI SDK against the scripted provider, healthy or with
a fault planted. What the model says is the script's; what the tools do, and all spans, are real.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai

import spanwitness as sw
from spanwitness.testing import ScriptedProvider, call, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PAGES = {1: "AX100 pressure sensor, overview.", 2: "AX100: supply current 345 uA at 3.3 V."}
_ARTICLES = {"returns": "Parcels can be returned for 30 days; after that only with a voucher."}
_ORDERS = {"W1001": {"state": "pending", "item": "lamp"}}


@sw.tool(effect="read")
def open_document(name: str) -> dict[str, Any]:
    """Open a document."""
    return {"name": name, "pages": len(_PAGES)}


@sw.tool(effect="read")
def read_page(page: int) -> str:
    """Read one page."""
    return _PAGES[page]


@sw.tool(effect="read")
def search_articles(query: str) -> list[str]:
    """Find help articles."""
    return [body for title, body in _ARTICLES.items() if title in query]


@sw.tool(effect="read")
def get_order(order_id: str) -> dict[str, str]:
    """Look up an order."""
    return _ORDERS[order_id]


@sw.tool(effect="write")
def cancel_order(order_id: str) -> dict[str, str]:
    """Cancel an order."""
    return {"order_id": order_id, "state": "cancelled"}


@sw.tool(effect="write")
def publish_report(title: str) -> str:
    """Publish a report."""
    return f"published: {title}"


class Agent:
    """Asks the scripted model until it answers in words, and runs what it calls."""

    def __init__(self, client: openai.OpenAI, *functions: Callable[..., Any]) -> None:
        self._client = client
        self._functions = {function.__name__: function for function in functions}
        self._tools: list[Any] = [_definition(name) for name in self._functions]

    def ask(self, question: str) -> str:
        """Return the answer."""
        messages: list[Any] = [{"role": "user", "content": question}]
        while True:
            reply = self._client.chat.completions.create(
                model="scripted", messages=messages, tools=self._tools or openai.omit
            )
            message = reply.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return message.content or ""
            for wanted in message.tool_calls:
                done = self._functions[wanted.function.name](
                    **json.loads(wanted.function.arguments)
                )
                content = done if isinstance(done, str) else json.dumps(done)
                messages.append({"role": "tool", "tool_call_id": wanted.id, "content": content})


_ARGUMENTS = {
    "open_document": ("name", "string"),
    "read_page": ("page", "integer"),
    "search_articles": ("query", "string"),
    "get_order": ("order_id", "string"),
    "cancel_order": ("order_id", "string"),
    "publish_report": ("title", "string"),
}


def _definition(name: str) -> dict[str, Any]:
    argument, kind = _ARGUMENTS[name]
    parameters = {
        "type": "object",
        "properties": {argument: {"type": kind}},
        "required": [argument],
    }
    return {"type": "function", "function": {"name": name, "parameters": parameters}}


def _extraction(client: openai.OpenAI, *, is_late: bool = False) -> None:
    agent = Agent(client, open_document, read_page)
    with sw.run("extract", item_id="ax100-current", subject="AX100") as run:
        answer = agent.ask("What is the supply current of the AX100?")
        run.submit({"current": answer})
        if is_late:
            read_page(2)


def _answering(client: openai.OpenAI) -> None:
    agent = Agent(client, search_articles)
    with sw.run("answer-question"):
        agent.ask("For how long can I return a parcel?")


def _service(client: openai.OpenAI) -> None:
    agent = Agent(client, get_order, cancel_order)
    with sw.run("serve-customer"):
        agent.ask("Please cancel my order W1001.")


@sw.step(kind="solve", name="extract")
def _solve(client: openai.OpenAI) -> str:
    return Agent(client, read_page).ask("What is the supply current of the AX100?")


@sw.step(kind="verify", name="second-look", verdict=lambda said: said == "yes")
def _verify(client: openai.OpenAI, answer: str, *functions: Callable[..., Any]) -> str:
    return Agent(client, *functions).ask(f"Is {answer!r} right for the AX100? Say yes or no.")


@sw.step(kind="audit", name="check-evidence", verdict=lambda said: said == "yes")
def _audit(client: openai.OpenAI, *, publishes: bool) -> str:
    if publishes:
        publish_report("AX100")
    return Agent(client).ask("Is the evidence enough? Say yes or no.")


def _pipeline(client: openai.OpenAI, *, verifies: bool = True, publishes: bool = False) -> None:
    with sw.run("pipeline", item_id="ax100-current", subject="AX100") as run:
        answer = _solve(client)
        _verify(client, answer, *((read_page,) if verifies else ()))
        _audit(client, publishes=publishes)
        run.submit({"current": answer})


_READ = [call("open_document", {"name": "AX100"}), call("read_page", {"page": 2})]
_CURRENT = text("345 uA at 3.3 V")
_RETURNS = call("search_articles", {"query": "returns"})
_RETURNED = text("Parcels can be returned for 30 days.")
_LOOK_UP = call("get_order", {"order_id": "W1001"})
_CANCEL = call("cancel_order", {"order_id": "W1001"})
_CANCELLED = text("Your order W1001 has been cancelled.")
_PAGE = call("read_page", {"page": 2})

RECORDINGS: dict[str, tuple[Callable[[openai.OpenAI], None], Sequence[Any]]] = {
    "document-extraction/healthy": (_extraction, [*_READ, _CURRENT]),
    "document-extraction/never_opened": (_extraction, [_CURRENT]),
    "document-extraction/opened_not_read": (_extraction, [_READ[0], _CURRENT]),
    "document-extraction/read_after_submit": (
        lambda client: _extraction(client, is_late=True),
        [*_READ, _CURRENT],
    ),
    "retrieval-augmented-answering/healthy": (_answering, [_RETURNS, _RETURNED]),
    "retrieval-augmented-answering/never_searched": (_answering, [_RETURNED]),
    "retrieval-augmented-answering/search_loop": (
        _answering,
        [*(call("search_articles", {"query": f"returns {n}"}) for n in range(26)), _RETURNED],
    ),
    "customer-service/healthy": (_service, [_LOOK_UP, _CANCEL, _CANCELLED]),
    "customer-service/changed_unseen": (_service, [_CANCEL, _CANCELLED]),
    "customer-service/claimed_not_done": (_service, [_LOOK_UP, _CANCELLED]),
    "verify-audit-escalate/healthy": (
        _pipeline,
        [_PAGE, _CURRENT, _PAGE, text("yes"), text("yes")],
    ),
    "verify-audit-escalate/verified_unseen": (
        lambda client: _pipeline(client, verifies=False),
        [_PAGE, _CURRENT, text("yes"), text("yes")],
    ),
    "verify-audit-escalate/audit_publishes": (
        lambda client: _pipeline(client, publishes=True),
        [_PAGE, _CURRENT, _PAGE, text("yes"), text("yes")],
    ),
}


@contextmanager
def _client(script: Sequence[Any]) -> Iterator[openai.OpenAI]:
    direct = openai.DefaultHttpxClient(trust_env=False)
    with (
        ScriptedProvider(script) as provider,
        openai.OpenAI(base_url=provider.openai_url, api_key="x", http_client=direct) as client,
    ):
        yield sw.wrap_client(client)


def record(folder: Path) -> list[Path]:
    """Record every trace into a folder, and return the files."""
    found = []
    with tempfile.TemporaryDirectory() as state:
        witness = sw.configure(service_name="packs", state_dir=state)
        if witness.trace_dir is None:
            raise RuntimeError("unset OTEL_EXPORTER_OTLP_ENDPOINT to record traces in files")
        for name, (agent, script) in RECORDINGS.items():
            before = set(witness.trace_dir.glob("*.jsonl"))
            with _client(script) as client:
                agent(client)
            witness.flush(timeout_s=5)
            path = folder / f"{name}.otlp.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.move((set(witness.trace_dir.glob("*.jsonl")) - before).pop(), path)
            found.append(path)
        witness.shutdown()
    return found


if __name__ == "__main__":
    for written in record(Path(sys.argv[1])):
        print(written)
