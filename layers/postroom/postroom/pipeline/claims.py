"""Claims: accepted messages that are not judged yet. The inbox makes them, so that all workers agree."""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

import orjson

from postroom.core.ijson import JsonValue
from postroom.core.typed_members import Members
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.keys import RowKey, claim_name
from postroom.storage.mail.ledger import Accepted, text_of
from postroom.storage.mail.segments import Objects
from postroom.storage.queues import MAX_BODY_BYTES

Protocol = Literal["nlweb", "dm3"]
_PROTOCOLS: Final = get_args(Protocol)
_FORM: Final = 1
"""The version of the form below: a queue may hold claims of the release before."""


@dataclass(frozen=True, slots=True)
class Dm3Found:
    """What the dm3 door found out. `receiver_key`: what the postmark is sealed to (X25519, 32 bytes).

    `sender_key`: the fingerprint of the key that the sender's signature holds by; empty: it was not verified.
    """

    receiver_key: bytes
    sender_key: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """`id`: our own, never the queue's. `envelope`: the message as it came, bit for bit. `source`: an IP.

    `rule` (NLWeb): what the door found the subject registered as (None: not at all). The worker follows it, whatever
    the registry says by then: the row stands in the mailbox that this rule named. `dm3`: what its door found.
    `counted`: its mailbox has a quota, so that its usage is counted.
    """

    id: str
    received_at_ms: int
    protocol: Protocol
    mailbox: str
    row: RowKey
    source: str
    envelope: str
    rule: SubjectRule | None = None
    dm3: Dm3Found | None = None
    counted: bool = False

    def as_json(self) -> dict[str, JsonValue]:
        """The claim as it is queued, or stored in the bucket."""
        return {
            "form": _FORM,
            "id": self.id,
            "at": self.received_at_ms,
            "protocol": self.protocol,
            "mailbox": self.mailbox,
            "pk": self.row.pk,
            "sk": self.row.sk,
            "source": self.source,
            "envelope": self.envelope,
            "rule": [self.rule.pattern, str(self.rule.treatment), self.rule.target] if self.rule else None,
            **({"dm3": [b64encode(self.dm3.receiver_key).decode(), self.dm3.sender_key]} if self.dm3 else {}),
            **({"counted": True} if self.counted else {}),
        }

    def accepted(self, seen_key: str, digest: str | None = None) -> Accepted:
        """What the door's ledger says of the claim. `seen_key`, `digest`: who its message is, as for `Seen`."""
        return Accepted(self.id, self.mailbox, self.received_at_ms, seen_key, text_of(digest))


def read_claim(value: object) -> Claim:
    """The claim in its JSON form. Raises ValueError for anything else."""
    members = Members(value, "a claim")
    members.check_form(_FORM)
    rule = None
    if members.any("rule") is not None:
        pattern, treatment, target = members.texts("rule", 3)
        rule = SubjectRule(pattern, Treatment(treatment), target)
    dm3 = None
    if "dm3" in members:
        receiver_key, sender_key = members.texts("dm3", 2)
        dm3 = Dm3Found(b64decode(receiver_key), sender_key)
    protocol = members.any("protocol")
    if protocol not in _PROTOCOLS:
        raise ValueError(f"protocol of a claim must be one of {', '.join(_PROTOCOLS)}")
    return Claim(
        members.text("id"),
        members.whole("at"),
        protocol,
        members.text("mailbox"),
        RowKey(members.text("pk"), members.text("sk")),
        members.text("source"),
        members.text("envelope"),
        rule,
        dm3,
        members.flag("counted"),
    )


@dataclass(frozen=True, slots=True)
class Queued:
    """A claim as it travels: in the queue message itself, or under `pointer` in the bucket. `tries`: retries so far."""

    claim: Claim
    pointer: str = ""
    tries: int = 0

    def body(self) -> str:
        """The queue message: ASCII JSON, because SQS refuses some code points that JSON allows."""
        carried: dict[str, JsonValue] = {"at": self.pointer} if self.pointer else {"claim": self.claim.as_json()}
        return json.dumps({**carried, "tries": self.tries}, separators=(",", ":"))

    def again(self) -> "Queued":
        """The same, after one more try."""
        return replace(self, tries=self.tries + 1)


def pack(claim: Claim, store: Callable[[str, bytes], None]) -> str:
    """A claim's queue message; one too large for the queue goes to S3 first (`store`), and the message points at it."""
    body = Queued(claim).body()
    if len(body) <= MAX_BODY_BYTES:
        return body
    name = claim_name(claim.received_at_ms, claim.id)
    store(name, json.dumps(claim.as_json(), ensure_ascii=False, separators=(",", ":")).encode())
    return Queued(claim, name).body()


def unpack(body: str, objects: Objects) -> Queued:
    """What a queue message carries.

    Raises NotNowError(STORE_UNAVAILABLE); KeyError where S3 has it no more; ValueError where it is none of ours.
    """
    members = Members(orjson.loads(body), "a message of the claims queue")
    tries = members.whole("tries")
    pointer = members.text("at") if "at" in members else ""
    claim = orjson.loads(objects.get(pointer)) if pointer else members.any("claim")
    return Queued(read_claim(claim), pointer, tries)
