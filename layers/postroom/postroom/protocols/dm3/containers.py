"""The containers of an archive (dm3 §3.2.1): a root that lists conversations, which list chunks, which have messages.

Each is a JSON text under a key that only its owner can compute (decision "Containers"). It is encrypted
(storage_key.py), and can be stored anywhere. Three members are our own, and ignored by other readers: `ends` and
`discarded` of a conversation, `full` of a chunk (chunking.py says what they are for).
"""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, TypeVar

import orjson

from postroom.core.errors import PostroomError, TheirError
from postroom.core.ijson import MAX_DEPTH, MAX_EXACT_INTEGER, JsonValue, parse
from postroom.protocols.dm3.dialect import container_key
from postroom.protocols.dm3.members import check_text, check_timestamp, members_of, take
from postroom.protocols.dm3.reasons import ENVELOPE_INVALID
from postroom.protocols.dm3.stored import Entry, read_entry

T = TypeVar("T")

_INVALID: Final = ENVELOPE_INVALID
_FURTHER_LEVELS: Final = 4
"""The number of levels by which a message or postmark is nested deeper in a chunk than in its own text."""


class ContainerError(PostroomError):
    """A container is missing, or its content does not fit its key; the sentence names the key."""

    def __init__(self, key: str, what: str) -> None:
        super().__init__(f"the container {key} {what}")
        self.key = key
        self.what = what

    def __reduce__(self) -> tuple[type["ContainerError"], tuple[str, str]]:
        return type(self), (self.key, self.what)


@dataclass(frozen=True, slots=True, order=True)
class ChunkIdentifier:
    """A chunk in a conversation's list. `id`: from 0. `timestamp_ms`: of the first message, epoch milliseconds."""

    id: int
    timestamp_ms: int

    def as_json(self) -> dict[str, JsonValue]:
        """The identifier as it is in the list; the chunk's key is made from its `stringify`."""
        return {"id": self.id, "timestamp": self.timestamp_ms}


def root_key(signature: bytes) -> str:
    """The key of the root container: sha256(signature of the owner's name).

    The text does not say in which form; the reference uses the base64. `signature`: PrivateSigningKey.sign of the
    normalised name in UTF-8, which is always the same; another signing key changes all keys.
    """
    return container_key(b64encode(signature).decode())


def conversation_key(root: str, partner: str) -> str:
    """The key of a conversation container: sha256(root.key + partner). `partner`: a normalised name."""
    return container_key(root, partner)


def chunk_key(conversation: str, identifier: ChunkIdentifier) -> str:
    """The key of a chunk container: sha256(conversation.key + stringify(identifier))."""
    # Written by hand: two integers have no other `stringify`.
    return container_key(conversation, f'{{"id":{identifier.id},"timestamp":{identifier.timestamp_ms}}}')


@dataclass(frozen=True, slots=True)
class Root:
    """The conversation partners: normalised names."""

    conversations: tuple[str, ...] = ()

    def encode(self) -> bytes:
        """The text before encryption."""
        return _encode({"conversations": list(self.conversations)})


@dataclass(frozen=True, slots=True)
class ConversationChunks:
    """The chunks of a conversation, in the order of their ids.

    `ends_ms`: the time of the last message in each chunk but the last. `discarded`: chunks that were replaced, or begun
    and not used.
    """

    chunks: tuple[ChunkIdentifier, ...] = ()
    ends_ms: tuple[int, ...] = ()
    discarded: tuple[ChunkIdentifier, ...] = ()

    def encode(self) -> bytes:
        """The text before encryption."""
        return _encode(
            {
                "chunks": [chunk.as_json() for chunk in self.chunks],
                "ends": list(self.ends_ms),
                "discarded": [chunk.as_json() for chunk in self.discarded],
            }
        )


@dataclass(frozen=True, slots=True)
class Chunk:
    """Messages, sorted by `place`. `is_full`: no more are added."""

    entries: tuple[Entry, ...]
    is_full: bool = False

    def encode(self) -> bytes:
        """The text before encryption."""
        full = b'"full":true,' if self.is_full else b""
        return b'{%b"messages":[%b]}' % (full, b",".join(entry.encode() for entry in self.entries))


def read_root(text: bytes, key: str) -> Root:
    """Read what `Root.encode` wrote. Raises ContainerError."""

    def read(members: dict[str, JsonValue]) -> Root:
        conversations = _list_of(members, "conversations")
        for name in conversations:
            check_text(name, "a conversation", _INVALID)
        return Root(tuple(map(str, conversations)))

    return _read(text, key, read)


def read_conversation(text: bytes, key: str) -> ConversationChunks:
    """Read what `ConversationChunks.encode` wrote. Raises ContainerError.

    If the ends of its chunks are missing, they are assumed to be in the far future.
    """

    def read(members: dict[str, JsonValue]) -> ConversationChunks:
        chunks = tuple(map(_read_identifier, _list_of(members, "chunks")))
        if not chunks:
            raise TheirError(_INVALID, "chunks is empty")
        if any(later.id <= earlier.id for earlier, later in pairwise(chunks)):
            raise TheirError(_INVALID, "the ids of chunks do not increase")
        discarded = _list_of(members, "discarded") if "discarded" in members else []
        return ConversationChunks(chunks, _read_ends(members, len(chunks) - 1), tuple(map(_read_identifier, discarded)))

    return _read(text, key, read)


def read_chunk(text: bytes, key: str) -> Chunk:
    """Read what `Chunk.encode` wrote. Raises ContainerError."""

    def read(members: dict[str, JsonValue]) -> Chunk:
        entries = tuple(map(read_entry, _list_of(members, "messages")))
        if not entries:
            raise TheirError(_INVALID, "messages is empty")
        return Chunk(entries, members.get("full") is True)

    return _read(text, key, read)


def _read(text: bytes, key: str, read: Callable[[dict[str, JsonValue]], T]) -> T:
    try:
        # Its size was limited when it was written, and it was encrypted with the owner's key: each message may be of
        # full size.
        value = parse(text, max_bytes=len(text), max_depth=MAX_DEPTH + _FURTHER_LEVELS, max_values=len(text))
        return read(members_of(value, "it", _INVALID))
    except TheirError as error:
        raise ContainerError(key, f"cannot be read: {error.detail}") from None


def _read_identifier(value: JsonValue) -> ChunkIdentifier:
    members = members_of(value, "a chunk", _INVALID)
    number, timestamp_ms = take(members, "id", _INVALID), take(members, "timestamp", _INVALID)
    if type(number) is not int or not 0 <= number <= MAX_EXACT_INTEGER:
        raise TheirError(_INVALID, "the id of a chunk must be an integer, 0 or greater")
    check_timestamp(timestamp_ms, "the timestamp of a chunk", _INVALID)
    return ChunkIdentifier(number, timestamp_ms)


def _read_ends(members: dict[str, JsonValue], count: int) -> tuple[int, ...]:
    ends = take(members, "ends", _INVALID)
    if not isinstance(ends, list) or len(ends) != count:
        return (MAX_EXACT_INTEGER,) * count
    for end in ends:
        check_timestamp(end, "an end", _INVALID)
    return tuple(ends)


def _encode(members: dict[str, JsonValue]) -> bytes:
    return orjson.dumps(members, option=orjson.OPT_STRICT_INTEGER)


def _list_of(members: dict[str, JsonValue], name: str) -> list[JsonValue]:
    value = members.get(name)
    if not isinstance(value, list):
        raise TheirError(_INVALID, f"{name} is missing or not an array")
    return value
