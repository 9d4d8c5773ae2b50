"""Messages as an archive stores them (dm3 §3.2.1, chunk container): the envelope, and its decrypted content.

The metadata stay as they were signed, so that every signature can be checked again: those of message and envelope with
the key of the sender's profile, the postmark's with the delivery service's. The encrypted message is not kept. Its hash
is kept, because others refer to the message by it, and the postmark certifies it.

A message that was deleted or replaced leaves a tombstone, so that no late copy restores it.

Data for which the text has no form is kept as received: NLWeb messages, and dm3 messages that were set aside because
they could not be opened or are not what they say.
"""

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import orjson

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason
from postroom.protocols.dm3.dialect import reference_hashes
from postroom.protocols.dm3.envelope import Dm3Envelope, EnvelopeMetadata, message_hash, read_metadata
from postroom.protocols.dm3.keys import PublicSigningKey
from postroom.protocols.dm3.members import check_text, check_timestamp, members_of, take
from postroom.protocols.dm3.message import Dm3Message, read_message
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.postmark import Postmark, read_parsed_postmark
from postroom.protocols.dm3.reasons import ENVELOPE_INVALID

_INVALID: Final = ENVELOPE_INVALID
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_TOMBSTONE: Final = "tombstone"
_RECEIVED: Final = "received"

SET_ASIDE: Final = "postroom:set-aside"
"""The conversation of messages that were set aside. The colon makes it an invalid name (ENSIP-15)."""


UNSENT: Final = "postroom:unsent"
"""The conversation of messages of the owner's that no delivery service has accepted yet, sealed (client/chat)."""


class Removal(StrEnum):
    """Why a message was removed: the type of the message that requested it (dm3 §2.2.3)."""

    EDIT = "EDIT"
    DELETE_REQUEST = "DELETE_REQUEST"


@dataclass(frozen=True, slots=True)
class StoredEnvelope:
    """An envelope as it is stored. Raises TheirError(ENVELOPE_INVALID).

    `message_hash`: lower-case hex SHA-256 of the encrypted message. `unverified`: the machine code why the sender could
    not be verified; empty if it was. `signing_key`: the key that verified the sender's signatures, as profiles have it;
    empty: none did, or it was stored by a release that did not keep it.
    """

    message: Dm3Message
    metadata: EnvelopeMetadata
    message_hash: str
    postmark: Postmark | None = None
    unverified: str = ""
    signing_key: str = ""

    def __post_init__(self) -> None:
        """Check what the parts do not check themselves."""
        _check_hash(self.message_hash, "messageHash")
        check_text(self.unverified, "unverified", _INVALID, empty=True)
        check_text(self.signing_key, "signingKey", _INVALID, empty=True)

    @property
    def timestamp_ms(self) -> int:
        """The time at which it was written, according to its sender: epoch milliseconds."""
        return self.message.metadata.timestamp_ms

    @property
    def author(self) -> str:
        """The sender, normalised; unchanged if ENSIP-15 knows no such name, which no verified sender has."""
        sender = self.message.metadata.sender
        try:
            return normalize(sender)
        except TheirError:
            return sender

    def hashes(self) -> tuple[str, ...]:
        """The hashes by which other messages may refer to this one."""
        return reference_hashes(self.message_hash, self.metadata.extra, self.message.as_json())

    def as_json(self) -> dict[str, JsonValue]:
        """The envelope as it is in a chunk."""
        members: dict[str, JsonValue] = {
            "message": self.message.as_json(),
            "metadata": self.metadata.as_json(),
            "messageHash": self.message_hash,
        }
        if self.postmark is not None:
            members["postmark"] = self.postmark.as_json()
        if self.unverified:
            members["unverified"] = self.unverified
        if self.signing_key:
            members["signingKey"] = self.signing_key
        return members

    def encode(self) -> bytes:
        """The envelope as JSON text. Raises TheirError(ENVELOPE_INVALID) if it has none."""
        return _encode(self.as_json())


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is left of a message that its author had removed. Raises TheirError(ENVELOPE_INVALID).

    `timestamp_ms`, `author`, `references`: of the message: when it was written, by whom, and by which hashes others may
    refer to it. `edited`: what it referred to if it was an EDIT, otherwise empty: an older version is removed with the
    message. `cause`, `removed_by`: type and hash of the message that requested it.
    """

    message_hash: str
    timestamp_ms: int
    author: str
    references: tuple[str, ...]
    edited: str
    cause: Removal
    removed_by: str

    def __post_init__(self) -> None:
        """Check the form."""
        _check_hash(self.message_hash, "messageHash")
        check_timestamp(self.timestamp_ms, "timestamp", _INVALID)
        check_text(self.author, "from", _INVALID)
        for reference in self.references:
            check_text(reference, "a hash", _INVALID)
        check_text(self.edited, "edited", _INVALID, empty=True)
        _check_hash(self.removed_by, "removedBy")

    def hashes(self) -> tuple[str, ...]:
        """The hashes by which other messages may refer to the removed one."""
        return self.references

    def as_json(self) -> dict[str, JsonValue]:
        """The tombstone as it is in a chunk, in place of the envelope."""
        return {
            _TOMBSTONE: {
                "messageHash": self.message_hash,
                "timestamp": self.timestamp_ms,
                "from": self.author,
                "hashes": list(self.references),
                "edited": self.edited,
                "cause": str(self.cause),
                "removedBy": self.removed_by,
            }
        }

    def encode(self) -> bytes:
        """The tombstone as JSON text."""
        return _encode(self.as_json())


@dataclass(frozen=True, slots=True)
class Received:
    """A message as the mailbox returned it. Raises TheirError(ENVELOPE_INVALID).

    `id`: of the message in its mailbox. `timestamp_ms`: when it was received, epoch milliseconds. `author`: its
    conversation there. `receipt`: how the post office verified it, JSON text. `envelope`: unchanged. `set_aside`: the
    machine code why it is in no conversation of its author's; empty if it is in one.
    """

    id: str
    timestamp_ms: int
    author: str
    receipt: str
    envelope: str
    set_aside: str = ""

    def __post_init__(self) -> None:
        """Check the form."""
        check_timestamp(self.timestamp_ms, "at", _INVALID)
        for what in ("id", "author", "receipt", "envelope"):
            check_text(getattr(self, what), what, _INVALID)
        check_text(self.set_aside, "setAside", _INVALID, empty=True)

    @property
    def message_hash(self) -> str:
        """The key under which it is stored once: the hash of its id."""
        return hashlib.sha256(self.id.encode()).hexdigest()

    def hashes(self) -> tuple[str, ...]:
        """Empty: nothing refers to it."""
        return ()

    def as_json(self) -> dict[str, JsonValue]:
        """The message as it is in a chunk, in place of an envelope."""
        members: dict[str, JsonValue] = {
            "id": self.id,
            "at": self.timestamp_ms,
            "from": self.author,
            "receipt": self.receipt,
            "envelope": self.envelope,
        }
        return {_RECEIVED: {**members, "setAside": self.set_aside} if self.set_aside else members}

    def encode(self) -> bytes:
        """The same as JSON text. Raises TheirError(ENVELOPE_INVALID) if it has none."""
        return _encode(self.as_json())


Entry: TypeAlias = StoredEnvelope | Tombstone | Received
"""An entry of a chunk."""


def place(entry: Entry) -> tuple[int, str]:
    """The position of an entry among others: by time; entries of one millisecond by their hashes."""
    return entry.timestamp_ms, entry.message_hash


def store_envelope(
    envelope: Dm3Envelope,
    message: Dm3Message,
    postmark: Postmark | None,
    *,
    unverified: Reason | None = None,
    signing_key: PublicSigningKey | None = None,
) -> StoredEnvelope:
    """The stored form of an envelope that was opened and checked.

    `unverified`: why its sender could not be verified. `signing_key`: the key that verified the sender's signatures.
    Members beside message, metadata and postmark are dropped: nobody has signed them. Raises
    TheirError(ENVELOPE_INVALID).
    """
    code = "" if unverified is None else str(unverified)
    key = signing_key.encode() if signing_key else ""
    return StoredEnvelope(message, envelope.metadata, message_hash(envelope), postmark, code, key)


def conversation_partner(envelope: StoredEnvelope | Received, owner: str) -> str:
    """The conversation partner of the archive's owner, normalised. Raises TheirError(NAME_INVALID)."""
    if isinstance(envelope, Received):
        return SET_ASIDE if envelope.set_aside else envelope.author
    sender = normalize(envelope.message.metadata.sender)
    return normalize(envelope.message.metadata.to) if sender == normalize(owner) else sender


def read_entry(value: JsonValue) -> Entry:
    """The entry in a parsed value. Raises TheirError, with the reason of the part that is invalid."""
    members = members_of(value, "an entry", _INVALID)
    if _TOMBSTONE in members:
        return _read_tombstone(members[_TOMBSTONE])
    if _RECEIVED in members:
        return _read_received(members[_RECEIVED])
    postmark, unverified = take(members, "postmark", _INVALID), take(members, "unverified", _INVALID)
    signing_key = take(members, "signingKey", _INVALID)
    return StoredEnvelope(
        message=read_message(members.get("message")),
        metadata=read_metadata(members.get("metadata")),
        message_hash=take(members, "messageHash", _INVALID),
        postmark=None if postmark is None else read_parsed_postmark(postmark),
        unverified="" if unverified is None else unverified,
        signing_key="" if signing_key is None else signing_key,
    )


def _read_tombstone(value: JsonValue) -> Tombstone:
    members = members_of(value, "a tombstone", _INVALID)
    hashes, cause = take(members, "hashes", _INVALID), take(members, "cause", _INVALID)
    if not isinstance(hashes, list) or cause not in list(Removal):
        raise TheirError(_INVALID, "a tombstone has no hashes, or a cause that is not known")
    return Tombstone(
        message_hash=take(members, "messageHash", _INVALID),
        timestamp_ms=take(members, "timestamp", _INVALID),
        author=take(members, "from", _INVALID),
        references=tuple(hashes),
        edited=take(members, "edited", _INVALID),
        cause=Removal(cause),
        removed_by=take(members, "removedBy", _INVALID),
    )


def _read_received(value: JsonValue) -> Received:
    members = members_of(value, "a message as it was received", _INVALID)
    set_aside = take(members, "setAside", _INVALID)
    return Received(
        id=take(members, "id", _INVALID),
        timestamp_ms=take(members, "at", _INVALID),
        author=take(members, "from", _INVALID),
        receipt=take(members, "receipt", _INVALID),
        envelope=take(members, "envelope", _INVALID),
        set_aside="" if set_aside is None else set_aside,
    )


def _encode(members: dict[str, JsonValue]) -> bytes:
    # Not `stringify`: it writes 1e20 as an integer, which no strict parser reads again.
    try:
        return orjson.dumps(members, option=orjson.OPT_STRICT_INTEGER)
    except orjson.JSONEncodeError as error:
        raise TheirError(_INVALID, f"the envelope holds a value that has no JSON text: {error}") from None


def _check_hash(value: object, what: str) -> None:
    if not isinstance(value, str) or not _HASH.fullmatch(value):
        raise TheirError(_INVALID, f"{what} is not the lower-case hex of a SHA-256")
