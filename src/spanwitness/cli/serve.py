"""`spanwitness serve`: receive spans, judge them, and show what to look at, on one port."""

from __future__ import annotations

import signal
import socket
import sys
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path  # noqa: TC003  typer evaluates the annotations
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from spanwitness.cli.review_options import (
    Access,
    AccessWord,
    AllowHost,
    ContentHeader,
    Host,
    Https,
    Link,
    LocalName,
    Proxy,
    ProxyContent,
    ProxyRole,
    QueueUrl,
    RoleHeader,
    RoleWord,
    UserHeader,
    login,
    read_trusted,
)
from spanwitness.cli.review_serve import read_link
from spanwitness.errors import MissingExtraError, SettingsError

if TYPE_CHECKING:
    from spanwitness.export.destination import ExportSettings
    from spanwitness.serve.assembly import Plan, Server
    from spanwitness.settings import Settings


class _Content(StrEnum):
    on = "on"
    off = "off"


def serve(  # noqa: PLR0913  one option each
    *,
    queue: QueueUrl = None,
    contract: Annotated[
        list[Path] | None, typer.Option(help="A contract file (YAML); may be repeated.")
    ] = None,
    suppressions: Annotated[
        Path | None, typer.Option(help="Findings that do not count (YAML).")
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(help="Known findings (`check --write-baseline`): they do not count."),
    ] = None,
    host: Host = "127.0.0.1",
    port: Annotated[int, typer.Option(help="HTTP port; 0 = a free one.")] = 4318,
    grpc_port: Annotated[int, typer.Option(help="gRPC port; 0 = a free one.")] = 4317,
    grpc: Annotated[bool, typer.Option(help="Also listen for OTLP over gRPC.")] = True,
    forward: Annotated[
        str | None,
        typer.Option(help="OTLP/HTTP endpoint that gets the spans too, and verdict spans."),
    ] = None,
    page: Annotated[bool, typer.Option(help="Show the review page.")] = True,
    outbound: Annotated[
        Path | None, typer.Option(help="File of webhooks and backends that get verdicts.")
    ] = None,
    by: LocalName = None,
    access: Access = AccessWord.local,
    proxy: Proxy = None,
    user_header: UserHeader = "X-Forwarded-User",
    role_header: RoleHeader = None,
    content_header: ContentHeader = None,
    proxy_role: ProxyRole = RoleWord.viewer,
    proxy_content: ProxyContent = False,
    allow_host: AllowHost = None,
    link: Link = None,
    https: Https = False,
    content: Annotated[
        _Content | None, typer.Option(help="Whether the queue keeps content; default: as set.")
    ] = None,
    grace: Annotated[
        float, typer.Option(help="Seconds of quiet after a root has ended.", min=0.05)
    ] = 10.0,
    max_age: Annotated[
        float, typer.Option(help="Seconds after which a trace is judged as it is.", min=1)
    ] = 1800.0,
    max_memory: Annotated[int, typer.Option(help="MiB that held spans may take.", min=1)] = 512,
    spool: Annotated[
        Path | None, typer.Option(help="Folder for what is not judged yet; default: state folder.")
    ] = None,
    spooled: Annotated[
        bool,
        typer.Option(
            "--spooled/--no-spool", help="Write requests to disk before they are answered."
        ),
    ] = True,
) -> None:
    """Receive OTLP spans, judge their runs, and file what is found in the review queue.

    Point any OTLP exporter or collector at it. A stop (SIGTERM, Ctrl-C) judges what is held first.
    """
    for package in ("sqlalchemy", "starlette", "uvicorn", "prometheus_client", "standardwebhooks"):
        if find_spec(package) is None:
            raise MissingExtraError(package, extra="review")
    from spanwitness.capture.policy import ContentPolicy
    from spanwitness.findings.accepted import Accepted
    from spanwitness.live.contracts import load_all
    from spanwitness.review.outbound.settings import read_outbound
    from spanwitness.review.web.settings import WebSettings
    from spanwitness.serve.assembly import Plan
    from spanwitness.serve.holder import HoldLimits
    from spanwitness.serve.service import ServeSettings
    from spanwitness.settings import read

    settings = read()
    mode = content.value if content is not None else settings.content or "on"
    plan = Plan(
        queue=queue or settings.queue,
        serve=ServeSettings(
            limits=HoldLimits(grace_s=grace, max_age_s=max_age, max_bytes=max_memory * 1024 * 1024),
            spool=(spool or settings.state_dir / "spool") if spooled else None,
            forward=None if forward is None else _forward(settings, forward, port),
            host=host,
            grpc_port=grpc_port if grpc else None,
        ),
        web=WebSettings(
            host=host,
            mode=access.value,
            trusted=read_trusted(
                proxy,
                user=user_header,
                role=role_header,
                content=content_header,
                default_role=proxy_role,
                default_content=proxy_content,
            ),
            allowed_hosts=tuple(allow_host or ()),
            links=dict(map(read_link, link or ())),
            local_name=by or login(),
            is_https=https,
        ),
        contracts=load_all(list(contract or ())),
        accepted=Accepted(suppressions=suppressions, baseline=baseline, looks_around=False),
        outbound=None if outbound is None else read_outbound(outbound),
        with_page=page,
        policy=ContentPolicy(mode="on" if mode == "on" else "off"),
    )
    listening = _bind(host, port)
    try:
        _run(plan, listening)
    finally:
        listening.close()


def _run(plan: Plan, listening: socket.socket) -> None:
    import uvicorn

    from spanwitness.serve.assembly import assemble

    server = assemble(plan)
    try:
        config = uvicorn.Config(
            server.app,
            lifespan="on",
            log_level="warning",
            access_log=False,
            server_header=False,
            # Who is asking is read from headers by the access mode alone.
            proxy_headers=False,
            timeout_graceful_shutdown=10,
        )
        web = uvicorn.Server(config)

        def stop(*_: object) -> None:
            web.should_exit = True

        # uvicorn stops on these signals and then raises them again for whoever was there before:
        # by default that would end the process before the queue is closed.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        _announce(server, plan, listening)
        web.run(sockets=[listening])
    finally:
        server.close()


def _announce(server: Server, plan: Plan, listening: socket.socket) -> None:
    address = _shown(plan.serve.host, listening.getsockname()[1])
    lines = [f"OTLP/HTTP   http://{address}/v1/traces"]
    if server.service.grpc is not None:
        lines.append(f"OTLP/gRPC   {_shown(plan.serve.host, server.service.grpc.port)}")
    if plan.with_page:
        lines.append(f"review      http://{address}/")
    lines += [
        f"API         http://{address}/api/openapi.json",
        f"metrics     http://{address}/metrics",
        f"queue       {server.queue.address}",
    ]
    print("\n".join(lines), file=sys.stderr, flush=True)


def _shown(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise SettingsError(
            f"cannot listen on {_shown(host, port)}: {error.strerror or error}; "
            "is the port taken? Give another --port"
        ) from None


def _forward(settings: Settings, endpoint: str, port: int) -> ExportSettings:
    """Return where to forward to; headers, certificates and times come from the environment."""
    from spanwitness.live.exporting import read_export_settings
    from spanwitness.review.web.settings import is_loopback

    found = read_export_settings(
        settings, endpoint=endpoint, protocol="http/protobuf", headers=None, directory=None
    )
    parts = urlsplit(found.endpoint or "")
    if parts.port == port and is_loopback(parts.hostname or ""):
        raise SettingsError(
            f"--forward {endpoint!r} leads back to this server: spans would go round"
        )
    return found
