"""The conversations of an archive as chats read them: each again only if it has changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from postroom.client.archive import Archive
from postroom.client.chat.entries import ReadEntry, read_entries
from postroom.client.chat.index import ChatIndex
from postroom.protocols.dm3.stored import SET_ASIDE, UNSENT
from postroom.protocols.status.keys import ChatKey

_OTHERS: Final = (SET_ASIDE, UNSENT)
"""Lists that are no conversations."""

_Conversation: TypeAlias = tuple[str, Sequence[ReadEntry]]
"""The etag that it had, and its entries."""


@dataclass(slots=True)
class ConversationReader:
    """Reads an archive, and knows what it has read. `own`: the owner's chat key.

    `index`: what was read before, by any process on this machine; None: nothing is kept.
    """

    archive: Archive
    own: ChatKey
    index: ChatIndex | None = None
    _read: dict[str, _Conversation] | None = field(default=None, init=False)

    def read(self) -> Mapping[str, Sequence[ReadEntry]]:
        """What all conversations say of chats, by partner. Raises as `Archive` does; sqlite3.Error."""
        if self._read is None:
            self._read = self.index.load(self.own) if self.index else {}
        partners = [partner for partner in self.archive.conversations() if partner not in _OTHERS]
        if self.index is not None:
            self.index.forget(self._read.keys() - set(partners))
        self._read = {partner: self._read_one(partner, self._read.get(partner)) for partner in partners}
        return {partner: entries for partner, (_, entries) in self._read.items()}

    def _read_one(self, partner: str, known: _Conversation | None) -> _Conversation:
        # Before the messages: if the conversation changes in between, it is read again the next time.
        etag = self.archive.etag(partner) or ""
        if known is not None and known[0] == etag:
            return known
        entries = read_entries(self.archive.whole(partner), self.own, known[1] if known else ())
        if self.index is not None:
            self.index.put(partner, etag, entries)
        return etag, entries
