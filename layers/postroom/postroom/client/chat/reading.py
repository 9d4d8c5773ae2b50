"""The reader of an archive's conversations for chats, which reads each again only if it has changed."""

import gc
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

from postroom.client.archive import Archive
from postroom.client.chat.entries import ReadEntry, read_entries
from postroom.client.chat.index import ChatIndex, IndexedConversation
from postroom.protocols.dm3.stored import SET_ASIDE, UNSENT
from postroom.protocols.status.keys import ChatKey

_OTHERS: Final = (SET_ASIDE, UNSENT)
"""Lists that are no conversations."""
_MOST_UNWRITTEN: Final = 1000
"""So many messages are read before they are put into the index."""


@dataclass(slots=True)
class ConversationReader:
    """Reads an archive, and knows what it has read. `own`: the owner's chat key.

    `index`: what was read before, by any process on this machine; None: nothing is kept.
    """

    archive: Archive
    own: ChatKey
    index: ChatIndex | None = None
    _read: dict[str, IndexedConversation] | None = field(default=None, init=False)

    def read(self) -> Mapping[str, Sequence[ReadEntry]]:
        """What all conversations say of chats, by partner. Raises as `Archive` does; sqlite3.Error."""
        with _no_collections():
            known = self._read
            if known is None:
                known = self.index.load(self.own) if self.index else {}
            partners = [partner for partner in self.archive.conversations() if partner not in _OTHERS]
            self._forget(known.keys() - set(partners))
            self._read = {partner: known[partner] for partner in partners if partner in known}
            self._follow(partners, self._read)
        return {partner: self._read[partner][1] for partner in partners}

    def _follow(self, partners: Iterable[str], read: dict[str, IndexedConversation]) -> None:
        """Read the conversations that have changed."""
        new: dict[str, IndexedConversation] = {}
        try:
            for partner in partners:
                before = read.get(partner)
                read[partner] = now = self._read_one(partner, before)
                if now is not before:
                    new[partner] = now
                if sum(len(entries) for _, entries in new.values()) >= _MOST_UNWRITTEN:
                    self._write(new)
        except BaseException:
            with suppress(sqlite3.Error):
                self._write(new)
            raise
        self._write(new)

    def _read_one(self, partner: str, known: IndexedConversation | None) -> IndexedConversation:
        # Before the messages: if the conversation changes in between, it is read again the next time.
        etag = self.archive.etag(partner) or ""
        if known is not None and known[0] == etag:
            return known
        return etag, read_entries(self.archive.whole(partner), self.own, known[1] if known else ())

    def _forget(self, partners: Collection[str]) -> None:
        if self.index is not None:
            self.index.forget(partners)

    def _write(self, new: dict[str, IndexedConversation]) -> None:
        if self.index is not None:
            self.index.put(new)
        new.clear()


@contextmanager
def _no_collections() -> Iterator[None]:
    """Let Python not look for garbage: it would look through all messages again and again while they are read."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
