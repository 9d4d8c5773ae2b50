"""IDs of messages and reactions."""

import re
from typing import Final, NewType

from postroom.crypto.encodings import write_hex
from postroom.crypto.ethereum import keccak_256
from postroom.protocols.status.keys import ChatKey, point_of

MessageId = NewType("MessageId", str)
"""0x and 64 hex digits in lower case."""

_MESSAGE_ID_LENGTH: Final = 66
_MESSAGE_ID: Final = re.compile("0x[0-9a-f]{64}", re.ASCII)


def message_id(author: ChatKey | None, wrapper: bytes) -> MessageId:
    """The ID of a message: the Keccak-256 of the author's point and of the whole wrapper as received.

    `author`: whose signature the wrapper has; None: it has none.
    """
    return MessageId(write_hex(keccak_256((point_of(author) if author else b"") + wrapper)))


def is_message_id(text: str) -> bool:
    """Whether a text is written as an ID of a message."""
    # The length first: where there may be one, most texts are keys and names of chats.
    return len(text) == _MESSAGE_ID_LENGTH and _MESSAGE_ID.fullmatch(text) is not None


def reaction_id(author: ChatKey, message: str, kind: int) -> str:
    """The ID under which Status's clients keep a reaction. It is on no wire."""
    return write_hex(keccak_256(f"{author}{message}{kind}".encode()))
