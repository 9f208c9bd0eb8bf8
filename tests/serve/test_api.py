"""The HTTP API over a real server: filing, working on items, roles, keys, foreign sites."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import pytest
import sqlalchemy as sa
from jsonschema import Draft202012Validator
from tests.serve.servers import serving
from tests.serve.spans import trace_id

from spanwitness.capture.policy import ContentPolicy
from spanwitness.review.store.queue import Queue
from spanwitness.review.web.settings import TrustedHeaders, WebSettings
from spanwitness.review.web.tokens import Tokens
from spanwitness.serve.assembly import Plan, assemble
from spanwitness.serve.holder import HoldLimits
from spanwitness.serve.service import ServeSettings

ROOT = "00000000000000a1"


def filing(**more):
    finding = {
        "rule": "shop.stale_price",
        "severity": "error",
        "fault": "tool",
        "reason": "The answer states a price that is older than the catalogue.",
        "span_ids": [ROOT],
        "tool": "get_price",
        "evidence": {"age_days": 3},
    }
    return {
        "trace_id": trace_id(),
        "root_span_id": ROOT,
        "service": "shop",
        "agent": "clerk",
        "findings": [finding | more.pop("finding", {})],
        **more,
    }


class Api:
    def __init__(self, url, server, stack, token=None) -> None:
        self.url = url
        self.server = server
        self.stack = stack
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self.client = stack.enter_context(httpx.Client(base_url=url, headers=headers, timeout=10))

    def post(self, path, body=None, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.client.post(f"/api/v1/{path}", json=body or {}, headers=named)

    def get(self, path, **query):
        return self.client.get(f"/api/v1/{path}", params=query)

    def as_token(self, name, role, *, content=False):
        tokens = Tokens.open(self.server.queue_url)
        made = tokens.create(name, role, may_see_content=content)
        tokens.close()
        return Api(self.url, self.server, self.stack, made.text)


@pytest.fixture(scope="module")
def empty_queue(tmp_path_factory):
    """The tables, made once."""
    path = tmp_path_factory.mktemp("empty") / "queue.db"
    Queue.open(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def serve(tmp_path, empty_queue):
    with ExitStack() as stack:

        def start(**web):
            if not (tmp_path / "queue.db").exists():
                shutil.copy(empty_queue, tmp_path / "queue.db")
            url = f"sqlite:///{tmp_path}/queue.db"
            plan = Plan(
                queue=url,
                serve=ServeSettings(limits=HoldLimits(grace_s=0.05)),
                web=WebSettings(**web),
                policy=ContentPolicy(),
            )
            server = assemble(plan)
            stack.callback(server.close)
            server.queue_url = url
            running = stack.enter_context(serving(server.app))
            return Api(running.url, server, stack)

        yield start


@pytest.fixture
def api(serve):
    return serve()


def test_a_filed_finding_is_an_item_and_filing_it_again_changes_nothing(api):
    body = filing()
    first = api.post("findings", body)
    assert first.status_code == 200, first.text
    assert first.json() == {
        "is_new_run": True, "n_findings": 1, "opened": [1], "reopened": [], "raised": [],
    }  # fmt: skip
    again = api.post("findings", body).json()
    assert (again["n_findings"], again["opened"]) == (0, [])
    assert api.post("findings", filing()).json()["raised"] == [1]
    (item,) = api.get("items").json()["rows"]
    assert (item["rule"], item["count"], item["agent"]) == ("shop.stale_price", 2, "clerk")
    assert item["subject"] == "get_price"
    detail = api.get("items/1").json()
    assert detail["findings"][0]["evidence"]["age_days"] == 3


def test_findings_about_different_tools_are_different_items(api):
    api.post("findings", filing())
    api.post("findings", filing(finding={"tool": "get_stock"}))
    assert len(api.get("items").json()["rows"]) == 2


def test_a_clean_run_is_counted_and_makes_no_item(api):
    reply = api.post("findings", filing(findings=[]))
    assert reply.json()["is_new_run"] is True
    assert api.get("items").json() == {"rows": [], "after": None}


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"trace_id": "0" * 32}, "trace_id"),
        ({"trace_id": "XYZ"}, "trace_id"),
        ({"root_span_id": None}, "root_span_id"),
        ({"surprise": 1}, "surprise"),
        ({"finding": {"rule": "Not A Rule"}}, "findings.0.rule"),
        ({"finding": {"severity": "bad"}}, "findings.0.severity"),
        ({"finding": {"reason": ""}}, "findings.0.reason"),
        ({"finding": {"reason": "secret" * 1000}}, "findings.0.reason"),
    ],
)
def test_a_filing_that_is_not_valid_is_refused_with_the_place_and_without_its_values(
    api, body, place
):
    reply = api.post("findings", filing(**body))
    assert reply.status_code == 422
    assert reply.json()["problems"][0].startswith(f"{place}: ")
    assert "secret" not in reply.text


@pytest.mark.parametrize("raw", [b"{", b"[]", b'"x"', b"\xff", b"null"])
def test_what_is_no_document_is_refused(api, raw):
    reply = httpx.post(
        f"{api.url}/api/v1/findings", content=raw, headers={"content-type": "application/json"}
    )
    assert reply.status_code == 422


def test_a_body_that_is_too_large_is_refused(api):
    reply = api.post("findings", filing(item_id="x" * 1_100_000))
    assert reply.status_code == 413


def test_an_item_is_worked_on_from_claim_to_verdict(api):
    api.post("findings", filing())
    claimed = api.post("items/claim", {"lease_s": 60}).json()
    assert (claimed["state"], claimed["owner"]) == ("claimed", "local")
    assert api.post("items/claim").status_code == 204
    assert api.post("items/1/renew", {"lease_s": 120}).status_code == 200
    assert api.post("items/1/release").json()["state"] == "open"
    assert api.post("items/1/claim").json()["state"] == "claimed"
    assert api.post("items/1/note", {"text": "looks old"}).status_code == 204
    done = api.post("items/1/verdict", {"verdict": "confirmed", "reason": "yes"}).json()
    assert (done["state"], done["verdict"], done["verdict_by"]) == (
        "resolved", "confirmed", "local",
    )  # fmt: skip
    assert api.post("items/1/undo").json()["verdict"] is None
    actions = [each["action"] for each in api.get("items/1").json()["events"]]
    assert actions == [
        "opened", "claimed", "renewed", "released", "claimed", "note", "verdict", "undone",
    ]  # fmt: skip


def test_an_item_rests_and_is_opened_again(api):
    api.post("findings", filing())
    until = "2099-01-01T00:00:00+01:00"
    assert api.post("items/1/snooze", {"until": until}).json()["state"] == "snoozed"
    assert api.get("items", state="open").json()["rows"] == []
    assert len(api.get("items", state=["open", "snoozed"]).json()["rows"]) == 1
    assert api.post("items/1/reopen", {"reason": "now"}).json()["state"] == "open"
    assert api.post("items/1/snooze", {"until": "2099-01-01T00:00:00"}).status_code == 400


def test_who_saw_an_older_version_is_told_and_sees_the_item_as_it_is(api):
    api.post("findings", filing())
    version = api.get("items/1").json()["item"]["version"]
    api.post("items/1/verdict", {"verdict": "confirmed", "version": version})
    late = api.post("items/1/verdict", {"verdict": "false_positive", "version": version})
    assert late.status_code == 409
    assert late.json()["current"]["verdict"] == "confirmed"


@pytest.mark.parametrize(
    ("method", "path"), [("get", "items/7"), ("post", "items/7/claim"), ("post", "items/7/note")]
)
def test_an_item_that_is_not_there_is_not_found(api, method, path):
    body = {"text": "x"} if path.endswith("note") else {}
    reply = api.get(path) if method == "get" else api.post(path, body)
    assert reply.status_code == 404
    assert "7" in reply.json()["error"]


@pytest.mark.parametrize("number", [2**63, 10**30])
def test_a_number_that_no_item_can_have_is_not_found(api, number):
    assert api.get(f"items/{number}").status_code == 404
    assert api.post(f"items/{number}/claim").status_code == 404


def test_stats_count_verdicts(api):
    api.post("findings", filing())
    api.post("items/1/verdict", {"verdict": "confirmed"})
    stats = api.get("stats").json()
    assert stats["counts"]["resolved"] == 1
    (rule,) = stats["rules"]
    assert (rule["rule"], rule["confirmed"], rule["n"], rule["precision"]) == (
        "shop.stale_price", 1, 1, 1.0,
    )  # fmt: skip


def test_long_lists_come_in_parts(api):
    for number in range(5):
        api.post("findings", filing(agent=f"clerk {'abcde'[number]}"))
    first = api.get("items", limit=3).json()
    rest = api.get("items", limit=3, after=first["after"]).json()
    assert [len(first["rows"]), len(rest["rows"]), rest["after"]] == [3, 2, None]
    assert api.get("items", after="nonsense").status_code == 400
    assert api.get("items", surprise="x").status_code == 422


# --- idempotency


def test_a_request_with_a_key_is_done_once(api):
    for letter in "ab":
        api.post("findings", filing(agent=f"clerk {letter}"))
    first = api.post("items/claim", Idempotency_Key="one")
    again = api.post("items/claim", Idempotency_Key="one")
    assert first.json() == again.json()
    assert api.get("items", state="claimed").json()["rows"] == [first.json()]
    other = api.post("items/claim", Idempotency_Key="two").json()
    assert other["id"] != first.json()["id"]


def test_a_key_may_not_be_used_for_another_request(api):
    api.post("findings", filing())
    api.post("items/1/verdict", {"verdict": "confirmed"}, Idempotency_Key="k")
    reply = api.post("items/1/verdict", {"verdict": "expected"}, Idempotency_Key="k")
    assert reply.status_code == 422
    assert api.get("items/1").json()["item"]["verdict"] == "confirmed"


def test_two_requests_with_one_key_at_a_time_are_one(api):
    for number in range(8):
        api.post("findings", filing(agent=f"clerk {'abcdefgh'[number]}"))
    with ThreadPoolExecutor(8) as pool:
        replies = list(
            pool.map(lambda _: api.post("items/claim", Idempotency_Key="same"), range(8))
        )
    assert {reply.status_code for reply in replies} <= {200, 409}
    assert len(api.get("items", state="claimed").json()["rows"]) == 1


def test_a_verdict_with_a_key_is_given_once_also_after_a_restart(serve):
    first = serve()
    first.post("findings", filing())
    first.post("items/1/verdict", {"verdict": "confirmed"}, Idempotency_Key="k")
    second = serve()
    assert second.post(
        "items/1/verdict", {"verdict": "confirmed"}, Idempotency_Key="k"
    ).status_code == 200  # fmt: skip
    events = [e["action"] for e in second.get("items/1").json()["events"]]
    assert events.count("verdict") == 1


# --- who may do what


def test_with_tokens_nobody_comes_in_without_one(serve):
    api = serve(mode="tokens")
    for reply in (
        api.get("items"),
        api.post("findings", filing()),
        httpx.post(f"{api.url}/v1/traces", json={}),
        httpx.get(f"{api.url}/metrics"),
    ):
        assert reply.status_code == 401
        assert reply.headers["www-authenticate"] == "Bearer"
    forged = Api(api.url, api.server, api.stack, "swt_abc_def")
    assert forged.get("items").status_code == 401
    noted = [event.note for event in api.server.queue.events() if event.action == "refused"]
    assert "the token is not valid" in noted


def test_roles_are_kept(serve):
    open_to = serve(mode="tokens")
    viewer, reviewer = open_to.as_token("vi", "viewer"), open_to.as_token("re", "reviewer")
    assert reviewer.post("findings", filing()).status_code == 200
    assert viewer.get("items").status_code == 200
    for path, body in (
        ("findings", filing()),
        ("items/claim", {}),
        ("items/1/verdict", {"verdict": "confirmed"}),
    ):
        assert viewer.post(path, body).status_code == 403
    assert reviewer.post("items/1/verdict", {"verdict": "confirmed"}).json()["verdict_by"] == "re"
    refused = [e for e in open_to.server.queue.events() if e.action == "refused"]
    assert {event.actor for event in refused} == {"vi"}


def test_content_is_seen_by_those_only_who_may(serve):
    open_to = serve(mode="tokens")
    open_to.as_token("re", "reviewer").post("findings", filing())
    blind = open_to.as_token("b", "viewer").get("items/1").json()
    seeing = open_to.as_token("s", "viewer", content=True).get("items/1").json()
    assert blind["findings"][0]["evidence"] is None
    assert seeing["findings"][0]["evidence"]["age_days"] == 3


def test_a_revoked_token_is_worth_nothing(serve):
    open_to = serve(mode="tokens")
    viewer = open_to.as_token("vi", "viewer")
    assert viewer.get("items").status_code == 200
    tokens = Tokens.open(open_to.server.queue_url)
    tokens.revoke(tokens.all()[0].id)
    tokens.close()
    assert viewer.get("items").status_code == 401


def test_keys_of_two_callers_do_not_meet(serve):
    open_to = serve(mode="tokens")
    ann, ben = open_to.as_token("ann", "reviewer"), open_to.as_token("ben", "reviewer")
    for letter in "ab":
        ann.post("findings", filing(agent=f"clerk {letter}"))
    first = ann.post("items/claim", Idempotency_Key="k").json()
    second = ben.post("items/claim", Idempotency_Key="k").json()
    assert first["id"] != second["id"]


def test_behind_a_proxy_its_headers_say_who_it_is(serve):
    trusted = TrustedHeaders(proxies=("127.0.0.1",), role="X-Role")
    api = serve(mode="proxy", trusted=trusted)
    assert api.get("items").status_code == 401
    api.client.headers.update({"X-Forwarded-User": "zoe", "X-Role": "reviewer"})
    api.post("findings", filing())
    assert api.post("items/claim").json()["owner"] == "zoe"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"host": "evil.example"},
        {"x-forwarded-for": "10.0.0.1"},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
    ],
)
def test_a_page_elsewhere_cannot_use_the_browser_of_a_reviewer(api, headers):
    for path, body in (("/api/v1/findings", filing()), ("/v1/traces", {})):
        kind = {"content-type": "application/json"}
        reply = httpx.post(
            f"{api.url}{path}", content=json.dumps(body), headers={**kind, **headers}
        )
        assert reply.status_code in (403, 415, 421), path
    assert api.get("items").json()["rows"] == []


def test_a_queue_whose_tokens_cannot_be_read_does_not_answer(serve):
    api = serve(mode="tokens")
    ann = api.as_token("ann", "admin")
    assert ann.get("items").status_code == 200
    with api.server.queue._database.write() as connection:
        connection.execute(sa.text("ALTER TABLE settings RENAME TO gone"))
    answer = ann.get("items")
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "5"
    assert "gone" not in answer.text
    assert "settings" not in answer.text


def test_every_answer_fits_the_document(api):
    document = httpx.get(f"{api.url}/api/openapi.json").json()
    api.post("findings", filing())
    for method, path, body in (
        ("post", "/api/v1/findings", filing()),
        ("get", "/api/v1/items", None),
        ("get", "/api/v1/items/{id}", None),
        ("post", "/api/v1/items/{id}/claim", {}),
        ("post", "/api/v1/items/{id}/verdict", {"verdict": "confirmed"}),
        ("get", "/api/v1/stats", None),
    ):
        told = document["paths"][path][method]["responses"]
        url = f"{api.url}{path.replace('{id}', '1')}"
        reply = httpx.get(url) if method == "get" else httpx.post(url, json=body)
        schema = told[str(reply.status_code)]["content"]["application/json"]["schema"]
        whole = {**schema, "components": document["components"]}
        Draft202012Validator(whole).validate(reply.json())


def test_the_page_and_the_api_show_the_same_item(api):
    api.post("findings", filing())
    page = httpx.get(f"{api.url}/", headers={"accept": "text/html"})
    assert page.status_code == 200
    assert "shop.stale_price" in page.text
