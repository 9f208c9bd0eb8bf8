"""What the README and the pages of docs/ show runs as it is printed there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from spanwitness.contracts import load
from spanwitness.contracts.suppressions import load_suppressions
from spanwitness.review.outbound.settings import read_outbound

_ROOT = Path(__file__).parents[1]
_PAGES = [_ROOT / "README.md", _ROOT / "examples" / "README.md", *sorted(_ROOT.glob("docs/*.md"))]

_PROVIDER = """
import json, os
from spanwitness.testing import ScriptedProvider, call, text

def reply_to(request):
    if request.path.endswith("/messages"):
        return text("An answer.")
    if "generateContent" in request.path:
        is_done = "functionResponse" in json.dumps(request.json)
        return text("42 euros") if is_done else call("convert", {"amount": 40, "to": "EUR"})
    is_done = any(message["role"] == "tool" for message in request.json["messages"])
    return text("3.6 V") if is_done else call("read_page", {"page": 3})

_provider = ScriptedProvider(reply_to).start()
"""
_PRELUDES = {
    "README.md": """
os.environ.update(OPENAI_BASE_URL=_provider.openai_url, OPENAI_API_KEY="scripted")
parameters = {"type": "object", "properties": {"page": {"type": "integer"}}}
definition = {"name": "read_page", "parameters": parameters}

def agent_loop(client):
    messages = [{"role": "user", "content": "Up to which voltage?"}]
    while True:
        message = client.chat.completions.create(
            model="scripted", messages=messages,
            tools=[{"type": "function", "function": definition}],
        ).choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            return message.content
        for asked in message.tool_calls:
            result = read_page(**json.loads(asked.function.arguments))
            messages.append(
                {"role": "tool", "tool_call_id": asked.id, "content": json.dumps(result)}
            )
""",
    "measures.md": """
with open("outcomes.csv", "w") as file:
    file.write("item_id,before,after,difficulty\\n")
    for number in range(40):
        level = "easy" if number < 20 else "hard"
        file.write(f"i{number},{number % 2},{number % 3 > 0:d},{level}\\n")
def is_right(answer):
    return answer == "7"
def ask_for_a_number(question, candidates):
    return candidates.index("7")
import pydantic
class Answer(pydantic.BaseModel):
    volts: str
PASSAGES = ["It needs 3.6 V.", "It weighs 1 g."]
others = [["It needs 5.5 V."]]
def ask(passages):
    return Answer(volts="7" if "3.6" in str(passages) else "0").model_dump_json()
def holds_answer(passages):
    return "3.6" in str(passages)
def agent(question):
    return "7"
document = "Once. " * 50 + "It needs 3.6 V."
record = {"quote": "It needs 3.6 V.", "window": "Once. " * 9}
""",
    "privacy.md": "",
    "review.md": "",
    "review-page.md": "",
    "watching.md": """
import logging, warnings, anthropic, openai
from google import genai
client = openai.OpenAI(base_url=_provider.openai_url, api_key="scripted")
claude = anthropic.AsyncAnthropic(base_url=_provider.anthropic_url, api_key="scripted")
gemini = genai.Client(api_key="scripted", http_options={"base_url": _provider.gemini_url})
""",
}
_ENDINGS = {
    "measures.md": """
with sw.run("choose", item_id="q17"):
    assert judge("3 + 4?", ["12", "7"], "q17") == "7"
assert result.overall.counts.n_pairs == 40
with sw.run("extract", item_id="p1"):
    for condition in ("clean", "partial_dropout", "wrong_document"):
        decide(PASSAGES, "p1", condition)
assert len(rows) == 20 and {row["answer"] for row in rows} == {"7"}
assert record["quote"] in window and len(window) == len(record["window"])
""",
    "watching.md": """
assert levels[1] == {"part": "R2", "pieces": 40}
assert answers == ["An answer."] * 5
server = StdioServerParameters(command=sys.executable, args=["-c", SERVER])
assert asyncio.run(ask_server(server)) == "40 pieces of R1"
""",
}
_SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("stock")
@server.tool()
def stock_level(part: str) -> str:
    return f"40 pieces of {part}"
server.run("stdio")
"""


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )


def _runs(folder: Path) -> dict[str, list[dict]]:
    done = subprocess.run(
        [sys.executable, "-m", "spanwitness", "check", "--format", "json", folder],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    runs: dict[str, list[dict]] = {}
    for run in json.loads(done.stdout)["runs"]:
        assert run["complete"] is True
        for row in run["ledger"]:
            runs.setdefault(row["tool"], []).append(row)
    return runs


def test_every_page_with_python_is_run():
    assert {page.name for page in _PAGES if _blocks(page, "python")} == set(_PRELUDES)


@pytest.mark.parametrize("name", _PRELUDES)
def test_the_python_of_a_page_runs_as_printed(name, tmp_path):
    page = next(page for page in _PAGES if page.name == name)
    blocks = _blocks(page, "python")
    script = [_PROVIDER, _PRELUDES[name], *blocks, f"import sys\nSERVER = {_SERVER!r}\n"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "SPANWIT"))}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([*script, _ENDINGS.get(name, "")])],
        cwd=tmp_path,
        env=environment | {"SPANWITNESS_STATE_DIR": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = _runs(tmp_path / "state") if name in ("README.md", "watching.md") else {}
    assert {row["executed"] for found in rows.values() for row in found} <= {"span"}
    if name == "README.md":
        assert set(rows) == {"read_page"}
    if name == "watching.md":
        assert set(rows) == {"find_lines", "stock_level", "order", "convert"}
        sides = [row["side"] for row in rows["stock_level"]]
        assert sorted(sides) == ["client"] * 3 + ["mcp"]


@pytest.mark.parametrize("page", [p for p in _PAGES if _blocks(p, "yaml")], ids=lambda p: p.name)
def test_the_yaml_of_a_page_loads(page, tmp_path):
    (tmp_path / "baseline.json").write_text('{"schema": "spanwitness.baseline/1"}')
    for block in _blocks(page, "yaml"):
        path = tmp_path / "page.yaml"
        path.write_text(block, "utf-8")
        if block.startswith("suppressions:"):
            assert load_suppressions(path).suppressions
        elif block.startswith("webhooks:"):
            path.chmod(0o600)
            assert read_outbound(path).webhooks
        elif block.startswith("exporters:"):  # a part of a collector's configuration
            assert yaml.safe_load(block)["exporters"]
        else:
            assert load(path).expect


@pytest.mark.parametrize("page", _PAGES, ids=lambda p: p.name)
def test_the_links_of_a_page_lead_to_files(page):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_every_public_name_on_the_pages_exists():
    import spanwitness

    for page in _PAGES:
        for name in re.findall(r"\bsw\.([A-Za-z_]+)", page.read_text("utf-8")):
            assert name in spanwitness.__all__, f"{page.name}: sw.{name}"
