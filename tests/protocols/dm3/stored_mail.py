"""Stored messages between alice.eth and bob.eth, created in short form."""

import hashlib
from collections.abc import Iterable
from typing import Any

from postroom.protocols.dm3.envelope import Dm3Envelope, EnvelopeMetadata
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.message import MessageMetadata, MessageType
from postroom.protocols.dm3.reasons import SENDER_SIGNATURE_INVALID
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.dm3.stored import Entry, StoredEnvelope, Tombstone, store_envelope

ALICE, BOB = "alice.eth", "bob.eth"
KEYS = {
    ALICE: PrivateSigningKey.from_seed(hashlib.sha256(b"alice").digest()),
    BOB: PrivateSigningKey.from_seed(hashlib.sha256(b"bob").digest()),
}
AT = 1_795_253_400_000


def stored_message(
    text: str,
    at: int = 0,
    *,
    sender: str = ALICE,
    to: str = BOB,
    kind: MessageType = MessageType.NEW,
    about: str | None = None,
    unverified: bool = False,
    extra: dict[str, Any] | None = None,
) -> StoredEnvelope:
    """A message `at` milliseconds after `AT`; equal arguments give equal messages."""
    metadata = MessageMetadata(to, sender, AT + at, kind, about)
    message = sign_message(text, metadata, KEYS.get(sender, KEYS[ALICE]), extra=extra)
    envelope = Dm3Envelope(f"sealed {message.signature}", EnvelopeMetadata("1.0", None, "sealed", "AAAA"))
    return store_envelope(envelope, message, None, unverified=SENDER_SIGNATURE_INVALID if unverified else None)


def deletion(of: Entry | str, at: int = 1000, *, sender: str = ALICE, **further: Any) -> StoredEnvelope:
    """A DELETE_REQUEST of its author."""
    about = of if isinstance(of, str) else of.message_hash
    return stored_message("", at, sender=sender, kind=MessageType.DELETE_REQUEST, about=about, **further)


def edit(of: Entry | str, text: str, at: int = 500, *, sender: str = ALICE, **further: Any) -> StoredEnvelope:
    """An EDIT of its author."""
    about = of if isinstance(of, str) else of.message_hash
    return stored_message(text, at, sender=sender, kind=MessageType.EDIT, about=about, **further)


def texts_of(entries: Iterable[Entry]) -> list[str]:
    """The texts of entries; the reasons of tombstones."""
    return [f"† {entry.cause}" if isinstance(entry, Tombstone) else entry.message.message or "" for entry in entries]
