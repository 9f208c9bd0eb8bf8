"""`spanwitness review deliver`, as cron would call it."""

from __future__ import annotations

import json

import pytest
from tests.review.outbound.receivers import SECRET, filled_queue, receiving
from typer.testing import CliRunner

from spanwitness.cli.app import app
from spanwitness.errors import SettingsError


@pytest.fixture
def command(tmp_path):
    filled_queue(tmp_path, 2).close()

    def run(*options):
        where = ["--queue", f"sqlite:///{tmp_path}/queue.db"]
        return CliRunner().invoke(app, ["review", "deliver", *where, *options])

    def to(url):
        path = tmp_path / "outbound.yaml"
        hook = {
            "name": "pager", "url": url, "secrets": [SECRET],
            "allow_private": True, "allow_http": True,
        }  # fmt: skip
        path.write_text(json.dumps({"webhooks": [hook], "retry": {"max_attempts": 1}}))
        path.chmod(0o600)
        return ["--outbound", str(path)]

    run.to = to
    return run


def test_what_is_due_is_delivered_and_what_was_given_up_can_be_listed_and_sent_again(command):
    with receiving(204, 500, 204) as receiver:
        first = command(*command.to(receiver.url))
        assert first.exit_code == 1
        assert first.stdout.startswith("1 delivered, 0 to be tried again, 1 given up")

        (dead,) = json.loads(command("--undeliverable", "--format", "json").stdout)
        assert (dead["destination"], dead["last_status"]) == ("pager", 500)
        assert f"{dead['id']}\tpager\t" in command("--undeliverable").stdout

        again = command("--redeliver", str(dead["id"]), *command.to(receiver.url))
        assert again.exit_code == 0
        assert again.stdout.startswith("1 delivered")
        assert "nothing was given up" in command("--undeliverable").stdout
    assert len(receiver.got) == 3


def test_a_disabled_destination_is_named(command):
    with receiving(410) as receiver:
        done = command(*command.to(receiver.url), "--format", "json")
        assert json.loads(done.stdout)["disabled"] == ["pager"]
        assert "pager: disabled" in command(*command.to(receiver.url)).stdout
    assert len(receiver.got) == 1


def test_without_a_file_of_destinations_it_says_what_it_needs(command):
    assert isinstance(command().exception, SettingsError)
