"""The pages of every measure in a real Chromium: from a scripted run and from tables."""

from __future__ import annotations

import random
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.measure.scripted_agent import record
from tests.measure.tables import stage, write_csv
from tests.measure.test_selection import published

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.e2e

_PHONE = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
_HARM = ("moderate", "serious", "critical")


def _evidence(folder: Path) -> Path:
    rows = []
    draw = random.Random(1)
    for case in range(30):
        for condition in ("clean", "partial_dropout", "noisy_conflicting"):
            for name in ("decision", "audit", "escalation"):
                is_right = condition == "clean" or draw.random() < 0.5
                cells: dict[str, object] = {"validity_judgment": int(is_right)}
                if name == "audit":
                    cells |= {"audit_detected_degradation": int(draw.random() < 0.6),
                              "audit_false_assurance": int(draw.random() < 0.2)}  # fmt: skip
                if name == "escalation" and condition != "clean":
                    cells["escalation_recovery"] = draw.choice(
                        ["recovered", "deferred", "unresolved"]
                    )
                if case == 7 and name == "audit":
                    cells["status"] = "timeout"
                rows.append(stage(case, condition, name, **cells))
    return write_csv(folder / "stages.csv", rows)


def _answers(folder: Path) -> Path:
    draw = random.Random(2)
    rows = [
        {"configuration": name, "item_id": f"i{item}", "run": run, "label": "a",
         "answer": "a" if draw.random() > (0.3 if item % 4 == 0 else 0.03) else draw.choice("bc"),
         "flagged": int(item % 4 == 0)}
        for name in ("small", "large", "quantised")
        for item in range(40)
        for run in range(5)
    ]  # fmt: skip
    return write_csv(folder / "answers.csv", rows)


def _records(folder: Path, name: str, n_shown: int) -> Path:
    rows = [
        {"item_id": f"i{at}", "window": "The supply is 3.6 V." if at % 2 or at < n_shown else "-",
         "label": "3.6", "quote": "supply is 3.6 V", "outcome": int(at % 3 == 0)}
        for at in range(30)
    ]  # fmt: skip
    return write_csv(folder / name, rows)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every page, made by the command."""
    folder = tmp_path_factory.mktemp("pages")
    traces = record(folder / "state")
    pairs = write_csv(
        folder / "hostile.csv",
        [{"item_id": at, "before": at % 2, "after": int(at % 3 > 0),
          "kind": '<img src=x onerror=document.title="owned">' * 3 if at % 5 else "\u202elive"}
         for at in range(40)],
    )  # fmt: skip
    compared = write_csv(
        folder / "compared.csv",
        [{"item_id": at, "configuration": name, "success": int(at % of > 0)}
         for name, of in (("small", 2), ("large", 5)) for at in range(60 if of == 2 else 55)],
    )  # fmt: skip
    commands: dict[str, tuple[object, ...]] = {
        "each": ("paired", traces, "--each", "--group", "tag:difficulty"),
        "paired": ("paired", traces, "--step", "improve"),
        "hostile": ("paired", pairs, "--group", "kind"),
        "totals": ("paired", "--totals", "200,91,95"),
        "totals-exact": ("paired", "--totals", "200,91,95", "--never-revises-right"),
        "verdicts": ("verdicts", traces, "--group", "tag:difficulty"),
        "verdicts-each": ("verdicts", traces, "--each"),
        "compare": ("compare", compared),
        "selection": ("selection", traces, "--group", "tag:difficulty"),
        "selection-table": ("selection", write_csv(folder / "choices.csv", published())),
        "composition": ("composition", traces, "--stages", "improve,tidy", "--group",
                        "tag:difficulty"),
        "evidence": ("evidence", _evidence(folder)),
        "stability": ("stability", _answers(folder), "--transfer", "3"),
        "provenance": ("provenance", _records(folder, "before.csv", 0)),
    }  # fmt: skip
    made = {}
    for name, words in commands.items():
        command = [sys.executable, "-m", "spanwitness", "measure", *map(str, words),
                   "--format", "html"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (name, done.stderr)
        made[name] = folder / f"{name}.html"
        made[name].write_text(done.stdout, encoding="utf-8")
    return made


@pytest.fixture
def show(chromium: Any) -> Any:
    """Open a page in a theme, on a wide screen or on a phone; all is put back afterwards."""

    def open_page(page: Path, *, theme: str = "light", phone: bool = False) -> None:
        features = [{"name": "prefers-color-scheme", "value": theme}]
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        if phone:
            chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", _PHONE)
        chromium.get(page.as_uri())

    yield open_page
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_no_page_is_wider_than_a_phone(chromium, pages, show: Callable[..., None]):
    for name, page in pages.items():
        show(page, phone=True)
        for each in chromium.find_elements("tag name", "details"):
            chromium.execute_script("arguments[0].open = true", each)
        assert chromium.execute_script("return document.documentElement.scrollWidth") <= 390, name
        for picture in chromium.find_elements("css selector", "figure svg"):
            assert 200 < picture.size["width"] <= 390, name


def test_axe_finds_nothing_in_either_theme(chromium, pages, show: Callable[..., None]):
    from axe_core_python.selenium import Axe

    axe = Axe()
    found = []
    for theme in ("light", "dark"):
        for name, page in pages.items():
            show(page, theme=theme)
            for each in chromium.find_elements("tag name", "details"):
                chromium.execute_script("arguments[0].open = true", each)
            found += [
                f"{theme} {name}: {problem['id']} {[n['target'] for n in problem['nodes']][:3]}"
                for problem in axe.run(chromium)["violations"]
                if problem["impact"] in _HARM
            ]
    assert found == []


def test_the_theme_of_the_reader_colours_page_and_pictures(chromium, pages, show):
    seen = {}
    for theme in ("light", "dark"):
        show(pages["each"], theme=theme)
        seen[theme] = chromium.execute_script(
            "const text = document.querySelector('figure svg text');"
            "return [getComputedStyle(document.body).backgroundColor, getComputedStyle(text).fill]"
        )
    assert seen["light"][0] == "rgb(255, 255, 255)"
    assert seen["dark"][0] != seen["light"][0]
    assert seen["dark"][1] != seen["light"][1]


def test_the_browser_finds_nothing_wrong_and_loads_nothing(chromium, pages, show):
    chromium.get_log("browser")
    for name, page in pages.items():
        show(page)
        loaded = "return performance.getEntriesByType('resource').map(each => each.name)"
        assert chromium.execute_script(loaded) == [], name
    assert chromium.get_log("browser") == []


def test_names_from_a_table_stay_text(chromium, pages, show):
    show(pages["hostile"])
    assert chromium.title != "owned"
    assert chromium.find_elements("tag name", "img") == []
    assert "onerror" in chromium.find_element("tag name", "main").text
    assert "\u202e" not in chromium.page_source


def test_all_steps_stand_in_one_picture_and_each_has_its_part(chromium, pages, show):
    show(pages["each"])
    first = chromium.find_element("css selector", "main section figure")
    words = [text.text for text in first.find_elements("css selector", "text")]
    assert {"1. improve", "2. tidy", "3. judge", "helps", "harms"} <= set(words)
    parts = [each.text for each in chromium.find_elements("css selector", "h2.part")]
    assert parts == ["1. improve", "2. tidy", "3. judge"]
    text = chromium.find_element("tag name", "main").text
    assert "46 measured; 2 missing" in text
    assert text.count("step_failed:TimeoutError") == 2


def test_a_keyboard_reaches_every_wide_table(chromium, pages, show):
    show(pages["selection"], phone=True)
    for region in chromium.find_elements("css selector", ".scroll"):
        assert region.get_attribute("tabindex") == "0"
        assert region.get_attribute("aria-label")
