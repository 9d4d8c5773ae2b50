"""Storing and finding messages, as steps: a sequence of calls of a home.

Several devices may write at once, and each may die between any two calls. To store messages, a device

1. reads the conversation, then the chunks that matter (protocols/dm3/chunking.py), 2. writes the chunks that change,
each on condition that it is as it was read; a new one, that it does not exist yet, 3. writes the conversation on the
same condition, even if nothing changed in it, and 4. deletes chunks that are no longer needed; a device that adds a
partner finally lists it in the root.

The messages are stored after step 3. What was read in step 1, and everything based on it, is valid only if no other
device has reached step 3 in between: if the condition does not hold, the device starts again, and merges. So a chunk
that moved never takes along something that another device was adding to it. A message that is found in the last chunk,
where a device that died at step 2 may have left it, is stored like any other.

A new chunk belongs to the device that began it, until it is listed. Another device that finds it before that does not
touch it, chooses another id, and notes the chunk among the discarded ones. It is deleted once no device can list it any
more (`is_dead`).
"""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, TypeAlias, TypeVar

from postroom.client.archive.home import MAX_CONTAINER_BYTES, ConflictError, Home, HomeObject
from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.core.steps import drive
from postroom.protocols.dm3.chunking import batches, choose_chunks, is_dead
from postroom.protocols.dm3.containers import (
    Chunk,
    ChunkIdentifier,
    ContainerError,
    ConversationChunks,
    Root,
    chunk_key,
    conversation_key,
    read_chunk,
    read_conversation,
    read_root,
)
from postroom.protocols.dm3.edits import merge_copies, names_of, removals_requested, settle
from postroom.protocols.dm3.storage_key import StorageKey
from postroom.protocols.dm3.stored import Entry, place

MAX_ROUNDS: Final = 100
"""After each conflict, another device has succeeded; so many in a row mean that the home does not work."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Get:
    """`Home.get`."""

    key: str

    def make(self, home: Home) -> HomeObject | None:
        """Make the call."""
        return home.get(self.key)


@dataclass(frozen=True, slots=True)
class Put:
    """`Home.put`."""

    key: str
    data: bytes
    etag: str | None

    def make(self, home: Home) -> str:
        """Make the call."""
        return home.put(self.key, self.data, etag=self.etag)


@dataclass(frozen=True, slots=True)
class Delete:
    """`Home.delete`."""

    key: str

    def make(self, home: Home) -> None:
        """Make the call."""
        home.delete(self.key)


Call: TypeAlias = Get | Put | Delete
Steps: TypeAlias = Generator[Call, HomeObject | str | None, T]
"""Yields calls to make; is sent the result of each, or its ConflictError is thrown in."""


def run(steps: Steps[T], home: Home) -> T:
    """The result of steps, with their calls made to `home`.

    Raises what the steps and the home raise, except ConflictError.
    """
    return drive(steps, lambda call: call.make(home))


@dataclass(frozen=True, slots=True)
class ArchiveFiling:
    """How one archive stores messages.

    `root`: key of the root container. `nonce()`: 12 random bytes, never the same. `chunk_bytes`, `keep_history`: as in
    `choose_chunks`. All steps raise ContainerError if a container cannot be decrypted or read.
    """

    root: str
    storage_key: StorageKey
    nonce: Callable[[], bytes]
    chunk_bytes: int
    keep_history: bool

    def conversations(self) -> Steps[tuple[str, ...]]:
        """The conversation partners."""
        root, _ = yield from self._read_root()
        return root.conversations

    def open(self, partner: str) -> Steps[list[Entry]]:
        """All messages of a conversation, after edits and deletions, by time. Raises NotNowError(STORE_UNAVAILABLE)."""
        return (yield from again(partial(self._open, conversation_key(self.root, partner))))

    def store(self, conversations: Mapping[str, Iterable[Entry]]) -> Steps[None]:
        """Store messages, by conversation partner. Raises NotNowError(STORE_UNAVAILABLE).

        A stored message is not changed, unless the new one is a tombstone, or is proven and the stored one is not.
        """
        partners = set()
        for partner, entries in conversations.items():
            for batch in batches(merge_copies(entries).values(), self.chunk_bytes):
                yield from again(partial(self._store, conversation_key(self.root, partner), batch, _Begun()))
                partners.add(partner)
        if partners:
            yield from again(partial(self._list, partners))

    def read_conversation(self, at: str) -> Steps[tuple[ConversationChunks, str | None]]:
        """The conversation under this key, with its etag; None: there is none, and it has no chunks."""
        found = yield from self._get(at)
        if found is None:
            return ConversationChunks(), None
        return read_conversation(self.storage_key.open(found.data, at), at), found.etag

    def read_chunk_of(self, at: str, identifier: ChunkIdentifier, etag: str | None) -> Steps[tuple[Chunk, str]]:
        """A chunk of the conversation with this etag, with its own etag. Raises ConflictError if it moved."""
        key = chunk_key(at, identifier)
        found = yield from self._get(key)
        if found is None:
            conversation = yield from self._get(at)
            if conversation is None or conversation.etag != etag:
                raise ConflictError
            raise ContainerError(key, f"is missing: chunk {identifier.id} of the conversation {at}")
        return read_chunk(self.storage_key.open(found.data, key), key), found.etag

    def _open(self, at: str) -> Steps[list[Entry]]:
        """One attempt."""
        conversation, etag = yield from self.read_conversation(at)
        entries: list[Entry] = []
        for identifier in conversation.chunks:
            chunk, _ = yield from self.read_chunk_of(at, identifier, etag)
            entries += chunk.entries
        return sorted(settle(entries, keep_history=self.keep_history).values(), key=place)

    def _store(self, at: str, brought: list[Entry], begun: "_Begun") -> Steps[None]:
        """One attempt. `begun`: new chunks of the attempts before it."""
        conversation, etag = yield from self.read_conversation(at)
        yield from _delete_dead(at, conversation)
        chunks, etags = yield from self._read_chunks(at, conversation, etag, brought)
        update = choose_chunks(
            conversation,
            chunks,
            brought,
            taken=begun.by_others,
            limit_bytes=self.chunk_bytes,
            keep_history=self.keep_history,
        )
        for identifier, chunk in update.chunks.items():
            sealed = partial(self._sealed, chunk_key(at, identifier), chunk.encode())
            if identifier in etags:
                yield sealed(etags[identifier])
            else:
                yield from _begin(identifier, sealed, begun)
        doubtful = {identifier for identifier in conversation.discarded if not is_dead(identifier, conversation)}
        discarded = doubtful.union(update.conversation.discarded, begun.by_us, begun.by_others)
        listed = update.conversation.chunks
        after = replace(update.conversation, discarded=tuple(sorted(discarded.difference(listed))))
        yield self._sealed(at, after.encode(), etag)
        yield from _delete_dead(at, after)

    def _list(self, partners: set[str]) -> Steps[None]:
        """One attempt to list these partners in the root."""
        root, etag = yield from self._read_root()
        if not partners <= set(root.conversations):
            listed = tuple(sorted(partners.union(root.conversations)))
            yield self._sealed(self.root, Root(listed).encode(), etag)

    def _read_chunks(
        self, at: str, conversation: ConversationChunks, etag: str | None, brought: list[Entry]
    ) -> Steps[tuple[dict[ChunkIdentifier, Chunk], dict[ChunkIdentifier, str]]]:
        """The chunks that `choose_chunks` asks for, with their etags, from the newest on."""
        earliest = min(entry.timestamp_ms for entry in brought)
        requested = removals_requested(brought)
        chunks: dict[ChunkIdentifier, Chunk] = {}
        etags: dict[ChunkIdentifier, str] = {}
        ends: tuple[float, ...] = (*conversation.ends_ms, float("inf"))
        for identifier, end in reversed([*zip(conversation.chunks, ends, strict=False)]):
            if requested or end >= earliest:
                chunk, etags[identifier] = yield from self.read_chunk_of(at, identifier, etag)
                chunks[identifier] = chunk
                for entry in chunk.entries if requested else ():
                    if not requested.isdisjoint(names := names_of(entry)):
                        requested -= names
                        # Its other versions may be in any chunk that does not end before it.
                        earliest = min(earliest, entry.timestamp_ms)
        return chunks, etags

    def _read_root(self) -> Steps[tuple[Root, str | None]]:
        found = yield from self._get(self.root)
        if found is None:
            return Root(), None
        return read_root(self.storage_key.open(found.data, self.root), self.root), found.etag

    def _get(self, key: str) -> Steps[HomeObject | None]:
        found = yield Get(key)
        return found if isinstance(found, HomeObject) else None

    def _sealed(self, key: str, text: bytes, etag: str | None) -> Put:
        data = self.storage_key.seal(text, key, self.nonce())
        if len(data) > MAX_CONTAINER_BYTES:
            raise ContainerError(key, f"would have {len(data)} bytes; at most {MAX_CONTAINER_BYTES} are read again")
        return Put(key, data, etag)


@dataclass(slots=True)
class _Begun:
    """New chunks that are not listed yet. `by_us`: with their etags."""

    by_us: dict[ChunkIdentifier, str] = field(default_factory=dict)
    by_others: set[ChunkIdentifier] = field(default_factory=set)


def _delete_dead(at: str, conversation: ConversationChunks) -> Steps[None]:
    for identifier in conversation.discarded:
        if is_dead(identifier, conversation):
            yield Delete(chunk_key(at, identifier))


def _begin(identifier: ChunkIdentifier, sealed: Callable[[str | None], Put], begun: _Begun) -> Steps[None]:
    """Write a chunk that is not listed yet. Raises ConflictError if it is not ours."""
    try:
        begun.by_us[identifier] = str((yield sealed(begun.by_us.get(identifier))))
    except ConflictError:
        begun.by_us.pop(identifier, None)
        begun.by_others.add(identifier)
        raise


def again(attempt: Callable[[], Steps[T]]) -> Steps[T]:
    """Repeat an attempt until nobody writes in between. Raises NotNowError(STORE_UNAVAILABLE)."""
    for _ in range(MAX_ROUNDS):
        try:
            return (yield from attempt())
        except ConflictError:
            continue
    raise NotNowError(STORE_UNAVAILABLE, f"others wrote to the archive {MAX_ROUNDS} times in between")
