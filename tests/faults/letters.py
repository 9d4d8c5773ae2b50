"""What senders send, and what must become of it."""

import hashlib
import json
import uuid
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tests.faults.clock import CLOCK
from tests.faults.office import HELLO, NONSENSE, WHO
from tests.faults.world import SELECTOR, SENDER
from tests.functions.samples import ALICE, BOB, RECEIVER, http, published_key, service_keys, user_keys

from postroom.dm3.envelope import DeliveryInformation, write_envelope
from postroom.dm3.message import MessageMetadata, sign_message
from postroom.ijson import JsonValue
from postroom.nlweb.keys import PrivateKey
from postroom.nlweb.sign import Draft, sign

LARGE = "x" * 1_000_000
"""Too large for a queue message, small enough for the door."""
_FORGER = PrivateKey.generate("ed25519")


class End(StrEnum):
    """What may become of a message in the end."""

    FILED = "filed"
    HANDED_ON = "handed on"
    DISCARDED = "discarded"
    ANSWERED = "answered at once"
    REFUSED = "refused"


@dataclass(frozen=True)
class Letter:
    """A message. `who`: its Correlation, or the hash of the dm3 message. `ends`: what may become of it.

    `told`: whether its sender's buffer is told, should it be discarded.
    """

    path: str
    body: str
    who: str
    ends: tuple[End, ...]
    told: bool = False

    def posted(self) -> dict[str, Any]:
        """The event of the API it comes in."""
        url = f"https://nlweb.{RECEIVER}{self.path}"
        return http("POST", url, int(CLOCK()), self.body.encode(), {"content-type": "application/json"})


def nlweb(
    *ends: End, subject: str = HELLO, sender: str = SENDER, body: JsonValue = "hello", forged: bool = False
) -> Letter:
    """An NLWeb message of now."""
    who = str(uuid.uuid4())
    draft = Draft(sender, RECEIVER, subject, who, int(CLOCK() * 1000), body, selector=SELECTOR)
    envelope = sign(draft, _FORGER if forged else published_key())
    return Letter("/inbox", json.dumps(envelope), who, ends or (End.FILED,), told=True)


def forged(sender: str = SENDER) -> Letter:
    return nlweb(End.DISCARDED, sender=sender, forged=True)


def unknown_subject() -> Letter:
    return nlweb(End.DISCARDED, subject=NONSENSE)


def not_ours() -> Letter:
    """A request that its handler refuses, after the door has taken a lease for it."""
    return nlweb(End.REFUSED, subject=WHO, body={"Domain": "stranger.example"})


def dm3() -> Letter:
    """A letter of alice.eth to bob.eth."""
    alice = user_keys(ALICE)
    envelope = write_envelope(
        sign_message("hello", MessageMetadata(to=BOB, sender=ALICE, timestamp_ms=int(CLOCK() * 1000)), alice.signing),
        delivery=DeliveryInformation(BOB, ALICE),
        receiver_key=user_keys(BOB).encryption.public,
        service_key=service_keys().encryption[0].public,
        signing=alice.signing,
    ).as_json()
    call = {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [envelope], "id": 1}
    return Letter("/dm3", json.dumps(call), who_is(json.dumps(envelope)), (End.FILED,))


def who_is(envelope: str) -> str:
    """The `who` of a message, from its envelope as it was sent or as it is filed."""
    value = json.loads(envelope)
    if "Header" in value:
        return str(value["Header"]["Correlation"])
    return hashlib.sha256(value["message"].encode()).hexdigest()


def is_taken(answer: dict[str, Any]) -> bool:
    """Whether the door's answer says that the message is in our hands."""
    said = json.loads(answer["body"])
    return bool(answer["statusCode"] == 200 and "error" not in said)


def is_refused(answer: dict[str, Any]) -> bool:
    """Whether the door's answer says that the message is not for us to take, now or later."""
    return 400 <= int(answer["statusCode"]) < 500
