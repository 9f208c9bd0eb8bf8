"""Sessions and form tokens: signed, bound to each other, and of limited age."""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from itsdangerous import BadData, URLSafeTimedSerializer

from spanwitness.review.web.identity import Refusal

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection
    from starlette.responses import Response

    from spanwitness.review.web.settings import WebSettings

__all__ = ["CSRF_FIELD", "Session", "Sessions"]

CSRF_FIELD: Final = "csrf_token"
_MAX_ENDED: Final = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """One browser."""

    nonce: str
    token_id: str | None = None
    """The API token that was shown at sign-in."""
    is_new: bool = False
    """It is not yet in the browser."""


class Sessions:
    """Makes and reads what a browser keeps.

    Args:
        settings: Their secret, their age, and whether cookies need HTTPS.
    """

    def __init__(self, settings: WebSettings) -> None:
        secret = settings.secret or secrets.token_urlsafe(32)
        self._cookies = URLSafeTimedSerializer(secret, salt="spanwitness.session")
        self._forms = URLSafeTimedSerializer(secret, salt="spanwitness.form")
        self._age_s = settings.session_s
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._is_https = settings.is_https
        # The prefix makes browsers refuse the cookie from another host or over plain HTTP.
        self.cookie = "__Host-sw_session" if settings.is_https else "sw_session"

    def read(self, request: HTTPConnection) -> Session:
        """Return the session of a request; a new one where it has none that is valid."""
        text = request.cookies.get(self.cookie)
        if text:
            try:
                nonce, token_id = self._cookies.loads(text, max_age=self._age_s)
            except (BadData, ValueError, TypeError):
                pass
            else:
                if nonce not in self._ended:
                    return Session(nonce=str(nonce), token_id=token_id)
        return self.new()

    def new(self, token_id: str | None = None) -> Session:
        """Return a session that no browser has yet."""
        return Session(nonce=secrets.token_urlsafe(18), token_id=token_id, is_new=True)

    def write(self, session: Session, response: Response) -> None:
        """Give a session to the browser."""
        response.set_cookie(
            self.cookie,
            self._cookies.dumps([session.nonce, session.token_id]),
            max_age=self._age_s,
            path="/",
            httponly=True,
            samesite="strict",
            secure=self._is_https,
        )

    def end(self, session: Session, response: Response) -> None:
        """End a session: a copy of its cookie is worth nothing to this process any more."""
        self._ended[session.nonce] = None
        while len(self._ended) > _MAX_ENDED:
            self._ended.popitem(last=False)
        response.delete_cookie(
            self.cookie, path="/", httponly=True, samesite="strict", secure=self._is_https
        )

    def form_token(self, session: Session, name: str) -> str:
        """Return the token that forms of this session and person carry."""
        return str(self._forms.dumps([session.nonce, name]))

    def check_form(self, session: Session, name: str, token: str) -> None:
        """Refuse a form that was not made for this session and person.

        Raises:
            Refusal: The token is missing, forged, too old, or of another session (403).
        """
        try:
            nonce, whose = self._forms.loads(token, max_age=self._age_s)
        except (BadData, ValueError, TypeError):
            raise Refusal(403, "the form token is missing, forged or too old", actor=name) from None
        is_own = isinstance(nonce, str) and hmac.compare_digest(nonce, session.nonce)
        if not is_own or whose != name:
            raise Refusal(403, "the form token belongs to another session", actor=name)
