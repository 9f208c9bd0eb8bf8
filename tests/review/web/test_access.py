"""Who comes in, who may do what, and that every refusal is written down."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from tests.review import sample_runs
from tests.review.sample_queue import put

from spanwitness.errors import ReviewError, SettingsError
from spanwitness.review.web.app import create_app
from spanwitness.review.web.settings import TrustedHeaders, WebSettings
from spanwitness.review.web.tokens import Tokens

ORIGIN = {"origin": "http://127.0.0.1:8000"}
PROXY = TrustedHeaders(
    proxies=("10.0.0.0/24",), role="X-Role", content="X-Content", default_role="viewer"
)


@pytest.fixture
def item(queue):
    (opened,) = put(queue, sample_runs.lost_result("run", datetime.now(UTC) - timedelta(hours=1)))
    return opened


@pytest.fixture
def tokens(queue_url, queue):
    opened = Tokens.open(queue_url)
    yield opened
    opened.close()


def refusals(queue):
    return [e for e in queue.events() if e.action == "refused"]


def untouched(queue, item):
    return queue.item(item).item.state == "open"


# --- where it may be opened at all


def test_an_address_that_others_reach_needs_to_know_who_they_are(queue):
    for host in ("0.0.0.0", "::", "192.168.1.4", "example.org"):
        with pytest.raises(SettingsError, match="open to the network"):
            create_app(queue, WebSettings(host=host))
    for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.3.2.1"):
        create_app(queue, WebSettings(host=host))


def test_half_a_set_up_is_refused(queue):
    with pytest.raises(SettingsError, match="tokens"):
        create_app(queue, WebSettings(mode="tokens"))
    with pytest.raises(SettingsError, match="proxy"):
        create_app(queue, WebSettings(mode="proxy"))
    with pytest.raises(SettingsError, match="none is given"):
        create_app(queue, WebSettings(mode="proxy", trusted=TrustedHeaders(proxies=())))
    with pytest.raises(SettingsError, match="no address"):
        create_app(queue, WebSettings(mode="proxy", trusted=TrustedHeaders(proxies=("nginx",))))
    with pytest.raises(SettingsError, match="http"):
        create_app(queue, WebSettings(links={"x": "javascript:alert(1)//{trace_id}"}))


# --- headers that keep a trace from doing anything


def test_every_answer_carries_the_strict_headers(maria, item):
    for path in ("/", f"/items/{item}", "/nowhere", "/static/page.js", "/login"):
        headers = maria.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy, path
        for word in ("unsafe", "data:", "http:", "https:", "*"):
            assert word not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
    assert maria.get(f"/items/{item}").headers["cache-control"] == "no-store"


def test_no_page_holds_a_script_a_style_or_a_load_from_elsewhere(maria, item):
    import re

    for path in ("/", f"/items/{item}", "/rules", "/stats", "/audit", "/help", "/agents"):
        text = maria.get(path).text
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=", text), path
        for target in re.findall(r'(?:src|<link[^>]*href)="([^"]+)"', text):
            assert target.startswith("/static/"), target


def test_the_cookie_is_kept_from_scripts_and_other_sites(browser):
    cookie = browser().get("/").headers["set-cookie"].lower()
    for word in ("httponly", "samesite=strict", "path=/"):
        assert word in cookie
    cookie = browser(is_https=True).get("/").headers["set-cookie"]
    assert cookie.startswith("__Host-sw_session=")
    assert "Secure" in cookie


# --- this machine only


def test_another_machine_is_refused_in_local_mode(browser, queue):
    answer = browser(client="192.0.2.9").get("/")
    assert answer.status_code == 403
    assert refusals(queue)[-1].data["client"] == "192.0.2.9"


def test_a_proxy_before_local_mode_is_refused(browser, queue):
    answer = browser(headers={"X-Forwarded-For": "192.0.2.9"}).get("/")
    assert answer.status_code == 403
    assert "proxy" in refusals(queue)[-1].note


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8000", ""]
)
def test_a_foreign_name_for_this_address_is_refused(maria, queue, host):
    answer = maria.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert refusals(queue)[-1].note.startswith("the page is not served under the name")


def test_a_name_can_be_allowed(browser):
    app = browser(allowed_hosts=("review.example",))
    assert app.get("/", headers={"host": "review.example"}).status_code == 200


# --- forms: forged, replayed, from elsewhere


def test_a_form_without_its_token_is_refused(maria, queue, item):
    fields = maria.fields(f"/items/{item}", f"/items/{item}/verdict")
    for token in ("", "forged", fields["csrf_token"][:-2] + "xx"):
        sent = {**fields, "csrf_token": token, "verdict": "confirmed"}
        answer = maria.post(f"/items/{item}/verdict", sent)
        assert answer.status_code == 403
    assert untouched(queue, item)
    told = refusals(queue)
    assert len(told) == 3
    assert told[0].actor == "maria"
    assert told[0].data["path"] == f"/items/{item}/verdict"


def test_the_form_of_another_session_is_refused(browser, queue, item):
    app = browser().client.app
    from tests.review.web.conftest import Browser

    one, other = Browser(app), Browser(app)
    one.get("/")
    fields = other.fields(f"/items/{item}", f"/items/{item}/verdict")
    answer = one.post(f"/items/{item}/verdict", {**fields, "verdict": "confirmed"})
    assert answer.status_code == 403
    assert "another session" in refusals(queue)[-1].note
    assert untouched(queue, item)


def test_an_old_form_is_refused(queue, item, browser):
    import time

    maria = browser(session_s=1)
    fields = maria.fields(f"/items/{item}", f"/items/{item}/verdict")
    time.sleep(2.1)
    answer = maria.post(f"/items/{item}/verdict", {**fields, "verdict": "confirmed"})
    assert answer.status_code == 403
    assert untouched(queue, item)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
    ],
)
def test_a_form_from_another_site_is_refused_even_with_a_right_token(maria, queue, item, headers):
    fields = maria.fields(f"/items/{item}", f"/items/{item}/verdict")
    sent = {**fields, "verdict": "confirmed"}
    answer = maria.post(f"/items/{item}/verdict", sent, headers=headers)
    assert answer.status_code == 403
    assert "another site" in refusals(queue)[-1].note
    assert untouched(queue, item)


def test_fetch_metadata_speaks_where_there_is_no_origin(maria, queue, item):
    fields = maria.fields(f"/items/{item}", f"/items/{item}/verdict")
    answer = maria.client.post(
        f"/items/{item}/verdict",
        data={**fields, "verdict": "confirmed"},
        headers={"sec-fetch-site": "cross-site"},
    )
    assert answer.status_code == 403
    assert untouched(queue, item)


def test_a_replayed_form_is_refused(maria, queue, item):
    fields = {**maria.fields(f"/items/{item}", f"/items/{item}/note"), "note": "once"}
    assert maria.post(f"/items/{item}/note", fields).status_code == 303
    answer = maria.post(f"/items/{item}/note", fields)
    assert answer.status_code == 409
    assert [e.note for e in queue.item(item).events if e.action == "note"] == ["once"]
    assert refusals(queue)[-1].note == "this form was sent before"


def test_an_act_by_get_does_nothing(maria, queue, item):
    for act in ("verdict", "claim", "undo", "snooze"):
        assert maria.get(f"/items/{item}/{act}?verdict=confirmed").status_code in (404, 405)
    assert untouched(queue, item)


def test_a_body_without_end_is_refused(maria, queue):
    answer = maria.client.post("/next", data={"list": "x" * 300_000}, headers=ORIGIN)
    assert answer.status_code == 413
    streamed = maria.client.post(
        "/next", content=iter([b"list=" + b"x" * 200_000, b"y" * 200_000]),
        headers={**ORIGIN, "content-type": "application/x-www-form-urlencoded"},
    )  # fmt: skip
    assert streamed.status_code == 413


def test_whoever_knocks_a_thousand_times_does_not_fill_the_trail(maria, queue):
    for _ in range(100):
        maria.get("/", headers={"host": "evil.example"})
    assert len(refusals(queue)) == 60


# --- tokens


def test_a_token_is_shown_once_and_kept_as_a_digest(tokens, queue_url):
    made = tokens.create("jonas", "reviewer", may_see_content=True)
    from pathlib import Path

    files = Path(queue_url.removeprefix("sqlite:///")).parent.glob("queue.db*")
    secret = made.text.rpartition("_")[2]
    assert not any(secret.encode() in path.read_bytes() for path in files)
    assert [(t.name, t.role) for t in tokens.all()] == [("jonas", "reviewer")]


def test_a_token_needs_a_name_and_a_known_role(tokens):
    with pytest.raises(ReviewError, match="name"):
        tokens.create("  ", "viewer", may_see_content=False)
    with pytest.raises(ReviewError, match="role"):
        tokens.create("x", "root", may_see_content=False)
    with pytest.raises(ReviewError, match="no token"):
        tokens.revoke("nothing")


def test_without_a_token_nobody_comes_in(browser, tokens, queue, item):
    stranger = browser(mode="tokens", tokens=tokens)
    answer = stranger.get(f"/items/{item}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert stranger.get("/", headers={"accept": "application/json"}).status_code == 401
    for text in ("swt_x_y", "Bearer", "", "swt__", "x" * 100):
        answer = stranger.get(
            "/", headers={"authorization": f"Bearer {text}", "accept": "application/json"}
        )
        assert answer.status_code == 401
    assert stranger.post(f"/items/{item}/verdict", {"verdict": "confirmed"}).status_code == 401
    assert untouched(queue, item)
    assert len(refusals(queue)) >= 7


def test_a_person_signs_in_works_and_signs_out(browser, tokens, queue, item):
    made = tokens.create("jonas", "reviewer", may_see_content=True)
    jonas = browser(mode="tokens", tokens=tokens)
    wrong = jonas.send("/login", "/login", token=made.text + "x")
    assert wrong.status_code == 401
    assert "not valid" in wrong.text
    assert jonas.send("/login", "/login", token=made.text).headers["location"] == "/"
    assert jonas.get("/").status_code == 200
    jonas.send(f"/items/{item}", f"/items/{item}/verdict", verdict="confirmed")
    assert queue.item(item).item.verdict_by == "jonas"
    jonas.send("/", "/logout")
    assert jonas.get("/").headers["location"] == "/login"
    trail = [(e.actor, e.action) for e in queue.events()]
    assert ("jonas", "signed_in") in trail
    assert ("jonas", "signed_out") in trail


def test_signing_in_changes_the_session(browser, tokens):
    made = tokens.create("jonas", "viewer", may_see_content=False)
    jonas = browser(mode="tokens", tokens=tokens)
    jonas.get("/login")
    before = jonas.client.cookies["sw_session"]
    jonas.send("/login", "/login", token=made.text)
    assert jonas.client.cookies["sw_session"] != before
    assert made.text not in jonas.client.cookies["sw_session"]


def test_a_revoked_token_ends_its_sessions(browser, tokens):
    made = tokens.create("jonas", "admin", may_see_content=True)
    jonas = browser(mode="tokens", tokens=tokens)
    jonas.send("/login", "/login", token=made.text)
    assert jonas.get("/").status_code == 200
    tokens.revoke(made.stored.id)
    assert jonas.get("/").headers["location"] == "/login"


def test_a_program_acts_by_its_header_without_a_form_token(browser, tokens, queue, item):
    made = tokens.create("nightly", "reviewer", may_see_content=False)
    program = browser(mode="tokens", tokens=tokens)
    headers = {"authorization": f"Bearer {made.text}"}
    answer = program.client.post(
        f"/items/{item}/verdict", data={"verdict": "expected"}, headers=headers
    )
    assert answer.status_code == 303
    assert queue.item(item).item.verdict_by == "nightly"


def test_a_viewer_looks_and_does_not_touch(browser, tokens, queue, item):
    made = tokens.create("vera", "viewer", may_see_content=True)
    vera = browser(mode="tokens", tokens=tokens, headers={"authorization": f"Bearer {made.text}"})
    page = vera.get(f"/items/{item}")
    assert page.status_code == 200
    assert "You may look, not judge" in page.text
    acts = [f"/items/{item}/{a}" for a in ("claim", "verdict", "undo", "snooze", "note", "reopen")]
    for path in (*acts, "/next", "/bulk", "/audit/1", "/deliveries/1/redeliver"):
        answer = vera.post(path, {"verdict": "confirmed", "note": "x", "hours": "4"})
        assert answer.status_code == 403, path
    assert untouched(queue, item)
    assert {e.actor for e in refusals(queue)} == {"vera"}


def test_only_an_admin_sends_messages_again(browser, tokens, queue):
    made = tokens.create("rita", "reviewer", may_see_content=True)
    rita = browser(mode="tokens", tokens=tokens, headers={"authorization": f"Bearer {made.text}"})
    assert rita.post("/deliveries/1/redeliver", {}).status_code == 403
    assert refusals(queue)[-1].note == "this needs the role admin"


def test_content_is_shown_to_those_only_who_may_see_it(browser, tokens, item):
    made = tokens.create("rita", "reviewer", may_see_content=False)
    rita = browser(mode="tokens", tokens=tokens, headers={"authorization": f"Bearer {made.text}"})
    for path in (f"/items/{item}", f"/items/{item}/call?n=1", "/audit"):
        page = rita.get(path).text
        for secret in ("3.6 V", "do not guess", "Absolute maximum"):
            assert secret not in page, path
    assert "read_page" in rita.get(f"/items/{item}").text
    assert rita.get(f"/items/{item}/spans").status_code == 403


# --- behind an authenticating proxy


def test_the_proxy_says_who_it_is(browser, queue, item):
    who = {"X-Forwarded-User": "jonas@example.org", "X-Role": "reviewer", "X-Content": "yes"}
    jonas = browser(mode="proxy", trusted=PROXY, client="10.0.0.7", headers=who)
    assert "3.6 V" in jonas.get(f"/items/{item}").text
    jonas.send(f"/items/{item}", f"/items/{item}/verdict", verdict="confirmed")
    assert queue.item(item).item.verdict_by == "jonas@example.org"


def test_headers_from_anywhere_else_are_not_believed(browser, queue):
    who = {"X-Forwarded-User": "jonas", "X-Role": "admin"}
    stranger = browser(mode="proxy", trusted=PROXY, client="10.0.1.7", headers=who)
    assert stranger.get("/").status_code == 403
    assert (
        browser(mode="proxy", trusted=PROXY, client="127.0.0.1", headers=who).get("/").status_code
        == 403
    )
    assert len(refusals(queue)) == 2


def test_a_proxy_that_names_nobody_or_an_odd_role_is_refused(browser):
    assert browser(mode="proxy", trusted=PROXY, client="10.0.0.7").get("/").status_code == 401
    odd = {"X-Forwarded-User": "x", "X-Role": "root"}
    assert (
        browser(mode="proxy", trusted=PROXY, client="10.0.0.7", headers=odd).get("/").status_code
        == 403
    )


def test_behind_a_proxy_the_least_rights_are_the_default(browser, item):
    vera = browser(
        mode="proxy", trusted=PROXY, client="10.0.0.7", headers={"X-Forwarded-User": "vera"}
    )
    page = vera.get(f"/items/{item}").text
    assert "You may look, not judge" in page
    assert "3.6 V" not in page


def test_a_form_of_one_person_is_no_form_of_another(browser, queue, item):
    who = {"X-Forwarded-User": "jonas", "X-Role": "reviewer"}
    one = browser(mode="proxy", trusted=PROXY, client="10.0.0.7", headers=who)
    fields = one.fields(f"/items/{item}", f"/items/{item}/verdict")
    one.client.headers["X-Forwarded-User"] = "mallory"
    answer = one.post(f"/items/{item}/verdict", {**fields, "verdict": "confirmed"})
    assert answer.status_code == 403
    assert untouched(queue, item)


# --- our own faults


class _Broken:
    address = "sqlite:///broken"

    def record(self, *_: object, **__: object) -> None:
        raise ReviewError("the database does not answer")

    def items(self, *_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    def item(self, _: int) -> None:
        raise ReviewError("the database does not answer")


def test_a_fault_of_ours_is_a_page_without_details_and_with_the_strict_headers(caplog):
    from starlette.testclient import TestClient

    app = create_app(_Broken(), WebSettings())
    client = TestClient(
        app, base_url="http://127.0.0.1", client=("127.0.0.1", 1), raise_server_exceptions=False
    )
    page = client.get("/", headers={"accept": "text/html"})
    assert page.status_code == 500
    assert "Something broke" in page.text
    assert "secret detail" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    told = client.get("/items/1", headers={"accept": "application/json"})
    assert (told.status_code, told.json()) == (400, {"error": "the database does not answer"})
    refused = client.get("/", headers={"host": "evil.example"})
    assert refused.status_code == 421
    assert "audit_failed" in caplog.text
