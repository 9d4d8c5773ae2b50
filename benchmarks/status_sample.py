"""Messages of Status for benchmarks, and the steps with a wrapper that cannot be avoided."""

import hashlib
from typing import Final

import coincurve

from postroom.crypto.ethereum import keccak_256
from postroom.crypto.ethereum_keys import SIGNATURE_BYTES
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.chats import group_id
from postroom.protocols.status.codec import type_of_message, write_payload
from postroom.protocols.status.enums import ChatKind, ContentType, ImageType, MembershipEventType
from postroom.protocols.status.ids import message_id
from postroom.protocols.status.keys import ChatKey
from postroom.protocols.status.membership import sign_event
from postroom.protocols.status.messages import (
    ChatMessage,
    ImageMessage,
    MembershipUpdateEvent,
    MembershipUpdateMessage,
    StatusMessage,
)
from postroom.protocols.status.proto import payloads_pb2 as pb
from postroom.protocols.status.wrapper import write_wrapper

NOW_MS: Final = 1_795_253_400_000
SECRET: Final = hashlib.sha256(b"the author of the benchmarks").digest()
AUTHOR: Final = AuthorKey.from_secret(SECRET)
OWN: Final = AuthorKey.from_secret(hashlib.sha256(b"the receiver of the benchmarks").digest()).public
_GROUP: Final = group_id("6f9619ff-8b86-4d01-b42d-00cf4fc964ff", AUTHOR.public)
_TEXT: Final = ("the quick brown fox jumps over a lazy dog " * 6)[:250]
_PICTURE_BYTES: Final = 300_000
_EVENTS: Final = 100
_BARE_KEY: Final = coincurve.PrivateKey(SECRET)


def text(words: str = _TEXT, clock: int = NOW_MS) -> ChatMessage:
    """A text of 250 bytes, unless others are given."""
    return ChatMessage(clock, NOW_MS, words, OWN, ChatKind.ONE_TO_ONE, ContentType.TEXT_PLAIN)


def picture() -> ChatMessage:
    """A picture of 300 kB."""
    image = ImageMessage(b"\xff\xd8\xff".ljust(_PICTURE_BYTES, b"."), ImageType.JPEG)
    return ChatMessage(NOW_MS, NOW_MS, "", OWN, ChatKind.ONE_TO_ONE, ContentType.IMAGE, image=image)


def update() -> MembershipUpdateMessage:
    """An update with 100 events, each of which adds another member."""
    members = [AuthorKey.from_secret(hashlib.sha256(b"%d" % number).digest()).public for number in range(_EVENTS - 1)]
    events = [MembershipUpdateEvent(NOW_MS, MembershipEventType.CHAT_CREATED, name="Choir")]
    events += [MembershipUpdateEvent(NOW_MS, MembershipEventType.MEMBERS_ADDED, (member,)) for member in members]
    return MembershipUpdateMessage(_GROUP, tuple(sign_event(_GROUP, event, AUTHOR) for event in events))


def wrapped(message: StatusMessage) -> tuple[bytes, str]:
    """Ours: the signed wrapper of a message, and its ID."""
    payload = write_payload(message)
    wrapper = write_wrapper(payload, AUTHOR.sign(payload), type_of_message(message))
    return wrapper, message_id(AUTHOR.public, wrapper)


def bare_text() -> tuple[bytes, str]:
    """Bare: the same wrapper and ID of the text, by the libraries alone."""
    payload = pb.ChatMessage(
        clock=NOW_MS, timestamp=NOW_MS, text=_TEXT, chat_id=OWN, message_type=1, content_type=1
    ).SerializeToString()
    signature = _BARE_KEY.sign_recoverable(keccak_256(payload), hasher=None)
    wrapper = pb.ApplicationMetadataMessage(signature=signature, payload=payload, type=1).SerializeToString()
    return wrapper, f"0x{keccak_256(_point(AUTHOR.public) + wrapper).hex()}"


def bare_message(wrapper: bytes) -> tuple[str, str]:
    """Bare: the author and the ID of a chat message: two parses, one recovery, two Keccak-256."""
    outer = pb.ApplicationMetadataMessage.FromString(wrapper)
    pb.ChatMessage.FromString(outer.payload)
    return _author_and_id(outer, wrapper)


def bare_update(wrapper: bytes) -> tuple[str, str]:
    """Bare: the same of an update, and the author of each event."""
    outer = pb.ApplicationMetadataMessage.FromString(wrapper)
    group = pb.MembershipUpdateMessage.FromString(outer.payload)
    signed = group.chat_id.encode()
    for event in group.events:
        pb.MembershipUpdateEvent.FromString(event[SIGNATURE_BYTES:])
        _recovered(event[:SIGNATURE_BYTES], signed + event[SIGNATURE_BYTES:])
    return _author_and_id(outer, wrapper)


def _author_and_id(outer: pb.ApplicationMetadataMessage, wrapper: bytes) -> tuple[str, str]:
    point = _recovered(outer.signature, outer.payload)
    return f"0x{point.hex()}", f"0x{keccak_256(point + wrapper).hex()}"


def _recovered(signature: bytes, data: bytes) -> bytes:
    key = coincurve.PublicKey.from_signature_and_message(signature, keccak_256(data), hasher=None)
    return key.format(compressed=False)


def _point(key: ChatKey) -> bytes:
    return bytes.fromhex(key[2:])
