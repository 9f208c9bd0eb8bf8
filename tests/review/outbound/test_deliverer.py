"""Webhooks against real receivers: what fails, hangs, asks to wait, or is gone."""

from __future__ import annotations

import asyncio
import ssl
import time
from datetime import UTC, datetime, timedelta

import pytest
import standardwebhooks
from pydantic import SecretStr
from tests.review.outbound.receivers import OTHER_SECRET, SECRET, filled_queue, receiving

from spanwitness.errors import SettingsError
from spanwitness.review.outbound.deliverer import Deliverer, Destination, destinations_of
from spanwitness.review.outbound.messages import TOPICS, topics_of
from spanwitness.review.outbound.retry import RetryPolicy
from spanwitness.review.outbound.settings import OutboundSettings, WebhookSettings
from spanwitness.review.outbound.webhook import Webhook

HANGS = 30.0
"""Seconds until a receiver that hangs would answer; no test waits for it."""
POLICY = RetryPolicy(max_attempts=4, first_pause_s=60, factor=2)


class Clock:
    """The clock of queue and deliverer, moved by hand."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Case:
    """A queue, a deliverer and a clock."""

    def __init__(self, tmp_path, receiver, *, n_items=1, **more) -> None:
        self.clock = Clock()
        self.queue = filled_queue(tmp_path, n_items, now=self.clock)
        self.settings = webhook_settings(receiver.url, **more)
        self.deliverer = self.new_deliverer()

    def new_deliverer(self):
        destination = Destination(Webhook(self.settings), topics_of(self.settings.topics))
        return Deliverer(self.queue, [destination], policy=POLICY, now=self.clock)

    def run(self, *, after_s: float = 0.0):
        self.clock.move(after_s)
        return asyncio.run(self.deliverer.run_once())

    @property
    def dead(self):
        return self.queue.outbox.undeliverable()


def webhook_settings(url, **more):
    values = {"name": "pager", "url": url, "secrets": (SECRET,), "timeout_s": 8.0}
    allowed = {"allow_private": True, "allow_http": True}
    return WebhookSettings.model_validate({**values, **allowed, **more})


@pytest.fixture
def case(tmp_path):
    made = []

    def make(receiver, **more):
        made.append(Case(tmp_path, receiver, **more))
        return made[-1]

    yield make
    for each in made:
        each.queue.close()


def test_a_message_arrives_once_and_its_signature_is_right(case):
    with receiving() as receiver:
        it = case(receiver)
        assert it.run().delivered == 1
        assert it.run(after_s=1e6).total == 0
    (got,) = receiver.got
    said = standardwebhooks.Webhook(SECRET).verify(got.body, got.headers)
    assert said["type"] == "item.opened"
    assert said["data"]["rule"] == "truncated_output"
    assert got.headers["content-type"] == "application/json"


def test_a_message_says_ids_names_and_counts_and_no_content(case):
    with receiving() as receiver:
        case(receiver).run()
    data = receiver.got[0].json["data"]
    assert set(data) == {
        "id", "fingerprint", "rule", "rule_version", "severity", "fault", "state", "count",
        "service", "agent", "verdict", "trace_ids", "at",
    }  # fmt: skip
    assert b"The value is" not in receiver.got[0].body


def test_content_is_sent_where_it_was_asked_for(case):
    with receiving() as receiver:
        case(receiver, content=True).run()
    data = receiver.got[0].json["data"]
    assert data["reason"]
    assert data["findings"][0]["evidence"]


def test_each_of_several_secrets_verifies_the_message(case):
    with receiving() as receiver:
        case(receiver, secrets=(SECRET, OTHER_SECRET)).run()
    got = receiver.got[0]
    for secret in (SECRET, OTHER_SECRET):
        assert standardwebhooks.Webhook(secret).verify(got.body, got.headers)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook("whsec_" + "A" * 32).verify(got.body, got.headers)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(SECRET).verify(got.body + b" ", got.headers)


@pytest.mark.parametrize("failure", [500, 502, 503, 408, 425, HANGS])
def test_a_receiver_that_fails_or_hangs_gets_the_same_message_again_later(failure, case):
    with receiving(failure, failure, 204) as receiver:
        it = case(receiver, timeout_s=2.0 if failure == HANGS else 8.0)
        started = time.monotonic()
        assert it.run().retried == 1
        assert time.monotonic() - started < HANGS / 2
        assert it.run(after_s=20).total == 0  # the first pause is 30 to 90 s
        assert it.run(after_s=80).retried == 1
        assert it.run(after_s=200).delivered == 1
        assert it.run(after_s=1e6).total == 0
    ids = {got.headers["webhook-id"] for got in receiver.got}
    bodies = {got.body for got in receiver.got}
    assert (len(receiver.got), len(ids), len(bodies)) == (3, 1, 1)
    for got in receiver.got:
        assert standardwebhooks.Webhook(SECRET).verify(got.body, got.headers)


def test_a_receiver_that_asks_for_time_gets_it(case):
    with receiving((429, {"retry-after": "1800"}), 204) as receiver:
        it = case(receiver)
        assert it.run().retried == 1
        assert it.run(after_s=1799).total == 0
        assert it.run(after_s=61).delivered == 1
    assert len(receiver.got) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 301, 307])
def test_a_refusal_is_final(status, case):
    with receiving((status, {"location": "http://127.0.0.1:1/elsewhere"})) as receiver:
        it = case(receiver)
        assert it.run().dead == 1
        assert it.run(after_s=1e6).total == 0
    (dead,) = it.dead
    assert (dead.destination, dead.last_status, dead.attempts) == ("pager", status, 1)
    assert len(receiver.got) == 1


def test_a_message_that_never_gets_through_is_dead_after_its_last_attempt_and_can_be_sent_again(
    case,
):
    with receiving(500, 500, 500, 500) as receiver:
        it = case(receiver)
        for _ in range(POLICY.max_attempts):
            it.run(after_s=1e4)
        (dead,) = it.dead
        assert (dead.attempts, dead.last_status, dead.last_error) == (4, 500, "HTTP 500")
        assert it.run(after_s=1e6).total == 0
        it.queue.outbox.redeliver(dead.id)
        assert it.run().delivered == 1
        assert it.dead == ()
    assert len({got.headers["webhook-id"] for got in receiver.got}) == 1


def test_a_receiver_that_is_gone_is_called_no_more_until_its_message_is_sent_again(case):
    with receiving(204, 410) as receiver:
        it = case(receiver, n_items=5)
        tally = it.run()
        assert (tally.delivered, tally.dead) == (1, 1)
        assert it.deliverer.disabled == {"pager"}
        assert it.run(after_s=1e6).total == 0
        # A new process knows it too.
        it.deliverer = it.new_deliverer()
        assert it.run(after_s=10).total == 0
        assert len(receiver.got) == 2

        (dead,) = it.dead
        it.queue.outbox.redeliver(dead.id)
        it.deliverer = it.new_deliverer()
        assert it.run(after_s=10).delivered == 4
    assert len({got.headers["webhook-id"] for got in receiver.got}) == 5


def test_a_receiver_that_is_down_is_tried_again(case):
    with receiving() as receiver:
        pass
    it = case(receiver)
    assert it.run().retried == 1
    assert it.queue.outbox.take("pager") == ()


def test_items_below_the_wanted_severity_are_passed_over(case):
    with receiving() as receiver:
        it = case(receiver, min_severity="critical")
        assert it.run().passed_over == 1
    assert receiver.got == []


def test_only_the_wanted_topics_are_told(case):
    with receiving() as receiver:
        it = case(receiver, topics=("item.res*",))
        assert it.run().total == 0
        it.queue.verdict(1, verdict="confirmed", by="ada")
        assert it.run().delivered == 1
    assert receiver.got[0].json["type"] == "item.resolved"
    assert receiver.got[0].json["data"]["verdict"] == "confirmed"


def test_a_topic_that_does_not_exist_is_refused():
    assert topics_of(["item.*"]) == TOPICS
    with pytest.raises(SettingsError, match=r"item\.nope"):
        topics_of(["item.nope"])


def test_a_slow_receiver_does_not_hold_up_another(tmp_path, case):
    with receiving(HANGS) as slow, receiving() as quick:
        it = case(slow, timeout_s=2.0)
        other = webhook_settings(quick.url, name="quick")
        it.deliverer = Deliverer(
            it.queue,
            [Destination(Webhook(each), TOPICS) for each in (it.settings, other)],
            policy=POLICY,
            now=it.clock,
        )
        tally = it.run()
    assert (tally.delivered, tally.retried) == (1, 1)
    assert quick.got[0].at - slow.got[0].at < 1.5


def test_a_name_that_moves_to_a_private_address_after_set_up_is_not_called(tmp_path, case):
    with receiving() as receiver:
        it = case(receiver)
        settings = webhook_settings(
            f"https://hooks.example.com:{receiver.port}/", allow_private=False
        )

        async def rebound(host, port):
            return ["127.0.0.1"]

        hook = Webhook(settings, look_up=rebound)
        it.deliverer = Deliverer(it.queue, [Destination(hook, TOPICS)], policy=POLICY, now=it.clock)
        assert it.run().retried == 1
    assert receiver.got == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for hooks.example.com, signed by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hooks.example.com")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("hooks.example.com")]), False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return folder


@pytest.mark.parametrize(
    ("host", "delivered"), [("hooks.example.com", 1), ("other.example.com", 0)]
)
def test_the_certificate_must_be_for_the_name_and_not_for_the_address(
    host, delivered, case, certificate
):
    tls = {
        "ssl_certfile": str(certificate / "cert.pem"),
        "ssl_keyfile": str(certificate / "key.pem"),
    }
    with receiving(**tls) as receiver:
        it = case(receiver)

        async def look_up(name, port):
            return ["127.0.0.1"]

        settings = webhook_settings(f"https://{host}:{receiver.port}/x", allow_http=False)
        trust = ssl.create_default_context(cafile=certificate / "cert.pem")
        hook = Webhook(settings, look_up=look_up, verify=trust)
        it.deliverer = Deliverer(it.queue, [Destination(hook, TOPICS)], policy=POLICY, now=it.clock)
        assert it.run().delivered == delivered
    assert [got.headers["host"] for got in receiver.got] == [f"{host}:{receiver.port}"] * delivered


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"secrets": ("whsec_c2hvcnQ=",)}, "24 bytes"),
        ({"secrets": ("whsec_***",)}, "24 bytes"),
        ({"allow_http": False}, "https"),
        ({"url": "https://127.0.0.1/x", "allow_private": False}, "not public"),
        ({"headers": {"Webhook-Id": "x"}}, "ours to set"),
        ({"headers": {"x-key": "ü\u2028"}}, "ASCII"),
    ],
)
def test_a_webhook_that_cannot_work_is_refused_at_set_up(more, told):
    settings = webhook_settings(**{"url": "http://127.0.0.1:1/x", **more})
    with pytest.raises(SettingsError, match=told) as error:
        Webhook(settings)
    assert "c2hvcnQ" not in str(error.value)


def test_a_file_makes_all_destinations():
    settings = OutboundSettings.model_validate(
        {
            "webhooks": [{"name": "a", "url": "https://example.com/", "secrets": [SECRET]}],
            "feedback": [{"kind": "phoenix", "name": "b", "url": "http://localhost:6006"}],
        }
    )
    assert [each.name for each in destinations_of(settings)] == ["a", "b"]
    assert isinstance(settings.webhooks[0].secrets[0], SecretStr)


async def test_a_deliverer_runs_until_it_is_told_to_stop(tmp_path):
    with receiving() as receiver:
        queue = filled_queue(tmp_path)
        hook = Webhook(webhook_settings(receiver.url))
        deliverer = Deliverer(queue, [Destination(hook, TOPICS)])
        stop = asyncio.Event()
        task = asyncio.create_task(deliverer.run(stop, every_s=0.05))
        async with asyncio.timeout(10):
            while deliverer.totals.delivered < 1:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(queue.verdict, 1, verdict="confirmed", by="ada")
            while deliverer.totals.delivered < 2:
                await asyncio.sleep(0.01)
            stop.set()
            await task
        queue.close()
