"""Spans to a collector over HTTP: `http/protobuf` and `http/json`."""

from __future__ import annotations

import codecs
import gzip
import ssl
import time
import zlib
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

import httpx
import msgspec

from spanwitness.errors import SettingsError
from spanwitness.export.otlp_json import encode_json
from spanwitness.export.otlp_proto import accepted, encode_proto, read_proto_reply
from spanwitness.export.parcel import Outcome
from spanwitness.guard import guard

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan

    from spanwitness.export.destination import ExportSettings
    from spanwitness.export.parcel import Parcel

__all__ = ["HttpSender"]

_RETRYABLE: Final = frozenset({429, 502, 503, 504})
_MAX_REPLY_BYTES: Final = 64 * 1024
_OWN_HEADERS: Final = frozenset({"content-type", "content-encoding", "content-length"})


class HttpSender:
    """Posts OTLP requests with httpx.

    Proxies come from the standard proxy variables, which httpx reads. Redirects are not followed:
    an endpoint that moved is told, and credentials stay where they were meant to go.

    Args:
        settings: `endpoint` must be given; `protocol` is one of the two for HTTP.

    Raises:
        SettingsError: There is no endpoint, or a certificate cannot be read.
    """

    def __init__(self, settings: ExportSettings) -> None:
        if settings.endpoint is None:
            raise SettingsError("an HTTP sender needs an endpoint")
        self._settings = settings
        self._url = settings.endpoint
        self._is_json = settings.protocol == "http/json"
        self._verify = _verification(settings)
        self._headers = self._request_headers()
        # Made here and not at the first request: a process that ends at once exports at exit, when
        # importing what a client needs can fail. And a fork in the middle of an import by the
        # worker leaves the module locked for ever in the child: resolving a host imports this
        # codec.
        codecs.lookup("idna")
        self._client: httpx.Client | None = self._new_client()
        self._inherited: list[httpx.Client] = []

    def encode(self, spans: Sequence[ReadableSpan]) -> bytes:
        """Encode spans as one request (before compression: receivers limit that size)."""
        return encode_json(spans) if self._is_json else encode_proto(spans)

    def send(self, parcel: Parcel, timeout_s: float) -> Outcome:
        """Post one request; see `Sender.send`."""
        if self._client is None:
            self._client = self._new_client()
        deadline = time.monotonic() + timeout_s
        try:
            with self._client.stream(
                "POST",
                self._url,
                content=self._compressed(parcel.body),
                headers=self._headers,
                timeout=timeout_s,
            ) as response:
                body = _read(response, deadline)
        except httpx.TransportError as error:
            return Outcome(word="retry", detail=type(error).__name__)
        return self._outcome(response, body)

    def close(self) -> None:
        """Close the connections; a later `send` opens new ones."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def after_fork(self) -> None:
        """Leave the parent's connections alone; the next request opens our own."""
        if self._client is not None:
            # Kept, so that nothing closes a TLS connection that the parent still uses.
            self._inherited.append(self._client)
            self._client = None

    def _new_client(self) -> httpx.Client:
        return httpx.Client(verify=self._verify, follow_redirects=False)

    def _request_headers(self) -> dict[str, str]:
        headers = {"user-agent": "spanwitness-otlp-exporter"}
        headers.update(
            {k: v for k, v in self._settings.headers.items() if k.lower() not in _OWN_HEADERS}
        )
        headers["content-type"] = "application/json" if self._is_json else "application/x-protobuf"
        if self._settings.compression != "none":
            headers["content-encoding"] = self._settings.compression
        try:
            return dict(httpx.Headers(headers).items())
        except (TypeError, UnicodeError):
            raise SettingsError(
                "a header for the collector holds characters outside ASCII"
            ) from None

    def _compressed(self, body: bytes) -> bytes:
        if self._settings.compression == "gzip":
            return gzip.compress(body, compresslevel=5)
        if self._settings.compression == "deflate":
            return zlib.compress(body, level=5)
        return body

    def _outcome(self, response: httpx.Response, body: bytes) -> Outcome:
        status = response.status_code
        if 200 <= status < 300:
            return self._read_reply(response, body)
        detail = f"HTTP {status}"
        if status == 413:
            return Outcome(word="too_large", detail=detail)
        if status in _RETRYABLE:
            return Outcome(word="retry", detail=detail, retry_after_s=_retry_after(response))
        return Outcome(word="failed", detail=detail)

    def _read_reply(self, response: httpx.Response, body: bytes) -> Outcome:
        if not body:
            return Outcome(word="delivered")
        outcome = Outcome(word="delivered", detail="unreadable reply")
        with guard("export.reply"):
            if "json" in response.headers.get("content-type", ""):
                outcome = _read_json_reply(body)
            else:
                outcome = read_proto_reply(body)
        return outcome


def _verification(settings: ExportSettings) -> ssl.SSLContext | bool:
    if settings.certificate is None and settings.client_certificate is None:
        return True
    try:
        context = ssl.create_default_context(
            cafile=None if settings.certificate is None else str(settings.certificate)
        )
        if settings.client_certificate is not None:
            context.load_cert_chain(settings.client_certificate, settings.client_key)
    except OSError as error:
        raise SettingsError(
            f"a certificate for the collector cannot be read: {settings.certificate!s}, "
            f"{settings.client_certificate!s}: {error.strerror or type(error).__name__}"
        ) from None
    return context


def _read(response: httpx.Response, deadline: float) -> bytes:
    """Read the reply up to a size and a time: httpx's timeout is for each read, not for all."""
    body = b""
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > _MAX_REPLY_BYTES or time.monotonic() > deadline:
            break
    return body


class _PartialSuccess(msgspec.Struct, rename="camel"):
    rejected_spans: int | str = 0
    error_message: str = ""


class _Reply(msgspec.Struct, rename="camel"):
    partial_success: _PartialSuccess = msgspec.field(default_factory=_PartialSuccess)


def _read_json_reply(body: bytes) -> Outcome:
    partial = msgspec.json.decode(body, type=_Reply).partial_success
    return accepted(int(partial.rejected_spans), partial.error_message)


def _retry_after(response: httpx.Response) -> float | None:
    text = response.headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    now = parsedate_to_datetime(response.headers["date"]) if "date" in response.headers else None
    try:
        return None if now is None else max(0.0, (when - now).total_seconds())
    except TypeError:
        return None
