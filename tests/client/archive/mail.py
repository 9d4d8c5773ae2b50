"""Bob's archive, with mail that has passed a delivery service."""

import json
from dataclasses import replace
from typing import Any

from tests.protocols.dm3.stored_mail import ALICE, BOB

from postroom.client.archive import Archive, KnownSigningKeys, MemoryHome
from postroom.crypto.x25519 import EncryptionKey
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY, MemoryRegistry
from postroom.protocols.dm3.envelope import DeliveryInformation, open_message, read_envelope, write_envelope
from postroom.protocols.dm3.keys import UserKeys
from postroom.protocols.dm3.message import MessageMetadata, MessageType
from postroom.protocols.dm3.postmark import make_postmark, read_postmark
from postroom.protocols.dm3.profile import ServiceProfile, UserProfile, data_uri
from postroom.protocols.dm3.sealing import open_sealed
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.dm3.storage_key import StorageKey
from postroom.protocols.dm3.stored import StoredEnvelope, store_envelope

USERS = {ALICE: UserKeys.random(), BOB: UserKeys.random("ed25519"), "carol.eth": UserKeys.random()}
STRANGER = UserKeys.random()
"""Of whoever has no profile."""
SERVICE_NAME = "ds.eth"
SERVICE, SERVICE_SEALS = UserKeys.random().signing, EncryptionKey.generate()
STORAGE_KEY = StorageKey(bytes(range(32)))
SENT_AT = 1_795_253_400_000
KEYS = KnownSigningKeys({name: [keys.signing.public] for name, keys in USERS.items()}, [SERVICE.public])


def archive(home: Any = None, **settings: Any) -> Archive:
    signature = USERS[BOB].signing.sign(BOB.encode())
    return Archive.of(MemoryHome() if home is None else home, BOB, signature, STORAGE_KEY, **settings)


def in_small_chunks(mine: Archive) -> Archive:
    """The archive with smaller chunks than any other has, so that little mail fills several."""
    return mine.with_chunks_of(500_000)


def sealed(
    text: str, at: int = 0, sender: str = ALICE, to: str = BOB, kind: MessageType = MessageType.NEW, about: str = ""
) -> str:
    """A message that has passed a delivery service, as its receiver fetches it: JSON text."""
    metadata = MessageMetadata(to, sender, SENT_AT + at, kind, about or None)
    signing = USERS.get(sender, STRANGER).signing
    message = sign_message(text, metadata, signing)
    delivery, receiver = DeliveryInformation(to, sender), USERS.get(to, USERS[BOB])
    envelope = write_envelope(
        message,
        delivery=delivery,
        receiver_key=receiver.encryption.public,
        service_key=SERVICE_SEALS.public,
        signing=signing,
    )
    stamp = make_postmark(envelope.message, delivery, SENT_AT + at, SERVICE, receiver.encryption.public)
    return replace(envelope, postmark=stamp).encode()


def delivered(
    text: str, at: int = 0, sender: str = ALICE, to: str = BOB, kind: MessageType = MessageType.NEW, about: str = ""
) -> StoredEnvelope:
    """The same message, opened, in the form of an archive."""
    arrived = read_envelope(json.loads(sealed(text, at, sender, to, kind, about)))
    keys = [USERS[to].encryption]
    assert arrived.postmark
    return store_envelope(arrived, open_message(arrived, keys), read_postmark(open_sealed(arrived.postmark, keys)))


def registry(*further: str) -> MemoryRegistry:
    """The profiles of all users. `further`: names with Bob's profile."""
    made = MemoryRegistry()
    for name in (*USERS, *further):
        keys = USERS.get(name, USERS[BOB])
        profile = UserProfile(keys.encryption.public, keys.signing.public, (SERVICE_NAME,))
        made.put(name, PROFILE_KEY, data_uri(profile.as_json()))
    service = ServiceProfile(SERVICE_SEALS.public, SERVICE.public, "https://ds.example")
    made.put(SERVICE_NAME, SERVICE_KEY, data_uri(service.as_json()))
    return made


HELLO = delivered("hello")


def filled(home: Any = None) -> Archive:
    """Three messages of two partners, and a fourth one that was deleted."""
    mine = archive(home)
    deleted = delivered("deleted", 1)
    mine.store([HELLO, deleted, delivered("from carol", 1, "carol.eth")])
    mine.store([delivered("", 2, kind=MessageType.DELETE_REQUEST, about=deleted.message_hash)])
    return mine
