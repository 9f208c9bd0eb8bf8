"""`review token` and `review serve`: who may use the page."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from spanwitness.cli.review_serve import read_link, serve_page
from spanwitness.cli.review_token import token
from spanwitness.errors import ReviewError, SettingsError
from spanwitness.review.web.identity import by_token
from spanwitness.review.web.tokens import Tokens

run = CliRunner().invoke


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/queue.db"


def page(*arguments):
    app = typer.Typer()
    app.command()(serve_page)
    return run(app, [*arguments])


def test_a_token_is_made_listed_and_revoked(url):
    made = run(token, ["create", "jonas", "--role", "reviewer", "--content", "--queue", url])
    text = made.output.strip()
    tokens = Tokens.open(url)
    who = by_token(text, tokens)
    assert (who.name, who.role, who.may_see_content) == ("jonas", "reviewer", True)

    listed = run(token, ["list", "--queue", url]).output
    assert "jonas" in listed
    assert text.rpartition("_")[2] not in listed
    token_id = text.split("_")[1]
    assert run(token, ["revoke", token_id, "--queue", url]).exit_code == 0
    assert tokens.find_token(token_id) is None
    assert isinstance(run(token, ["revoke", token_id, "--queue", url]).exception, ReviewError)
    tokens.close()


def test_a_token_shows_no_content_unless_told(url):
    text = run(token, ["create", "vera", "--role", "viewer", "--queue", url]).output.strip()
    tokens = Tokens.open(url)
    assert not by_token(text, tokens).may_see_content
    tokens.close()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--host", "0.0.0.0"), "open to the network"),
        (("--access", "proxy"), "proxy"),
        (("--link", "Jaeger"), "NAME=URL"),
        (("--link", "x=javascript:{trace_id}"), "http"),
        (("--host", "192.0.2.1", "--access", "tokens"), "cannot listen"),
    ],
)
def test_the_page_does_not_start_where_it_would_be_open_or_broken(url, arguments, told):
    error = page("--queue", url, *arguments).exception
    assert isinstance(error, SettingsError)
    assert told in str(error)


def test_a_link_names_what_it_shows():
    assert read_link("Grafana = https://g/{trace_id}") == ("Grafana", "https://g/{trace_id}")
