"""Sending a signed envelope; the receiver's answer is a value.

A refusal is an answer, not an error (decision "Answers"): it is returned as `Sent` with the receiver's own reason,
which need not be from our list. Only a missing answer is raised: NotNowError(OUTBOUND_FAILED).
"""

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Final

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.net.https import HttpsClient, HttpsResponse
from postroom.protocols.nlweb.names import read_receiver
from postroom.protocols.nlweb.schema import Dialect
from postroom.protocols.nlweb.sign import Draft, sign

_PASSING: Final = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
"""4xx statuses that say nothing about the message (RFC 9110 §15.5.9, RFC 8470 §5.2, RFC 6585 §4)."""


class SendOutcome(StrEnum):
    """What an answer means for the sender."""

    TAKEN = "taken"
    """2xx: queued, or answered at once."""
    REFUSED = "refused"
    """4xx: the same message will be refused again."""
    NOT_NOW = "not now"
    """Any other status: the same message may be sent again later."""


def fate_of(status: int) -> SendOutcome:
    """What an HTTP status means for the sender."""
    if 200 <= status < 300:
        return SendOutcome.TAKEN
    if 400 <= status < 500 and status not in _PASSING:
        return SendOutcome.REFUSED
    return SendOutcome.NOT_NOW


@dataclass(frozen=True, slots=True)
class Sent:
    """The receiver's answer to a message.

    `status`: the HTTP status. `reply`: the JSON of the body; the text if it is not JSON; None if it is empty. `reason`,
    `detail`: machine code and sentence of a problem document (RFC 9457); empty if it is not one.
    """

    correlation: str
    status: int
    reply: JsonValue
    reason: str = ""
    detail: str = ""

    @property
    def fate(self) -> SendOutcome:
        """Whether the message was accepted, refused for good, or may be sent again."""
        return fate_of(self.status)


@dataclass(frozen=True, slots=True, eq=False)
class Sender:
    """A domain (or a wallet) that sends. `selector` None: the dialect's default.

    `clock`: epoch seconds. `new_correlation`: returns a new UUID.
    """

    key: PrivateKey
    domain: str
    selector: str | None
    dialect: Dialect
    https: HttpsClient
    _: KW_ONLY
    clock: Callable[[], float] = time.time
    new_correlation: Callable[[], str] = lambda: str(uuid.uuid4())

    def send(self, receiver: str, subject: str, body: JsonValue, correlation: str | None = None) -> Sent:
        """Sign a message and post it to the well-known inbox of `receiver`.

        Raises TheirError (`receiver` is not a host name, `body` has no canonical form) or NotNowError(OUTBOUND_FAILED).
        """
        draft = Draft(
            sender=self.domain,
            receiver=read_receiver(receiver),
            subject=subject,
            correlation=correlation or self.new_correlation(),
            timestamp_ms=int(self.clock() * 1000),
            body=body,
            selector=self.selector,
            dialect=self.dialect,
        )
        envelope = json.dumps(sign(draft, self.key), ensure_ascii=False).encode()
        return deliver(self.https, self.dialect.inbox_url(draft.receiver), envelope, draft.correlation)


def deliver(https: HttpsClient, url: str, envelope: bytes, correlation: str = "") -> Sent:
    """Post an envelope unchanged. Raises NotNowError(OUTBOUND_FAILED). Sender and Dialect know the `url`."""
    return read_answer(https.post(url, envelope, "application/json"), correlation)


def read_answer(response: HttpsResponse, correlation: str = "") -> Sent:
    """The answer of a post office."""
    reply = _read(response)
    if 200 <= response.status < 300 or not isinstance(reply, dict):
        return Sent(correlation, response.status, reply)
    return Sent(
        correlation, response.status, reply, text_or_empty(reply.get("reason")), text_or_empty(reply.get("detail"))
    )


def _read(response: HttpsResponse) -> JsonValue:
    if not response.body:
        return None
    try:
        return parse(response.body, max_bytes=len(response.body))
    except TheirError:
        return response.body.decode("utf-8", "replace")


def text_or_empty(value: JsonValue) -> str:
    """A string; empty if the answer has another value, or none."""
    return value if isinstance(value, str) else ""
