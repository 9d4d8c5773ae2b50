"""The messages of the fault tests, with their expected outcomes."""

import hashlib
import json
import uuid
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tests.faults.clock import CLOCK
from tests.faults.fake_internet import BUFFERS, SELECTOR, SENDER
from tests.faults.stack import HELLO, NONSENSE, WALLET, WHO
from tests.functions.samples import ALICE, BOB, RECEIVER, http, published_key, service_keys, user_keys

from postroom.core.ijson import JsonValue
from postroom.core.reason import Kind
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.protocols.dm3.envelope import DeliveryInformation, write_envelope
from postroom.protocols.dm3.message import MessageMetadata
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.nlweb.feedback import body_of
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.protocols.nlweb.sign import Draft, sign
from postroom.protocols.nlweb.subjects import FEEDBACK
from postroom.reasons import reason_of
from postroom.storage.layout import seen_key_nlweb

LARGE = "x" * 1_000_000
"""A body that is too large for a queue message, but not for the inbox."""
_FORGER = PrivateKey.generate("ed25519")


class End(StrEnum):
    """The outcome of a message."""

    FILED = "filed"
    HANDED_ON = "handed on"
    DISCARDED = "discarded"
    ANSWERED = "answered at once"
    REFUSED = "refused"


class FeedbackDue(StrEnum):
    """Whether the sender's buffer gets Feedback if the message is discarded."""

    DUE = "due"
    NEVER = "never"


EITHER = (End.FILED, End.DISCARDED)
"""The outcomes if two workers disagree, or two messages have one Correlation; the first one decides."""


@dataclass(frozen=True)
class Message:
    """A message. `who`: its name, by its envelope (`who_is`). `ends`: its possible outcomes.

    `correlation`: that of Feedback about it. `seen`: the key in table `seen` of the request that it belongs to.
    """

    path: str
    body: str
    who: str
    ends: tuple[End, ...]
    feedback: FeedbackDue = FeedbackDue.NEVER
    correlation: str = ""
    seen: str = ""

    @property
    def inbox(self) -> str:
        """The function that it is posted to."""
        return "Dm3Function" if self.path == "/dm3" else "InboxFunction"

    def posted(self) -> dict[str, Any]:
        """The API event with the message."""
        url = f"https://nlweb.{RECEIVER}{self.path}"
        return http("POST", url, int(CLOCK()), self.body.encode(), {"content-type": "application/json"})


def nlweb(
    *ends: End,
    subject: str = HELLO,
    sender: str = SENDER,
    body: JsonValue = "hello",
    key: PrivateKey | None = None,
    correlation: str = "",
    feedback: FeedbackDue = FeedbackDue.DUE,
) -> Message:
    """An NLWeb message with the current time. `key`: instead of its sender's."""
    correlation = correlation or str(uuid.uuid4())
    selector = SELECTOR if sender in BUFFERS else None
    draft = Draft(sender, RECEIVER, subject, correlation, int(CLOCK() * 1000), body, selector=selector)
    # The character of the schema is not escaped, so each character of the text takes four bytes of memory.
    text = json.dumps(sign(draft, key or published_key()), ensure_ascii=False)
    seen = seen_key_nlweb(RECEIVER, sender, correlation)
    return Message("/inbox", text, who_is(text), ends or (End.FILED,), feedback, correlation, seen)


def forged(sender: str = SENDER, body: JsonValue = "hello") -> Message:
    return nlweb(End.DISCARDED, sender=sender, body=body, key=_FORGER)


def and_a_forged_copy() -> list[Message]:
    """A message, and a forged one by a stranger who knows its Correlation."""
    first = nlweb()
    return [first, nlweb(End.DISCARDED, key=_FORGER, correlation=first.correlation, feedback=FeedbackDue.NEVER)]


def two_texts() -> list[Message]:
    """Two messages of one sender with one Correlation: one is filed, the other is discarded."""
    first = nlweb(*EITHER)
    return [first, nlweb(*EITHER, body="another text", correlation=first.correlation)]


def unknown_subject() -> Message:
    return nlweb(End.DISCARDED, subject=NONSENSE)


def not_ours() -> Message:
    """A request that the handler refuses after the inbox has acquired its lease."""
    return nlweb(End.REFUSED, subject=WHO, body={"Domain": "stranger.example"})


def of_a_wallet() -> Message:
    """A message of a wallet, whose key the operator has stored."""
    return nlweb(sender=WALLET)


def feedback(*, names_sender: bool = True) -> Message:
    """A Feedback message of another post office to our buffer."""
    body = body_of(RECEIVER, str(uuid.uuid4()), SIGNATURE_INVALID)
    if not names_sender:
        del body["Sender"]
    return nlweb(subject=FEEDBACK, body=body)


def dm3(*, for_others: bool = False) -> Message:
    """A message of alice.eth to bob.eth. `for_others`: sealed for another delivery service."""
    alice = user_keys(ALICE)
    envelope = write_envelope(
        sign_message("hello", MessageMetadata(to=BOB, sender=ALICE, timestamp_ms=int(CLOCK() * 1000)), alice.signing),
        delivery=DeliveryInformation(BOB, ALICE),
        receiver_key=user_keys(BOB).encryption.public,
        service_key=alice.encryption.public if for_others else service_keys().encryption[0].public,
        signing=alice.signing,
    ).as_json()
    call = {"jsonrpc": "2.0", "method": "dm3_submitMessage", "params": [envelope], "id": 1}
    ends = (End.REFUSED if for_others else End.FILED,)
    return Message("/dm3", json.dumps(call), who_is(json.dumps(envelope)), ends)


def who_is(envelope: str) -> str:
    """The `who` of a message, from its envelope as sent or as filed."""
    value = json.loads(envelope)
    if "Header" in value:
        return f"{value['Header']['Correlation']}/{value['Signature'][:8]}"
    return hashlib.sha256(value["message"].encode()).hexdigest()


def is_taken(answer: dict[str, Any]) -> bool:
    """Whether the answer of the inbox accepts the message."""
    said = json.loads(answer["body"])
    return bool(answer["statusCode"] == 200 and "error" not in said)


def is_refused(answer: dict[str, Any]) -> bool:
    """Whether the answer of the inbox refuses the message permanently."""
    said = json.loads(answer["body"])
    if answer["statusCode"] == 200 and "error" in said:
        return reason_of(said["error"]["data"]["reason"]).kind is not Kind.RETRY
    return 400 <= int(answer["statusCode"]) < 500
