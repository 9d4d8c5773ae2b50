"""The messages of a soak, each as an HTTP API event with the expected outcome."""

import hashlib
import json
import time
import uuid
from collections import deque
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Final

from tests.soak.mix import Kind, Planned
from tests.soak.stack import DM3_HOST, RECEIVER, SELECTOR, SUBJECT, Sender, SoakStack

from postroom.core.ijson import JsonValue
from postroom.demo.names import ALICE, BOB, SERVICE
from postroom.local import gateway
from postroom.protocols.dm3.envelope import DeliveryInformation, message_hash, write_envelope
from postroom.protocols.dm3.message import MessageMetadata
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.nlweb.schema import NLWEB
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.storage.layout import seen_key_nlweb

REMEMBERED: Final = 200
"""A replay repeats one of the last valid messages, of which some have not been answered yet."""
_DAY_MS: Final = 86_400_000
_LARGE: Final = "€" * 175_000
"""Half a megabyte, which in ASCII is too large for a queue message."""
_TOO_LARGE: Final = "x" * 1_050_000
_NLWEB_ROUTE: Final = gateway.GatewayRoute("ANY /inbox", "inbox")
_DM3_ROUTE: Final = gateway.GatewayRoute("ANY /dm3", "dm3")


@dataclass(frozen=True)
class SoakMessage:
    """A message to be posted. `text`: the SHA-256 of its envelope; empty for dm3, which is filed with a postmark.

    `identity`: its key in the ledger: the Correlation, the hash of a dm3 message, or the key in `seen` of a synchronous
    request.
    """

    kind: Kind
    identity: str
    text: bytes
    event: bytes

    @property
    def function(self) -> str:
        """The function that it is posted to."""
        return (_DM3_ROUTE if self.kind is Kind.DM3 else _NLWEB_ROUTE).function


class Writer:
    """Writes the planned messages, each signed by its sender."""

    def __init__(self, stack: SoakStack, rng: Random) -> None:
        self._stack = stack
        self._rng = rng
        self._recent: deque[SoakMessage] = deque(maxlen=REMEMBERED)

    def write(self, planned: Planned) -> SoakMessage:
        """The next message, with the current time."""
        sender = self._stack.senders[planned.sender]
        if planned.kind is Kind.DM3:
            return self._dm3()
        if planned.kind is Kind.REPLAYED and self._recent:
            return self._again(self._rng.choice(self._recent))
        # The first message of a run may be a replay, but there is none to be repeated yet.
        kind = Kind.VALID if planned.kind is Kind.REPLAYED else planned.kind
        message = self._nlweb(kind, sender)
        if kind is Kind.VALID:
            self._recent.append(message)
        return message

    def _again(self, message: SoakMessage) -> SoakMessage:
        return replace(message, kind=Kind.REPLAYED)

    def _nlweb(self, kind: Kind, sender: Sender) -> SoakMessage:
        now_ms = int(time.time() * 1000)
        correlation = str(uuid.UUID(int=self._rng.getrandbits(128), version=4))
        at = now_ms + self._rng.choice([-2 * _DAY_MS, 600_000]) if kind is Kind.STALE else now_ms
        subject = "Identity@Graph" if kind is Kind.SYNCHRONOUS else SUBJECT
        draft = Draft(sender.domain, RECEIVER, subject, correlation, at, self._body(kind), selector=SELECTOR)
        envelope = sign(draft, sender.key)
        if kind is Kind.FORGED:
            envelope["Signature"] = sign(replace(draft, body="another"), sender.key)["Signature"]
        body = json.dumps(envelope, ensure_ascii=False).encode()
        event = event_of(_NLWEB_ROUTE, f"https://{NLWEB.host(RECEIVER)}/inbox", body, sender.source)
        identity = seen_key_nlweb(RECEIVER, sender.domain, correlation) if kind is Kind.SYNCHRONOUS else correlation
        return SoakMessage(kind, identity, hashlib.sha256(body).digest(), event)

    def _body(self, kind: Kind) -> JsonValue:
        if kind is Kind.SYNCHRONOUS:
            return {"Domain": RECEIVER}
        text = {Kind.LARGE: _LARGE, Kind.TOO_LARGE: _TOO_LARGE}.get(kind, "x" * self._rng.randrange(20, 600))
        return {"Text": text}

    def _dm3(self) -> SoakMessage:
        alice = self._stack.names.users[ALICE]
        now_ms = int(time.time() * 1000)
        text = f"{self._rng.getrandbits(64):x}"
        envelope = write_envelope(
            sign_message(text, MessageMetadata(BOB, ALICE, now_ms), alice.signing),
            delivery=DeliveryInformation(BOB, ALICE),
            receiver_key=self._receiver_key,
            service_key=self._service_key,
            signing=alice.signing,
        )
        call = {"jsonrpc": "2.0", "id": 1, "method": "dm3_submitMessage", "params": [envelope.as_json()]}
        event = event_of(_DM3_ROUTE, f"https://{DM3_HOST}/dm3", json.dumps(call).encode(), "203.0.113.250")
        return SoakMessage(Kind.DM3, message_hash(envelope), b"", event)

    @cached_property
    def _receiver_key(self) -> bytes:
        return self._stack.names.profiles.user(BOB).encryption_key

    @cached_property
    def _service_key(self) -> bytes:
        return self._stack.names.profiles.service(SERVICE).encryption_key


def event_of(route: gateway.GatewayRoute, url: str, body: bytes, source: str) -> bytes:
    """The line with the HTTP API event of a POST."""
    host, _, path = url.removeprefix("https://").partition("/")
    headers = (("content-type", "application/json"), ("host", host))
    request = gateway.GatewayRequest("POST", f"/{path}", headers, body, host, source, "HTTP/1.1")
    api = gateway.Api("0", "soak", (route,))
    return json.dumps(gateway.build_event(request, api, route, {}, time.time(), str(uuid.uuid4()))).encode() + b"\n"
