"""Requests of a signed-in owner, with retries where they may help. Sans-I/O."""

import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Protocol, TypeVar
from urllib.parse import quote

import msgspec

from postroom.api.challenges import MAX_TOKEN_CHARACTERS, Purpose
from postroom.api.reasons import TOKEN_INVALID
from postroom.api.schemas import SignedChallenge
from postroom.client.challenge import ChallengeError, check_challenge
from postroom.client.mailbox.answers import check, decode
from postroom.client.mailbox.errors import RefusedError, UnavailableError, UnexpectedAnswerError, UntrustedHostError
from postroom.client.mailbox.exchange import MailboxRequest, MailboxResponse, Steps

T = TypeVar("T")

_JSON: Final = {"Content-Type": "application/json"}
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*", re.ASCII)  # RFC 6750 §2.1


class Signer(Protocol):
    """A key of the mailbox."""

    def sign(self, text: bytes, /) -> bytes:
        """The raw signature of a text."""
        ...


@dataclass(frozen=True, slots=True)
class Retries:
    """How many times a request is sent in all.

    Pauses double from attempt to attempt, up to `most_seconds`. A random part of each is taken, so that clients that
    were refused at once do not all return at once.
    """

    attempts: int = 6
    first_seconds: float = 1.0
    most_seconds: float = 30.0

    def pause(self, failed: int, retry_after: float, chance: float) -> float:
        """The pause in seconds after this many failures; at least what the host asked for. `chance`: from 0 to 1."""
        return retry_after + chance * min(self.most_seconds, self.first_seconds * 2.0 ** (failed - 1))


DEFAULT_RETRIES: Final = Retries()


class Session:
    """The owner of mailbox `name` at `host`. `chance`: random, from 0 to 1."""

    def __init__(self, host: str, name: str, key: Signer, retries: Retries, chance: Callable[[], float]) -> None:
        self.host = host
        self.name = name
        self._key = key
        self._retries = retries
        self._chance = chance
        self._token = ""

    def ask(self, request: MailboxRequest) -> Steps[MailboxResponse]:
        """The response to a request. Raises MailboxError."""
        return self.retried(lambda pause: self.attempt(request, pause), request.pause)

    def retried(self, attempt: Callable[[float], Steps[T]], pause: float = 0.0) -> Steps[T]:
        """The result of an operation, with retries; each attempt is told how long to pause first, the first `pause`.

        Raises what the attempts raise; UnavailableError only after the last attempt.
        """
        for failed in range(1, self._retries.attempts):
            try:
                return (yield from attempt(pause))
            except UnavailableError as error:
                pause = self._retries.pause(failed, error.retry_after, self._chance())
        return (yield from attempt(pause))

    def attempt(self, request: MailboxRequest, pause: float) -> Steps[MailboxResponse]:
        """The response to a single attempt. Raises MailboxError."""
        token = self._token
        if not token:
            token, pause = (yield from self._sign_in(pause)), 0.0
        try:
            return check((yield _with(token, request, pause)))
        except RefusedError as error:
            if error.reason != str(TOKEN_INVALID):
                raise
        # The token expired, or somebody signed out on all devices. Another request may have noticed that before.
        if self._token == token:
            self._token = ""
        token = self._token or (yield from self._sign_in(0.0))
        return check((yield _with(token, request, 0.0)))

    def forget(self) -> None:
        """Sign in again at the next request."""
        self._token = ""

    def open(self) -> Steps[None]:
        """Open the mailbox, if there is none yet, and sign in."""
        path = f"/mailboxes/{quote(self.name, safe='')}"
        yield from self.retried(lambda pause: self._let_in(pause, Purpose.OPEN, path))

    def _sign_in(self, pause: float) -> Steps[str]:
        return self._let_in(pause, Purpose.PICK_UP, f"/auth/{quote(self.name, safe='')}")

    def _let_in(self, pause: float, purpose: Purpose, path: str) -> Steps[str]:
        """A token, for a signed challenge that is posted there."""
        # Retried as a whole: a challenge is valid once, and if an answer got lost, it may have been used.
        query = {} if purpose is Purpose.PICK_UP else {"purpose": str(purpose)}
        request = MailboxRequest("GET", f"/auth/{quote(self.name, safe='')}", query, pause=pause)
        challenge = decode(str, check((yield request)))
        try:
            check_challenge(challenge, self.host, self.name, purpose)
        except ChallengeError as error:
            raise UntrustedHostError(str(error)) from None
        signature = b64encode(self._key.sign(challenge.encode())).decode()
        body = msgspec.json.encode(SignedChallenge(challenge, signature))
        token = decode(str, check((yield MailboxRequest("POST", path, headers=_JSON, body=body))))
        if len(token) > MAX_TOKEN_CHARACTERS or not _TOKEN.fullmatch(token):
            raise UnexpectedAnswerError("The host's token is invalid.")
        self._token = token
        return token


class DcpSession(Session):
    """The session of an owner whose requests are sent over DCP, each of them authorized: they need no token."""

    def attempt(self, request: MailboxRequest, pause: float) -> Steps[MailboxResponse]:
        """The response to a single attempt. Raises MailboxError."""
        return check((yield replace(request, pause=pause)))


def _with(token: str, request: MailboxRequest, pause: float) -> MailboxRequest:
    return replace(request, headers={**request.headers, "Authorization": f"Bearer {token}"}, pause=pause)
