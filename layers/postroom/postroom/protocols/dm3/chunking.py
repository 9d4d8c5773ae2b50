"""The choice of a chunk for a message of a conversation (dm3 §3.2.1).

Messages are added to the last chunk until it would exceed the limit; then the next one begins, and the former is full
for good. A late message goes into the last chunk, too: chunks overlap in time, and readers merge them by time. A full
chunk changes only if one of its messages is removed, or is proven later.

A chunk's key depends on the time of its first message. If a late message becomes the first one in the last chunk, that
chunk moves: it is written under its new key, the list names the new one, then the old one is deleted. A chunk is either
moved or filled, never both at once: a message that would do both goes into the next chunk.

Ids only grow, and a chunk with a given id only ever begins earlier, so it is certain which keys cannot be used any
more.

Our own members have these purposes:

- `full` stops writers that still take a chunk for the last one: no message is in two chunks.
- `ends` tell which chunks may contain a copy of a message, or a request to remove it: those that do not end before it.
  To store new messages, only the last chunk is read.
- `discarded` tells the next device which chunks to delete as soon as `is_dead` allows it: those that were replaced, or
  begun and not used.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from postroom.core.errors import SettingsError
from postroom.protocols.dm3.containers import Chunk, ChunkIdentifier, ConversationChunks
from postroom.protocols.dm3.edits import settle
from postroom.protocols.dm3.stored import Entry, place

MIN_LIMIT_BYTES: Final = 6_000_000
"""More than the largest message that our delivery service accepts, whatever its settings (dm3 §3.2.1, note)."""
MAX_LIMIT_BYTES: Final = 10_000_000
DEFAULT_LIMIT_BYTES: Final = MIN_LIMIT_BYTES
"""The last chunk is written again whenever a message is added."""

_FRAME_BYTES: Final = len(Chunk((), is_full=True).encode()) - 1
"""The text around the messages, each of which is counted with a comma: there is one comma less."""


def check_limit(limit_bytes: int) -> None:
    """Raises SettingsError if a chunk's size has no room for every message, or is more than the recommended 10 MB."""
    if not MIN_LIMIT_BYTES <= limit_bytes <= MAX_LIMIT_BYTES:
        raise SettingsError(
            f"the size of a chunk is {limit_bytes} bytes; it must be {MIN_LIMIT_BYTES} to {MAX_LIMIT_BYTES}"
        )


@dataclass(frozen=True, slots=True)
class ConversationUpdate:
    """What must be written: these chunks in any order, then the conversation."""

    conversation: ConversationChunks
    chunks: Mapping[ChunkIdentifier, Chunk]


def batches(entries: Iterable[Entry], limit_bytes: int) -> Iterator[list[Entry]]:
    """The entries in parts, each of which begins one chunk at most."""
    waiting = sorted(entries, key=place)
    while waiting:
        batch, waiting = _fill((), waiting, limit_bytes)
        yield batch


def choose_chunks(
    conversation: ConversationChunks,
    read: Mapping[ChunkIdentifier, Chunk],
    brought: Iterable[Entry],
    *,
    taken: Container[ChunkIdentifier] = (),
    limit_bytes: int,
    keep_history: bool,
) -> ConversationUpdate:
    """Choose a chunk for each new message.

    `read`: the last chunk of the conversation, and all that may contain a copy of a new message, a message that one
    asks to remove, or a request to remove one. `taken`: the new chunks that others have begun, and may still list.
    `limit_bytes`: of a chunk's text; a longer message has a chunk of its own. `keep_history`: as for `settle`.
    """
    there = [entry for chunk in read.values() for entry in chunk.entries]
    settled = settle(chain(there, brought), keep_history=keep_history)
    chunks = {
        identifier: replace(chunk, entries=tuple(settled[entry.message_hash] for entry in chunk.entries))
        for identifier, chunk in read.items()
    }
    for entry in there:
        settled.pop(entry.message_hash, None)
    fresh = sorted(settled.values(), key=place)
    added = _OpenConversation(conversation, chunks, taken, limit_bytes)
    added.add(fresh)
    changed = {identifier: chunk for identifier, chunk in added.chunks.items() if chunk != read.get(identifier)}
    return ConversationUpdate(
        ConversationChunks(tuple(added.listed), tuple(added.ends_ms), tuple(added.discarded)), changed
    )


class _OpenConversation:
    """A conversation while messages are added to it."""

    def __init__(
        self,
        conversation: ConversationChunks,
        chunks: dict[ChunkIdentifier, Chunk],
        taken: Container[ChunkIdentifier],
        limit_bytes: int,
    ) -> None:
        self.listed = list(conversation.chunks)
        self.ends_ms = list(conversation.ends_ms)
        self.discarded: list[ChunkIdentifier] = []
        self.chunks = chunks
        self._taken = taken
        self._limit_bytes = limit_bytes

    def add(self, fresh: list[Entry]) -> None:
        """Add new messages, sorted by `place`."""
        if fresh and self.listed and not self.chunks[self.listed[-1]].is_full:
            fresh = self._append(fresh)
        while fresh:
            if self.listed:
                self.ends_ms.append(self.chunks[self.listed[-1]].entries[-1].timestamp_ms)
            run, fresh = _fill((), fresh, self._limit_bytes)
            identifier = self._next(run[0].timestamp_ms)
            self.listed.append(identifier)
            self.chunks[identifier] = Chunk(tuple(run), is_full=bool(fresh))

    def _append(self, fresh: list[Entry]) -> list[Entry]:
        """Add as many to the last chunk as it has room for; returns the rest, for the next one."""
        last = self.listed[-1]
        entries = self.chunks[last].entries
        run, rest = _fill(entries, fresh, self._limit_bytes)
        moved = replace(last, timestamp_ms=min(last.timestamp_ms, run[0].timestamp_ms))
        if moved != last and (rest or moved in self._taken):
            late = [entry for entry in fresh if entry.timestamp_ms < last.timestamp_ms]
            run, rest = _fill(entries, fresh[len(late) :], self._limit_bytes)
            moved, rest = last, late + rest
        if moved != last:
            del self.chunks[last]
            self.listed[-1] = moved
            self.discarded.append(last)
        self.chunks[moved] = Chunk(tuple(run), is_full=bool(rest))
        return rest

    def _next(self, timestamp_ms: int) -> ChunkIdentifier:
        identifier = ChunkIdentifier(self.listed[-1].id + 1 if self.listed else 0, timestamp_ms)
        while identifier in self._taken:
            identifier = replace(identifier, id=identifier.id + 1)
        return identifier


def is_dead(identifier: ChunkIdentifier, conversation: ConversationChunks) -> bool:
    """Whether this chunk is not listed and can never be again: then any device may delete it at any time."""
    last = conversation.chunks[-1]
    if identifier.id == last.id:
        return identifier > last
    return identifier.id < last.id and identifier not in conversation.chunks


def _fill(entries: Iterable[Entry], fresh: list[Entry], limit_bytes: int) -> tuple[list[Entry], list[Entry]]:
    """A chunk's messages, sorted, with as many of the next as it has room for, but at least one; and the rest."""
    run = list(entries)
    size = _FRAME_BYTES + sum(len(entry.encode()) + 1 for entry in run)
    taken = 0
    for entry in fresh:
        size += len(entry.encode()) + 1
        if run and size > limit_bytes:
            break
        run.append(entry)
        taken += 1
    return sorted(run, key=place), fresh[taken:]
