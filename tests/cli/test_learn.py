"""`spanwitness learn` and `spanwitness packs`, as a user runs them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from spanwitness.contracts import load

_TRACES = Path(__file__).parent.parent / "traces" / "otel-genai-openai"


def copies(folder: Path, name: str, n: int) -> Path:
    """The same recorded run n times, each in a trace of its own."""
    text = (_TRACES / f"{name}.otlp.json").read_text().strip()
    (trace,) = set(re.findall(r'"traceId":\s*"([0-9a-f]{32})"', text))
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.otlp.json"
    file.write_text("".join(text.replace(trace, f"{k:032x}") + "\n" for k in range(1, n + 1)))
    return file


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    return copies(tmp_path / "traces", "clean", 60)


def test_a_contract_is_learned_written_and_used(spanwitness, clean, tmp_path):
    out = tmp_path / "contract.yaml"
    learned = spanwitness("learn", clean, "--out", out)
    assert learned.status == 0, learned.err
    assert "60 clean runs; left out: none" in learned.out
    assert "0 of 30 held-out units fired a clause; at most 9.5% of clean units do" in learned.out
    contract = load(out)
    required = {c.tool for c in contract.expect if c.rule == "required_tool_missing"}
    assert required == {"search_pdf", "read_page", "verify_value"}
    good = spanwitness("check", "--contract", out, _TRACES / "clean.otlp.json")
    assert good.status == 0, good.out
    bad = spanwitness(
        "check", "--format", "json", "--contract", out, _TRACES / "parallel.otlp.json"
    )
    assert bad.status == 1
    assert json.loads(bad.out)["summary"]["by_rule"]["required_tool_missing"] >= 1


def test_without_out_the_text_is_the_contract_itself(spanwitness, clean, tmp_path):
    learned = spanwitness("learn", clean)
    file = tmp_path / "printed.yaml"
    file.write_text(learned.out)
    assert load(file).name.startswith("learned")


def test_an_agents_name_cannot_leave_the_comments(spanwitness, clean, tmp_path):
    name = "x\nactions: {a: [b]}\n../../y"
    clean.write_text(clean.read_text().replace("datasheet-agent", json.dumps(name)[1:-1]))
    out = tmp_path / "contract.yaml"
    learned = spanwitness("learn", clean, "--out", out)
    assert learned.status == 0, learned.err
    assert load(out).when.agent == (name,)
    assert load(out).actions == {}
    assert "\nactions:" not in learned.out


def test_each_agent_gets_a_file_of_its_own(spanwitness, clean, tmp_path):
    other = copies(tmp_path / "more", "clean", 120)
    lines = other.read_text().replace("datasheet-agent", "../second agent").splitlines()[60:]
    other.write_text("\n".join(lines) + "\n")
    out = tmp_path / "contract.yaml"
    learned = spanwitness("learn", clean, other, "--out", out)
    assert learned.status == 0, learned.err
    names = {path.name: load(path).name for path in tmp_path.glob("contract*")}
    assert names == {
        "contract.datasheet-agent.yaml": "learned-datasheet-agent",
        "contract...-second-agent.yaml": "learned-../second agent",
    }


def test_only_clean_runs_are_learned_from_and_the_others_are_counted(spanwitness, clean, tmp_path):
    shutil.copy(_TRACES / "bypass.otlp.json", tmp_path / "traces")
    learned = json.loads(spanwitness("learn", tmp_path / "traces", "--format", "json").out)
    assert learned["schema"] == "spanwitness.learn/1"
    assert learned["clean_runs"] == 60
    assert learned["left_out"] == {"flagged": 1}
    (one,) = learned["contracts"]
    assert one["held_out"]["units"] == 30
    assert one["held_out"]["bound"] == pytest.approx(1 - 0.05 ** (1 / 30))
    assert one["held_out"]["method"] == "clopper_pearson"
    assert learned["unit"] == "run"


def test_too_few_held_out_units_are_refused(spanwitness, tmp_path):
    file = copies(tmp_path / "few", "clean", 30)
    learned = spanwitness("learn", file)
    assert learned.status == 2
    assert "15 held-out units (run)" in learned.err
    assert learned.out == ""


def test_seed_and_share_of_the_split_are_heeded(spanwitness, clean):
    some = json.loads(
        spanwitness("learn", clean, "--held-out", "0.75", "--seed", "4", "--format", "json").out
    )
    assert some["contracts"][0]["units"] == 15
    assert some["contracts"][0]["held_out"]["units"] == 45


def test_a_unit_that_runs_do_not_name_is_refused(spanwitness, clean):
    learned = spanwitness("learn", clean, "--unit", "conversation")
    assert learned.status == 2
    assert "names no conversation" in learned.err


def test_the_baseline_is_written_and_the_contract_points_to_it(spanwitness, clean, tmp_path):
    out, baseline = tmp_path / "contract.yaml", tmp_path / "baseline.json"
    assert spanwitness("learn", clean, "--out", out, "--baseline-out", baseline).status == 0
    written = json.loads(baseline.read_text())
    assert written["schema"] == "spanwitness.baseline/1"
    (entry,) = written["stacks"]
    assert (entry["n_runs"], entry["tools"]["read_page"]) == (30, 30)
    assert yaml.safe_load(out.read_text())["baseline"] == "baseline.json"
    checked = spanwitness(
        "check", "--all", "--format", "json", "--contract", out, _TRACES / "clean.otlp.json"
    )
    verdicts = json.loads(checked.out)["runs"][0]["verdicts"]
    assert [v["verdict"] for v in verdicts if v["rule"] == "below_baseline"] == ["holds"]
    other = spanwitness(
        "check", "--all", "--format", "json", "--contract", out,
        _TRACES / "bypass.otlp.json",
    )  # fmt: skip
    verdicts = json.loads(other.out)["runs"][0]["verdicts"]
    assert [v["verdict"] for v in verdicts if v["rule"] == "below_baseline"] == ["not_assessed"]


def test_an_unusable_input_is_told_and_the_rest_is_learned_from(spanwitness, clean, tmp_path):
    out = tmp_path / "contract.yaml"
    learned = spanwitness("learn", clean, tmp_path / "absent.json", "--out", out)
    assert learned.status == 2
    assert "absent.json" in learned.err
    assert out.exists()


def test_packs_are_listed_and_printed(spanwitness, tmp_path):
    listed = spanwitness("packs").out
    assert re.findall(r"^pack:(\S+)$", listed, re.MULTILINE) == [
        "customer-service",
        "document-extraction",
        "retrieval-augmented-answering",
        "verify-audit-escalate",
    ]
    file = tmp_path / "mine.yaml"
    file.write_text(spanwitness("packs", "document-extraction").out)
    assert load(file) == load("pack:document-extraction")


def test_an_unknown_pack_is_an_error_with_the_nearest_name(spanwitness):
    checked = spanwitness(
        "check", "--contract", "pack:document-extracton", _TRACES / "clean.otlp.json"
    )
    assert checked.status == 2
    assert "did you mean 'document-extraction'?" in checked.err


def test_a_pack_judges_stored_traces(spanwitness):
    good = spanwitness(
        "check", "--contract", "pack:document-extraction", _TRACES / "clean.otlp.json"
    )
    assert good.status == 0, good.out
    bad = spanwitness(
        "check", "--all", "--contract", "pack:document-extraction", _TRACES / "bypass.otlp.json"
    )
    assert "navigation_bypassed" in bad.out
