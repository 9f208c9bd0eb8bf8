"""A scripted model provider on the loopback interface that real SDKs can talk to."""

from __future__ import annotations

import gzip
import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

from spanwitness.testing.forms import AnthropicMessages, Form, Gemini, OpenAiChat, Turn
from spanwitness.testing.responses_form import OpenAiResponses
from spanwitness.testing.script import Reply, Script, Scripted, SeenRequest, as_reply, error

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType
    from typing import Self

_FORMS: tuple[tuple[str, Form], ...] = (
    ("/chat/completions", OpenAiChat()),
    ("/responses", OpenAiResponses()),
    ("/messages", AnthropicMessages()),
    (":generateContent", Gemini()),
    (":streamGenerateContent", Gemini()),
)


class ScriptedProvider:
    """A loopback HTTP server that answers model requests from a script.

    It speaks OpenAI chat completions and Responses, Anthropic Messages and Gemini generateContent,
    as one JSON body or as server-sent events, whichever the request asks for. A request beyond the
    end of the script gets status 400, which no SDK retries.

    Example:
        ```python
        with ScriptedProvider([call("read_page", {"page": 3}), text("3.6 V")]) as provider:
            client = openai.OpenAI(base_url=provider.openai_url, api_key="scripted")
        ```

    Args:
        script: Turns in order (a part, a list of parts, or a `Reply`), or a function from the
            request to a turn. The function may be called from several threads at once.
        models: Names that the listing of models gives.
    """

    def __init__(self, script: Script, /, *, models: Iterable[str] = ("scripted",)) -> None:
        self.models = tuple(models)
        self.requests: list[SeenRequest] = []
        """Model requests in order of arrival; listings of models are not among them."""
        self._answer = script if callable(script) else None
        self._turns: Iterator[Scripted] = iter(() if callable(script) else script)
        self._lock = threading.Lock()
        self._n_replies = 0
        self._server = _Server(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.02},
            name="scripted-provider",
            daemon=True,
        )

    @property
    def base_url(self) -> str:
        """`http://127.0.0.1:<port>`, without a slash at its end."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def openai_url(self) -> str:
        """For `openai.OpenAI(base_url=...)`."""
        return f"{self.base_url}/v1"

    @property
    def anthropic_url(self) -> str:
        """For `anthropic.Anthropic(base_url=...)`."""
        return self.base_url

    @property
    def gemini_url(self) -> str:
        """For `google.genai.Client(http_options={"base_url": ...})`."""
        return self.base_url

    def start(self) -> Self:
        """Start serving; `with` does it too."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop serving and break open connections."""
        self._server.shutdown()
        self._server.server_close()
        self._server.break_connections()
        self._thread.join(timeout=5)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _next(self, request: SeenRequest) -> tuple[Reply, int]:
        with self._lock:
            self.requests.append(request)
            self._n_replies += 1
            number = self._n_replies
            scripted = None if self._answer is not None else next(self._turns, None)
        if self._answer is not None:
            scripted = self._answer(request)
        if scripted is None:
            message = f"the script has no reply for request {number}"
            return error(400, message, kind="invalid_request_error"), number
        return as_reply(scripted), number


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, provider: ScriptedProvider) -> None:
        self.provider = provider
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: object, client_address: object) -> None:
        if isinstance(request, socket.socket):
            with self._open_lock:
                self._open.add(request)
        super().process_request(request, client_address)  # type: ignore[arg-type]

    def shutdown_request(self, request: object) -> None:
        if isinstance(request, socket.socket):
            with self._open_lock:
                self._open.discard(request)
        super().shutdown_request(request)  # type: ignore[arg-type]

    def break_connections(self) -> None:
        with self._open_lock:
            still_open = list(self._open)
        for connection in still_open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is normal life here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    timeout = 60

    @property
    def _provider(self) -> ScriptedProvider:
        return cast("_Server", self.server).provider

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Stay silent."""

    def do_GET(self) -> None:
        if urlsplit(self.path).path.endswith("/models"):
            self._send(200, {"content-type": "application/json"}, self._models())
        else:
            self._send(404, {}, b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            body = self._read_chunks()
        url = urlsplit(self.path)
        form = next((form for end, form in _FORMS if url.path.endswith(end)), None)
        if form is None:
            self._send(404, {}, json.dumps({"error": {"message": f"no {url.path} here"}}).encode())
            return
        request = SeenRequest(
            method="POST",
            path=url.path,
            query=url.query,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body,
        )
        reply, number = self._provider._next(request)  # noqa: SLF001
        self._answer(form, Turn(reply=reply, request=request, number=number, body=request.json))

    def _answer(self, form: Form, turn: Turn) -> None:
        reply = turn.reply
        if reply.status < 400 and form.is_streaming(turn):
            self._send_stream(turn, self._events(form, turn))
            return
        body = reply.body if reply.body is not None else json.dumps(form.whole(turn)).encode()
        time.sleep(reply.delay_s)
        headers = {"content-type": "application/json", "x-request-id": f"req_{turn.number}"}
        if reply.gzip:
            body = gzip.compress(body)
            headers["content-encoding"] = "gzip"
        if reply.dies_after is not None:
            self._send(reply.status, headers | dict(reply.headers), body, cut_to=len(body) // 2)
        else:
            self._send(reply.status, headers | dict(reply.headers), body)

    def _events(self, form: Form, turn: Turn) -> Iterator[bytes]:
        body = turn.reply.body
        events = form.events(turn) if body is None else iter(_split_events(body))
        for place, event in enumerate(events):
            if place == turn.reply.dies_after:
                return
            yield event

    def _send_stream(self, turn: Turn, events: Iterator[bytes]) -> None:
        reply = turn.reply
        headers = {"content-type": "text/event-stream", "transfer-encoding": "chunked"}
        headers["x-request-id"] = f"req_{turn.number}"
        if reply.gzip:
            headers["content-encoding"] = "gzip"
        self._send_head(reply.status, headers | dict(reply.headers))
        chunks: Iterable[bytes] = events
        if reply.gzip:
            chunks = [gzip.compress(b"".join(events))]
        if reply.chunk_bytes is not None:
            chunks = _resplit(b"".join(chunks), reply.chunk_bytes)
        for chunk in chunks:
            time.sleep(reply.delay_s)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            self.wfile.flush()
        if reply.dies_after is not None:
            self._break()
            return
        self.wfile.write(b"0\r\n\r\n")

    def _send(
        self, status: int, headers: dict[str, str], body: bytes, cut_to: int | None = None
    ) -> None:
        self._send_head(status, headers | {"content-length": str(len(body))})
        self.wfile.write(body[:cut_to])
        if cut_to is not None:
            self._break()

    def _send_head(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()

    def _break(self) -> None:
        """Close at once, with a reset where data is unread, as a dying peer does."""
        self.close_connection = True
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 1))

    def _read_chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _models(self) -> bytes:
        names = self._provider.models
        if "x-goog-api-key" in self.headers:
            listed = [{"name": f"models/{name}", "version": "1"} for name in names]
            # The SDK asks for one kind of models and reads the key of the kind that it asked for.
            kind = "tunedModels" if "tunedModels" in self.path else "models"
            return json.dumps({kind: listed}).encode()
        if "anthropic-version" in self.headers:
            data = [
                {"type": "model", "id": n, "display_name": n, "created_at": "2025-11-29T00:00:00Z"}
                for n in names
            ]
            ends = {"first_id": names[0], "last_id": names[-1]} if names else {}
            return json.dumps({"data": data, "has_more": False} | ends).encode()
        models = [{"id": n, "object": "model", "created": 0, "owned_by": "scripted"} for n in names]
        return json.dumps({"object": "list", "data": models}).encode()


def _split_events(body: bytes) -> list[bytes]:
    blank = b"\r\n\r\n" if b"\r\n\r\n" in body else b"\n\n"
    return [event + blank for event in body.split(blank) if event]


def _resplit(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]
