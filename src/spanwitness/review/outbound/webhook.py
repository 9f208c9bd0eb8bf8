"""Messages to others, signed as Standard Webhooks has it."""

from __future__ import annotations

import asyncio
import base64
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import httpx
import standardwebhooks

from spanwitness.errors import SettingsError
from spanwitness.review.outbound.address import AddressRefusedError, check_url, pin, resolve
from spanwitness.review.outbound.retry import Answer, read_retry_after

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from spanwitness.review.outbound.settings import WebhookSettings
    from spanwitness.review.store.values import Delivery

__all__ = ["Webhook", "answer_of", "post"]

_RETRYABLE: Final = frozenset({408, 425, 429})
_OWN_HEADERS: Final = frozenset(
    {
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "content-type",
        "content-length",
        "host",
    }
)
_GONE: Final = 410
_MIN_SECRET_BYTES: Final = 24


class Webhook:
    """One destination of signed messages.

    Args:
        settings: Where to, and by which secrets they are signed: a message carries a signature by
            each, so that a receiver can move from one to the next.
        look_up: Resolves a name.
        verify: What TLS trusts; `None` = the system's certificates.

    Raises:
        SettingsError: The URL, a secret or a header cannot be used.
    """

    def __init__(
        self,
        settings: WebhookSettings,
        *,
        look_up: Callable[[str, int], Awaitable[Sequence[str]]] = resolve,
        verify: ssl.SSLContext | None = None,
    ) -> None:
        self.name = settings.name
        check_url(
            settings.url,
            is_private_allowed=settings.allow_private,
            is_http_allowed=settings.allow_http,
        )
        self.settings = settings
        self.timeout_s = settings.timeout_s
        self._signers = [
            _signer(self.name, secret.get_secret_value()) for secret in settings.secrets
        ]
        self._headers = _own(
            self.name, {key: held.get_secret_value() for key, held in settings.headers.items()}
        )
        self._look_up = look_up
        self._verify = verify

    async def send(self, delivery: Delivery, data: Mapping[str, object]) -> Answer:
        """Try once.

        Args:
            delivery: The message; its id is the same at each attempt.
            data: What it says.
        """
        timeout_s = self.settings.timeout_s
        try:
            # httpx's own timeouts are for each read: an answer that drips would never end.
            async with asyncio.timeout(timeout_s):
                return await self._send(delivery, data)
        except TimeoutError:
            return Answer(word="retry", error=f"no answer within {timeout_s:g} s")
        except AddressRefusedError as error:
            # It is not dead: who runs the name may repair it, and nothing was sent.
            return Answer(word="retry", error=str(error))
        except (httpx.TransportError, OSError) as error:
            return Answer(word="retry", error=type(error).__name__)

    async def _send(self, delivery: Delivery, data: Mapping[str, object]) -> Answer:
        pinned = await pin(
            self.settings.url,
            is_private_allowed=self.settings.allow_private,
            look_up=self._look_up,
        )
        body = json.dumps(
            {
                "type": delivery.topic,
                "timestamp": delivery.created_at.isoformat(),
                "data": data,
            },
            separators=(",", ":"),
        )
        headers = {
            **self._headers,
            **self._signed(delivery.message_id, body),
            "host": pinned.host_header,
            "content-type": "application/json",
            "user-agent": "spanwitness-webhooks",
        }
        # No proxy of the environment and no redirect: either would lead to another address.
        async with httpx.AsyncClient(
            verify=self._verify or True,
            trust_env=False,
            follow_redirects=False,
            timeout=self.settings.timeout_s,
        ) as client:
            return await post(
                client,
                pinned.url,
                body.encode("utf-8"),
                headers,
                extensions={"sni_hostname": pinned.server_name},
            )

    def _signed(self, message_id: str, body: str) -> dict[str, str]:
        now = datetime.now(UTC)
        signatures = [s.sign(msg_id=message_id, timestamp=now, data=body) for s in self._signers]
        return {
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": " ".join(signatures),
        }


async def post(
    client: httpx.AsyncClient,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    extensions: Mapping[str, object] | None = None,
) -> Answer:
    """Post once and look at the status only: what an answer says besides is not ours to read."""
    request = client.build_request(
        "POST", url, content=body, headers=dict(headers), extensions=dict(extensions or {})
    )
    response = await client.send(request, stream=True)
    await response.aclose()
    return answer_of(response)


def answer_of(response: httpx.Response) -> Answer:
    """Return what a status means for a delivery.

    2xx: delivered. 410: gone. 408, 425, 429 and 5xx: to be tried again, not before `Retry-After`.
    Everything else, redirects among it, is for good.
    """
    status = response.status_code
    if 200 <= status < 300:
        return Answer(word="delivered", status=status)
    error = f"HTTP {status}"
    if status == _GONE:
        return Answer(word="gone", status=status, error=error)
    if status in _RETRYABLE or status >= 500:
        wanted = read_retry_after(response.headers.get("retry-after"))
        return Answer(word="retry", status=status, error=error, retry_after_s=wanted)
    return Answer(word="dead", status=status, error=error)


def _signer(name: str, secret: str) -> standardwebhooks.Webhook:
    remedy = f"webhook {name!r}: a secret that cannot be used; write whsec_ and base64 of"
    try:
        raw = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        raise SettingsError(f"{remedy} {_MIN_SECRET_BYTES} bytes or more") from None
    if len(raw) < _MIN_SECRET_BYTES:
        raise SettingsError(f"{remedy} {_MIN_SECRET_BYTES} bytes or more, not {len(raw)}")
    return standardwebhooks.Webhook(raw)


def _own(name: str, headers: Mapping[str, str]) -> dict[str, str]:
    taken = sorted(_OWN_HEADERS & {header.lower() for header in headers})
    if taken:
        raise SettingsError(f"webhook {name!r}: the headers {', '.join(taken)} are ours to set")
    try:
        return dict(httpx.Headers(dict(headers)).items())
    except (TypeError, UnicodeError):
        raise SettingsError(f"webhook {name!r}: a header holds characters outside ASCII") from None
