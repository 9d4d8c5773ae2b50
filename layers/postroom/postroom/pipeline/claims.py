"""Claims: accepted messages that are not judged yet. The inbox makes the claim, so that all workers agree on it."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import orjson

from postroom.core.ijson import JsonValue
from postroom.core.typed_members import Members
from postroom.outbound.discard_messages import FeedbackRequest
from postroom.pipeline.claim_details import Details, Protocol, read_details
from postroom.storage.aws.object_store import ObjectStore
from postroom.storage.aws.queue import MAX_BODY_BYTES
from postroom.storage.layout import RowKey, claim_name
from postroom.storage.mail.inbox_log import LedgerEntry, text_of

_FORM: Final = 1
"""The version of the form below. A queue may contain claims of the previous release."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim. `id`: our own, never the queue's. `envelope`: the message as received, unchanged. `source`: an IP
    address.

    `details`: what the inbox of its protocol found out. `counted`: the mailbox has a quota, so that its usage is
    counted.
    """

    id: str
    received_at_ms: int
    mailbox: str
    row: RowKey
    source: str
    envelope: str
    details: Details
    counted: bool = False

    @property
    def protocol(self) -> Protocol:
        """The protocol that the message came by."""
        return self.details.protocol

    def as_json(self) -> dict[str, JsonValue]:
        """The claim in the form in which it is queued, or stored in the bucket."""
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
            **self.details.as_json(),
            **({"counted": True} if self.counted else {}),
        }

    def accepted(self, seen_key: str, digest: str | None = None) -> LedgerEntry:
        """The log line of the inbox for an accepted claim.

        `seen_key`, `digest`: its message's identity, as for `Seen`.
        """
        return LedgerEntry(self.id, self.mailbox, self.received_at_ms, seen_key, text_of(digest))


def read_claim(value: object) -> Claim:
    """Read a claim in its JSON form. Raises ValueError for anything else."""
    members = Members(value, "a claim")
    members.check_form(_FORM)
    return Claim(
        members.text("id"),
        members.whole("at"),
        members.text("mailbox"),
        RowKey(members.text("pk"), members.text("sk")),
        members.text("source"),
        members.text("envelope"),
        read_details(members.text("protocol"), members),
        members.flag("counted"),
    )


@dataclass(frozen=True, slots=True)
class Pointer:
    """The place of a claim too large for the queue: the name of its object in the bucket.

    `feedback_request`: whom to send Feedback to, if the claim is discarded without its object; None: nobody. `is_gone`:
    there is no such object. `is_bare`: the queue message is of the previous release, and has nothing but the name.
    """

    name: str
    feedback_request: FeedbackRequest | None = None
    is_gone: bool = False
    is_bare: bool = False


@dataclass(frozen=True, slots=True)
class QueuedClaim:
    """A claim as it is queued: in the queue message itself, or, with its envelope, in the object of its pointer.

    `claim`: without its envelope, if its object is gone. `tries`: retries so far. `awaited_key`: the name of the key
    that it waits for, if its sender's zone is silent.
    """

    claim: Claim
    pointer: Pointer | None = None
    tries: int = 0
    awaited_key: str = ""

    def body(self) -> str:
        """The body of the queue message: ASCII JSON, because SQS refuses some code points that JSON allows."""
        carried = self._carried()
        if self.awaited_key:
            carried |= {"key": self.awaited_key, "received_at_ms": self.claim.received_at_ms}
        return json.dumps({**carried, "tries": self.tries}, separators=(",", ":"))

    def _carried(self) -> dict[str, JsonValue]:
        pointer = self.pointer
        if pointer is None:
            return {"claim": self.claim.as_json()}
        if pointer.is_bare:
            return {"at": pointer.name}
        # Its object may be gone when SQS delivers the message again: then this decides the claim.
        feedback = pointer.feedback_request.as_json() if pointer.feedback_request else None
        return {"at": pointer.name, "claim": replace(self.claim, envelope="").as_json(), "feedback": feedback}

    def again(self) -> "QueuedClaim":
        """The same claim with one more attempt counted."""
        return replace(self, tries=self.tries + 1)

    def awaiting(self, key_name: str) -> "QueuedClaim":
        """The same claim, waiting for a key."""
        return replace(self, awaited_key=key_name)


def pack(claim: Claim, store: Callable[[str, bytes], None], feedback_request: FeedbackRequest | None = None) -> str:
    """The queue message of a claim. `feedback_request`: whom to send Feedback to, if it is discarded.

    If it is too large for the queue, `store` puts it into S3, and the message has a pointer.
    """
    body = QueuedClaim(claim).body()
    if len(body) <= MAX_BODY_BYTES:
        return body
    name = claim_name(claim.received_at_ms, claim.id)
    store(name, json.dumps(claim.as_json(), ensure_ascii=False, separators=(",", ":")).encode())
    return QueuedClaim(claim, Pointer(name, feedback_request)).body()


def describe(body: str) -> QueuedClaim | None:
    """The claim in a queue message, without its envelope if that is in an object.

    None: the message is of the previous release, and has nothing but the name of the object. Raises ValueError if it is
    not a claim.
    """
    members = _members(body)
    tries, awaited = _tries_and_key(members)
    if "at" not in members:
        return QueuedClaim(read_claim(members.any("claim")), tries=tries, awaited_key=awaited)
    if "claim" not in members:
        return None
    feedback_request = FeedbackRequest.read(members.inner("feedback")) if members.any("feedback") else None
    pointer = Pointer(members.text("at"), feedback_request)
    return QueuedClaim(read_claim(members.any("claim")), pointer, tries, awaited)


def unpack(body: str, objects: ObjectStore) -> QueuedClaim:
    """The claim in a queue message, with its envelope.

    Raises NotNowError(STORE_UNAVAILABLE), ValueError if it is not a claim, and, for a message of the previous release,
    KeyError if the object is gone.
    """
    queued = describe(body)
    if queued is None:
        members = _members(body)
        name = members.text("at")
        return QueuedClaim(
            read_claim(orjson.loads(objects.get(name))), Pointer(name, is_bare=True), *_tries_and_key(members)
        )
    if queued.pointer is None:
        return queued
    stored = objects.find(queued.pointer.name)
    if stored is None:
        return replace(queued, pointer=replace(queued.pointer, is_gone=True))
    return replace(queued, claim=read_claim(orjson.loads(stored)))


def _members(body: str) -> Members:
    return Members(orjson.loads(body), "a message of the claims queue")


def _tries_and_key(members: Members) -> tuple[int, str]:
    return members.whole("tries"), members.text("key") if "key" in members else ""
