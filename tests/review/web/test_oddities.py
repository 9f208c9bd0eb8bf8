"""Addresses, headers and databases that are not as they should be: an answer, never a fault."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from tests.review import sample_runs
from tests.review.sample_queue import put

from spanwitness.review.web.settings import is_origin_of
from spanwitness.review.web.tokens import Tokens

HUGE = str(10**22)


@pytest.fixture
def item(queue):
    (opened,) = put(queue, sample_runs.lost_result("run", datetime.now(UTC) - timedelta(hours=1)))
    return opened


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/?done=snoozed&of=²&v=³", 200),
        ("/?done=snoozed&of=٣", 200),
        ("/items/1?start=²", 200),
        ("/items/1/call?n=²", 404),
        ("/audit?start=²", 200),
        (f"/items/{HUGE}", 404),
        (f"/items/{2**63}", 404),
        (f"/items/{HUGE}/call", 404),
        (f"/items/{HUGE}/spans", 404),
    ],
)
def test_a_number_that_is_none_or_too_large_is_no_fault(maria, item, path, status):
    assert maria.get(path).status_code == status


@pytest.mark.parametrize(
    ("path", "values"),
    [
        (f"/items/{HUGE}/claim", {}),
        (f"/items/{HUGE}/verdict", {"verdict": "confirmed"}),
        (f"/deliveries/{HUGE}/redeliver", {}),
        (f"/audit/{HUGE}", {"word": "sound"}),
    ],
)
def test_an_act_on_what_cannot_be_there_is_not_found(maria, item, path, values):
    fields = maria.fields(f"/items/{item}", f"/items/{item}/note")
    sent = {"csrf_token": fields["csrf_token"], **values}
    assert maria.post(path, sent).status_code == 404


@pytest.mark.parametrize(
    "origin",
    ["http://[", "null", "", "127.0.0.1:8000", "//127.0.0.1:8000", "file://127.0.0.1:8000"],
)
def test_an_origin_that_cannot_be_read_is_another_site(maria, queue, item, origin):
    fields = maria.fields(f"/items/{item}", f"/items/{item}/claim")
    answer = maria.post(f"/items/{item}/claim", fields, headers={"origin": origin})
    assert answer.status_code == 403
    assert queue.item(item).item.state == "open"
    assert queue.events()[-1].action == "refused"


def test_an_origin_is_compared_whole():
    assert is_origin_of("https://Review.example", "review.example")
    assert not is_origin_of("https://review.example.evil.org", "review.example")
    assert not is_origin_of("https://evil.org/review.example", "review.example")
    assert not is_origin_of("https://me@review.example", "review.example")


def test_a_cookie_that_was_copied_is_worth_nothing_after_signing_out(browser, queue_url, queue):
    tokens = Tokens.open(queue_url)
    made = tokens.create("jonas", "reviewer", may_see_content=True)
    jonas = browser(mode="tokens", tokens=tokens)
    jonas.send("/login", "/login", token=made.text)
    copied = jonas.client.cookies["sw_session"]
    assert jonas.get("/").status_code == 200
    jonas.send("/", "/logout")
    jonas.client.cookies.set("sw_session", copied)
    assert jonas.get("/").headers["location"] == "/login"
    tokens.close()


def test_a_queue_that_does_not_answer_is_told_without_its_address(browser, queue, queue_url):
    tokens = Tokens.open(queue_url)
    made = tokens.create("jonas", "admin", may_see_content=True)
    jonas = browser(mode="tokens", tokens=tokens)
    jonas.send("/login", "/login", token=made.text)
    with queue._database.write() as connection:
        connection.execute(sa.text("ALTER TABLE items RENAME TO elsewhere"))
    behind = jonas.get("/")
    with queue._database.write() as connection:
        connection.execute(sa.text("ALTER TABLE settings RENAME TO gone"))
    at_the_gate = jonas.get("/rules")
    for answer in (behind, at_the_gate):
        assert answer.status_code == 503
        assert "does not answer" in answer.text
        assert "queue.db" not in answer.text
        assert "content-security-policy" in answer.headers
    tokens.close()
