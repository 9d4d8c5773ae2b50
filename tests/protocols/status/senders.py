"""Users of chats, and what they send as it reaches another."""

from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.codec import type_of_message, write_payload
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.log import ChatLog, Fact
from postroom.protocols.status.messages import StatusMessage
from postroom.protocols.status.verify import VerifiedPayload, verify
from postroom.protocols.status.wrapper import write_wrapper

ALICE, BOB, CAROL, DAVE = (AuthorKey.from_secret(bytes([number]) * 32) for number in range(1, 5))
NOW_MS = 1_700_000_000_000
PNG = b"\x89PNG\r\n\x1a\n and the rest"


def wrapped(message: StatusMessage, author: AuthorKey) -> bytes:
    payload, type_ = write_payload(message), type_of_message(message)
    typed = type_ != PayloadType.CHAT_MESSAGE_IDENTITY
    return write_wrapper(payload, author.sign(payload), type_, typed=typed)


def received(message: StatusMessage, author: AuthorKey, own: AuthorKey) -> VerifiedPayload:
    return verify(wrapped(message, author), own=own.public, named=type_of_message(message))


def add(log: ChatLog, message: StatusMessage, author: AuthorKey, own: AuthorKey, at_ms: int = NOW_MS) -> Fact:
    return log.add(received(message, author, own), at_ms)
