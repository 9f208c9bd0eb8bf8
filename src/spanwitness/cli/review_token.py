"""`spanwitness review token`: who may use the page and the API from elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from spanwitness.cli.review_options import QueueUrl, RoleWord

if TYPE_CHECKING:
    from spanwitness.review.web.tokens import Tokens

token = typer.Typer(
    name="token",
    help="API tokens of a queue: make, list, revoke.",
    no_args_is_help=True,
    add_completion=False,
)


def _open(queue: str | None) -> Tokens:
    from spanwitness.review.web.tokens import Tokens
    from spanwitness.settings import read

    return Tokens.open(queue or read().queue)


@token.command("create")
def create(
    name: Annotated[str, typer.Argument(help="Who it stands for.")],
    *,
    role: Annotated[RoleWord, typer.Option(help="What they may do.")] = RoleWord.reviewer,
    content: Annotated[
        bool, typer.Option(help="Whether they see prompts, results and answers.")
    ] = False,
    queue: QueueUrl = None,
) -> None:
    """Make a token and print it, this once."""
    tokens = _open(queue)
    try:
        made = tokens.create(name, role.value, may_see_content=content)
    finally:
        tokens.close()
    print(made.text)


@token.command("list")
def list_tokens(*, queue: QueueUrl = None) -> None:
    """List the tokens that are valid, without their secrets."""
    from spanwitness.cli.terminal import visible

    tokens = _open(queue)
    try:
        for each in tokens.all():
            seen = "content" if each.may_see_content else "no content"
            print(f"{each.id}  {each.role:<8}  {seen:<10}  {visible(each.name)}")
    finally:
        tokens.close()


@token.command("revoke")
def revoke(
    token_id: Annotated[str, typer.Argument(metavar="ID", help="As `list` shows it.")],
    *,
    queue: QueueUrl = None,
) -> None:
    """Let a token be valid no more; its sessions end at once."""
    tokens = _open(queue)
    try:
        tokens.revoke(token_id)
    finally:
        tokens.close()
