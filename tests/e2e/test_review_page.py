"""The review page in a real Chromium: by keyboard, in both themes, at size, and under attack."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.review import sample_queue, sample_runs
from tests.review.judged_runs import judged
from tests.review.many_items import add_many

from spanwitness.review import Queue
from spanwitness.review.store.values import ItemFilter, Sampling

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.e2e

_SERVE = (sys.executable, "-m", "spanwitness", "review", "serve")


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Start the page in a process of its own; returns its address."""
    processes: list[subprocess.Popen[str]] = []

    def start(url: str, *more: str) -> str:
        command = [*_SERVE, "--queue", url, "--by", "maria", *more]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        processes.append(process)
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"http://\S+(?=/)", line)
        assert found, line + process.stdout.read()
        return found.group()

    yield start
    for process in processes:
        process.terminate()
        process.wait(10)
        process.stdout.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/queue.db"


@pytest.fixture
def queue(url: str) -> Iterator[Queue]:
    opened = Queue.open(url)
    yield opened
    opened.close()


class Keys:
    """A reviewer without a mouse."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def press(self, keys: str, *, goes: bool = False) -> None:
        """Press keys where the focus is; wait for the page they lead to."""
        from selenium.webdriver import ActionChains
        from selenium.webdriver.support.ui import WebDriverWait

        before = self.driver.find_element("tag name", "html") if goes else None
        ActionChains(self.driver).send_keys(keys).perform()
        if before is not None:
            from selenium.webdriver.support.expected_conditions import staleness_of

            WebDriverWait(self.driver, 10).until(staleness_of(before))
            WebDriverWait(self.driver, 10).until(
                lambda d: d.execute_script("return document.readyState") == "complete"
            )

    @property
    def item(self) -> int | None:
        found = re.search(r"/items/(\d+)", self.driver.current_url)
        return int(found.group(1)) if found else None

    def text(self) -> str:
        return " ".join(self.driver.find_element("tag name", "main").text.split())


def _names(n: int) -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [a + b + c for a in letters for b in letters for c in letters][:n]


def test_twenty_items_are_worked_through_by_keyboard_alone(chromium, serve, url, queue):
    from selenium.webdriver.common.keys import Keys as Key

    queue.add_all([(judged(name, agent=name), None) for name in _names(24)])
    chromium.get(serve(url) + "/")
    keys = Keys(chromium)

    # The third row of the list, opened and claimed.
    for _ in range(4):
        keys.press("j")
    keys.press("k")
    keys.press(Key.ENTER, goes=True)
    assert queue.item(keys.item).item.owner == "maria"
    third = keys.item

    # Twenty verdicts; after each one the next item comes, claimed.
    words = dict(zip("cfeud", ("confirmed", "false_positive", "expected", "cannot_tell",
                               "duplicate"), strict=True))  # fmt: skip
    given: dict[int, str] = {}
    for place in range(20):
        key = "cfeud"[place % 5]
        given[keys.item] = words[key]
        keys.press(key, goes=True)
    assert len(given) == 20
    assert third in given
    for item_id, word in given.items():
        assert queue.item(item_id).item.verdict == word
    assert queue.counts().resolved == 20

    # The last one is taken back, and given anew with a reason; letters in a field are no verdicts.
    last = list(given)[-1]
    keys.press("z", goes=True)
    assert keys.item == last
    assert queue.item(last).item.state == "claimed"
    chromium.find_element("id", "reason").send_keys("cfeud are letters here")
    assert queue.item(last).item.state == "claimed"
    keys.press(Key.ESCAPE)
    keys.press("c", goes=True)
    assert queue.item(last).item.verdict_reason == "cfeud are letters here"

    # The next one gets a note and rests.
    resting = keys.item
    keys.press("n")
    keys.press("Ask the team.")
    keys.press(Key.ESCAPE)
    chromium.find_element("css selector", ".note-form button").send_keys(Key.ENTER)
    keys.press("s")
    keys.press(Key.TAB)
    keys.press(Key.ENTER, goes=True)
    assert queue.item(resting).item.state == "snoozed"
    assert "Ask the team." in [e.note for e in queue.item(resting).events]
    assert keys.item not in (None, resting)

    # Stats say what was done.
    chromium.get(chromium.current_url.split("/items")[0] + "/stats")
    row = chromium.find_element("css selector", "#precision tr[data-rule=tool_bypass]").text
    assert row.split()[:4] == ["tool_bypass", "1", "5", "4"]


def test_the_list_of_keys_opens_and_closes(chromium, serve, url, queue):
    from selenium.webdriver.common.keys import Keys as Key
    from selenium.webdriver.support.ui import WebDriverWait

    chromium.get(serve(url) + "/")
    keys = Keys(chromium)
    keys.press("?")
    WebDriverWait(chromium, 5).until(lambda d: d.find_elements("css selector", "dialog[open]"))
    assert "false positive" in chromium.find_element("id", "help-dialog").text
    keys.press(Key.ESCAPE)
    assert not chromium.find_elements("css selector", "dialog[open]")


def test_a_filter_narrows_the_list(chromium, serve, url, queue):
    from selenium.webdriver.common.keys import Keys as Key

    sample_runs_at = datetime.now(UTC) - timedelta(hours=2)
    sample_queue.put(queue, sample_runs.unexecuted_call("one", sample_runs_at))
    sample_queue.put(queue, sample_runs.bypassed_extraction("two", sample_runs_at))
    chromium.get(serve(url) + "/")
    keys = Keys(chromium)
    assert len(chromium.find_elements("css selector", ".item-row")) == 2
    keys.press("/")
    keys.press("refund_order")
    keys.press(Key.ENTER, goes=True)
    (row,) = chromium.find_elements("css selector", ".item-row")
    assert "refund_order" in row.text
    keys.press("j")
    keys.press(Key.ENTER, goes=True)
    assert "The account breaks between requested and executed" in keys.text()


def test_a_conflict_is_met_and_explained(chromium, serve, url, queue):
    (item,) = queue.add(judged("one")).opened
    chromium.get(f"{serve(url)}/items/{item}")
    keys = Keys(chromium)
    chromium.find_element("id", "reason").send_keys("written for minutes")
    from selenium.webdriver.common.keys import Keys as Key

    keys.press(Key.ESCAPE)
    queue.verdict(item, verdict="expected", by="jonas", reason="known")
    keys.press("c", goes=True)
    assert "Somebody was faster" in keys.text()
    assert "jonas judged it: expected" in keys.text()
    assert "written for minutes" in keys.text()
    assert queue.item(item).item.verdict == "expected"


def test_everything_essential_works_without_javascript(serve, url, queue):
    """The same forms, sent by a client that runs no script at all."""
    from tests.review.web.conftest import _FORM, _HIDDEN

    queue.add_all([(judged(name, agent=name), None) for name in _names(2)])
    base = serve(url)
    with httpx.Client(base_url=base, follow_redirects=True, trust_env=False) as client:
        page = client.get("/")
        for action, word in (("/next", None), ("verdict", "confirmed"), ("verdict", "expected")):
            target = next((a, body) for a, body in _FORM.findall(page.text) if a.endswith(action))
            values = dict(_HIDDEN.findall(target[1]))
            if word is not None:
                values |= {"verdict": word, "then": "next"}
            page = client.post(target[0], data=values, headers={"origin": base})
            assert page.status_code == 200, page.text
    assert queue.counts().resolved == 2


# --- accessible and readable, in both themes


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> str:
    url = f"sqlite:///{tmp_path_factory.mktemp('sample')}/queue.db"
    sample_queue.fill(url)
    queue = Queue.open(url)
    queue.set_sampling(Sampling(flagged=1.0, unflagged=1.0))
    at = datetime.now(UTC) - timedelta(hours=1)
    sample_queue.put(queue, sample_runs.healthy_extraction("audited", at))
    queue.close()
    return url


def test_axe_finds_nothing_serious_on_any_page_in_either_theme(chromium, serve, sample):
    from axe_core_python.selenium import Axe

    base = serve(sample, "--link", "Jaeger=http://127.0.0.1:16686/trace/{trace_id}")
    queue = Queue.open(sample)
    ids = {(item.state, item.rule): item.id for item in queue.items(limit=100).rows}
    one_each = {state: item_id for (state, _), item_id in ids.items()}
    unexecuted = [item_id for (_, rule), item_id in ids.items() if rule == "call_not_executed"]
    shown = [*one_each.values(), *unexecuted]
    queue.close()
    paths = [
        "/", "/?state=resolved", "/?q=zebra", "/rules", "/rules/output_constraint_bypass",
        "/agents", "/agents/of?agent=datasheet-extractor&service=extraction", "/stats", "/audit",
        "/deliveries", "/help", "/nowhere", f"/items/{shown[-1]}/call",
        *(f"/items/{i}" for i in shown),
    ]  # fmt: skip
    axe = Axe()
    found: list[str] = []
    for theme in ("light", "dark"):
        chromium.get(base + "/help")
        chromium.add_cookie({"name": "sw_theme", "value": theme})
        for path in paths:
            chromium.get(base + path)
            for each in chromium.find_elements("tag name", "details"):
                chromium.execute_script("arguments[0].open = true", each)
            for problem in axe.run(chromium)["violations"]:
                if problem["impact"] in ("serious", "critical", "moderate"):
                    where = [node["target"] for node in problem["nodes"]][:3]
                    found.append(f"{theme} {path}: {problem['id']} {where}")
    assert found == []


def test_no_page_is_wider_than_a_phone(chromium, serve, sample):
    base = serve(sample)
    size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        for path in (
            "/",
            "/items/3",
            "/items/4",
            "/items/11",
            "/rules",
            "/stats",
            "/agents",
            "/audit",
        ):
            chromium.get(base + path)
            width = chromium.execute_script("return document.documentElement.scrollWidth")
            assert width <= 390, path
    finally:
        chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_browser_refuses_nothing_that_a_page_needs(chromium, serve, sample):
    base = serve(sample)
    chromium.get_log("browser")
    for path in ("/", "/items/3", "/rules/tool_bypass", "/stats", "/help"):
        chromium.get(base + path)
    assert [e["message"] for e in chromium.get_log("browser") if e["level"] == "SEVERE"] == []


# --- at size


def _times(client: httpx.Client, path: str, n: int = 9) -> list[float]:
    """Other work on the machine only ever adds to a time, so the least one is looked at."""
    taken = []
    for _ in range(n):
        started = time.perf_counter()
        answer = client.get(path)
        taken.append(time.perf_counter() - started)
        assert answer.status_code == 200
    return taken


def test_a_queue_of_fifty_thousand_items_answers_at_once(serve, url, queue):
    names = _names(17_576)
    add_many(url, names)
    assert queue.counts().total == 50_000
    told = {}
    with httpx.Client(base_url=serve(url), trust_env=False, timeout=30) as client:
        client.get("/")
        page = client.get("/?state=open").text
        following = re.search(r'rel="next" href="([^"]+)"', page).group(1).replace("&amp;", "&")
        for path in ("/", following, "/?rule=tool_bypass", "/?sort=newest", "/?severity=critical",
                     f"/?agent={names[9]}", "/?q=zebra"):  # fmt: skip
            told[path] = min(_times(client, path))
    print({path: f"{1000 * s:.0f} ms" for path, s in told.items()})
    assert max(told.values()) < 0.2, told


def test_a_trace_of_two_thousand_spans_opens_at_once(chromium, serve, url, queue):
    at = datetime.now(UTC) - timedelta(hours=1)
    base = serve(url)
    chromium.get(base + "/")
    taken = []
    item = 0
    for name in ("one", "two", "three"):
        script = sample_runs.long_run(name, at, n_spans=2_000)
        opened = sample_queue.put(queue, script)
        item = opened[0] if opened else item
        started = time.perf_counter()
        chromium.get(f"{base}/items/{item}?trace={script.trace_id}")
        taken.append(time.perf_counter() - started)
    print(f"2,000 spans: {min(taken):.2f} s")
    assert "verify_quote" in chromium.find_element("css selector", ".has-break").text
    assert min(taken) < 1.0


# --- hostile


def test_hostile_text_does_nothing_in_a_real_browser(chromium, serve, url, queue):
    at = datetime.now(UTC) - timedelta(hours=1)
    (item,) = sample_queue.put(queue, sample_runs.hostile_run("bad", at, n_chars=10_000_000))
    queue.note(item, sample_runs.HOSTILE, sample_runs.HOSTILE)
    queue.verdict(item, verdict="expected", by="x", reason=sample_runs.HOSTILE)
    (one,) = queue.items(ItemFilter(states=("resolved",))).rows
    base = serve(url)
    for path in (f"/items/{one.id}", "/?state=any", f"/items/{one.id}/call?n=1", "/agents",
                 "/rules/call_not_executed"):  # fmt: skip
        chromium.get(base + path)
        assert chromium.title.endswith("spanwitness"), path
        assert not chromium.find_elements("css selector", "main script, main img, main svg[onload]")
        shown = chromium.find_element("tag name", "main").text
        assert not set("\u202e\u2066\x1b\x00") & set(shown)
        width = chromium.execute_script("return document.documentElement.scrollWidth")
        assert width <= 1360
    assert "document.title='owned'" in shown
