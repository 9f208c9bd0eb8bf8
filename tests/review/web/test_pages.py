"""What stands on the pages, and what they say when there is nothing to show."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

import pytest
from tests.review import sample_runs
from tests.review.judged_runs import judged
from tests.review.sample_queue import put

from spanwitness.review.store.values import Sampling
from spanwitness.rules.builtin import CLAUSE_RULES, RULES


def at() -> datetime:
    return datetime.now(UTC) - timedelta(hours=1)


@pytest.fixture
def item(queue):
    (opened,) = put(queue, sample_runs.bypassed_extraction("run", at()))
    return opened


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_an_empty_queue_says_how_items_come_into_it(maria, queue):
    page = maria.get("/")
    assert page.status_code == 200
    assert "No flags yet" in page.text
    assert f"--queue {queue.address}" in page.text


def test_the_list_shows_what_is_to_be_done(maria, item):
    page = text_of(maria.get("/").text)
    assert "Tools and an output form stood in the same request" in page
    assert "output_constraint_bypass" in page
    assert "datasheet-extractor" in page


@pytest.mark.parametrize(
    ("query", "is_there"),
    [
        ("rule=output_constraint_bypass", True),
        ("rule=tool_bypass", False),
        ("severity=error", True),
        ("severity=critical", False),
        ("fault=harness", True),
        ("fault=tool", False),
        ("agent=datasheet-extractor", True),
        ("agent=other", False),
        ("q=output+form", True),
        ("q=zebra", False),
        ("state=resolved", False),
        ("state=any", True),
        ("sort=newest", True),
        ("overdue=1", False),
        ("state=%27;drop&sort=x&severity=y", True),
    ],
)
def test_filters_let_through_what_they_say(maria, item, query, is_there):
    page = maria.get(f"/?{query}")
    assert page.status_code == 200
    assert (f'href="/items/{item}' in page.text) is is_there
    if not is_there:
        assert "No item fits" in page.text


def test_a_trace_id_finds_its_item(maria, item):
    trace_id = sample_runs.bypassed_extraction("run", at()).trace_id
    assert f'href="/items/{item}' in maria.get(f"/?q={trace_id}").text


@pytest.mark.parametrize("sort", ["priority", "due", "oldest", "newest"])
def test_a_long_list_has_pages_that_hold_each_item_once(maria, queue, sort):
    letters = "abcdefghijkl"
    names = [a + b for a in letters for b in letters][:120]
    queue.add_all([(judged(name, agent=name), None) for name in names])
    seen: list[str] = []
    url = f"/?state=open&sort={sort}"
    while url:
        page = maria.get(url).text
        seen += re.findall(r'data-href="/items/(\d+)', page)
        following = re.search(r'<a rel="next" href="([^"]+)"', page)
        url = following.group(1).replace("&amp;", "&") if following else ""
    assert len(seen) == 120
    assert len(set(seen)) == 120


def test_a_mark_of_another_list_begins_the_list_anew(maria, item):
    answer = maria.get("/?state=open&after=zzz")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/?state=open"


def test_an_item_shows_ledger_answer_timeline_tools_and_messages(maria, item):
    page = maria.get(f"/items/{item}").text
    seen = text_of(page)
    assert "The account breaks between offered and requested" in seen
    assert 'class="t-off broken"' in page
    assert "The output current shall not exceed" in seen
    assert "4 missing dispatches" in seen
    assert "search_text 1 of 1 0 0" in seen
    assert "What is the maximum output current of the DPS310" in seen
    assert "detector opened it" in seen


def test_a_model_call_has_a_page_with_its_whole_request(maria, item):
    page = maria.get(f"/items/{item}/call?n=1")
    assert "You extract values from a datasheet" in page.text
    assert maria.get(f"/items/{item}/call?n=2").status_code == 404
    assert maria.get(f"/items/{item}/call?n=x").status_code == 404


def test_the_spans_of_a_trace_can_be_taken_along(maria, item):
    answer = maria.get(f"/items/{item}/spans")
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert len(answer.json()["resourceSpans"][0]["scopeSpans"][0]["spans"]) == 2


def test_links_lead_out_to_where_traces_are_kept(browser, item):
    maria = browser(links={"Jaeger": "http://jaeger.example/trace/{trace_id}"})
    trace_id = sample_runs.bypassed_extraction("run", at()).trace_id
    assert f'href="http://jaeger.example/trace/{trace_id}"' in maria.get(f"/items/{item}").text


def test_an_item_whose_trace_is_gone_says_so(maria, queue):
    (opened,) = queue.add(judged(1)).opened
    assert "The trace is not kept here" in maria.get(f"/items/{opened}").text


def test_the_ledger_is_shown_when_the_spans_are_gone(maria, queue):
    (opened,) = put(queue, sample_runs.unexecuted_call("run", at()))
    queue.prune("ann", content_before=at() + timedelta(days=1))
    page = maria.get(f"/items/{opened}").text
    assert "The trace is not kept here" in page
    assert "refund_order" in page
    assert "(the account breaks here)" in page


def test_a_run_without_content_says_so(maria, queue):
    (opened,) = put(queue, sample_runs.unexecuted_call("run", at()), content="off")
    page = maria.get(f"/items/{opened}").text
    assert "refund_order" in page
    assert "49.9" not in page


def test_what_is_not_there_is_told_as_such(maria):
    for path in ("/items/99", "/rules/no_such_rule", "/agents/of?agent=x", "/nowhere"):
        page = maria.get(path)
        assert page.status_code == 404, path
        assert "Not found" in page.text
    assert maria.get("/items/99", headers={"accept": "application/json"}).json()["error"]


def test_every_rule_has_a_page_with_its_four_answers(maria):
    for rule in (*RULES, *CLAUSE_RULES.values()):
        page = maria.get(f"/rules/{rule.id}")
        assert page.status_code == 200
        for head in ("Claims", "Needs", "Not assessed when", "Can be wrong"):
            assert f"<dt>{head}</dt>" in page.text


def test_a_rule_shows_its_rate_its_precision_and_the_caveat(maria, queue, item):
    queue.verdict(item, verdict="confirmed", by="maria")
    page = maria.get("/rules/output_constraint_bypass").text
    assert "1 of 1 runs" in text_of(page)
    assert "21 % to 100 %" in text_of(page)
    assert "no random sample" in page
    assert f'href="/items/{item}"' in page
    assert "output_constraint_bypass" in maria.get("/rules").text


def test_an_agent_shows_its_runs_and_what_its_steps_do_to_answers(maria, queue):
    assert "No run yet" in maria.get("/agents").text
    for n in range(3):
        put(queue, sample_runs.lost_result(n, at()))
    put(queue, sample_runs.healthy_extraction("good", at()))
    assert "datasheet-extractor" in maria.get("/agents").text
    page = text_of(maria.get("/agents/of?agent=datasheet-extractor&service=extraction").text)
    assert "flagged 3 75 %" in page
    assert "check the unit unit_test@1 3 3 of 3 (100 %)" in page
    assert "none at risk" in page


def test_stats_give_precision_with_its_n_and_interval(maria, queue, item):
    assert "No verdict yet" in maria.get("/stats").text
    queue.verdict(item, verdict="false_positive", by="maria")
    page = text_of(maria.get("/stats").text)
    assert "output_constraint_bypass 1 0 1 1 0 % 0 % to 79 %" in page


def test_audit_mode_hides_what_rules_found_until_it_is_judged(maria, queue):
    assert "No run waits for you" in maria.get("/audit").text
    queue.set_sampling(Sampling(flagged=1.0, unflagged=1.0, second=1.0))
    put(queue, sample_runs.unexecuted_call("run", at()))
    page = maria.get("/audit")
    assert "Is this account sound?" in page.text
    for word in ("call_not_executed", "never executed", "broken", "missing dispatch", "absent"):
        assert word not in page.text
    assert "delivered" in page.text
    assert "cited" not in page.text
    done = maria.send("/audit", "/audit/1", word="unsound", reason="nothing ran")
    assert done.status_code == 303
    told = maria.get(done.headers["location"]).text
    assert "You said: not sound" in told
    assert "call_not_executed" in told
    assert "audited runs 1" in text_of(maria.get("/stats").text)


def test_undeliverable_messages_have_a_page(maria):
    assert "Nothing is undeliverable" in maria.get("/deliveries").text


def test_the_theme_is_kept_without_a_script(maria):
    answer = maria.post("/theme", {"theme": "dark", "back": "/stats"})
    assert answer.headers["location"] == "/stats"
    assert 'data-theme="dark"' in maria.get("/").text
    elsewhere = maria.post("/theme", {"theme": "dark", "back": "//evil.example/"})
    assert elsewhere.headers["location"] == "/"


def test_hostile_text_stays_text(maria, queue):
    (opened,) = put(queue, sample_runs.hostile_run("bad", at(), n_chars=10_000_000))
    plain = maria.get("/help").text.count("<script")
    started = time.monotonic()
    for path in ("/", f"/items/{opened}", f"/items/{opened}/call?n=1", "/agents", "/audit"):
        page = maria.get(path)
        assert page.status_code == 200
        assert page.text.count("<script") == plain, path
        assert "<img src=x" not in page.text
        assert "<svg onload" not in page.text
        assert "49" not in re.findall(r"\{\{ ?(\S+) ?\}\}", page.text)
        assert not set("\u202e\u202c\u2066\u2069\u200b\x1b\x00") & set(page.text), path
        assert len(page.text) < 600_000
    assert time.monotonic() - started < 20
