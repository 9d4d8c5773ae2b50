"""An index of the chats in an archive, on this machine; it is made again from the archive if it is lost.

It contains the texts of all messages, not encrypted, and the keys that were recovered from their signatures. It follows
the archive by the etags of conversations.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from postroom.client.archive import Archive
from postroom.client.archive.index_file import IndexFile, is_damage
from postroom.client.chat.entries import ReadEntry
from postroom.client.chat.entry_json import parse_read_entry, write_read_entry
from postroom.core.errors import TheirError
from postroom.protocols.dm3.stored import Tombstone
from postroom.protocols.status.keys import ChatKey

_VERSION: Final = 5
_SCHEMA: Final = """
CREATE TABLE conversations (partner TEXT PRIMARY KEY, etag TEXT NOT NULL);
CREATE TABLE entries (
    partner TEXT NOT NULL, hash TEXT NOT NULL, at INTEGER NOT NULL, entry BLOB NOT NULL, PRIMARY KEY (partner, hash)
);
"""

IndexedConversation: TypeAlias = tuple[str, Sequence[ReadEntry]]
"""The etag that a conversation had when it was read, and its entries in order."""


class ChatIndex:
    """The index of one archive, in a file of its own under `folder`, which only its owner can read.

    All methods raise sqlite3.Error.
    """

    def __init__(self, archive: Archive, folder: Path) -> None:
        self._file = IndexFile.of(archive, folder, "chats", _VERSION, _SCHEMA)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def drop(self) -> bool:
        """Delete the index; True: there was one."""
        return self._file.drop()

    def load(self, own: ChatKey) -> dict[str, IndexedConversation]:
        """All conversations that it contains, by partner."""
        try:
            with self._file.open() as database:
                database.execute("BEGIN")
                etags = dict(database.execute("SELECT partner, etag FROM conversations"))
                rows = database.execute("SELECT partner, entry FROM entries ORDER BY partner, at, hash").fetchall()
        except sqlite3.DatabaseError as error:
            if is_damage(error):
                return {}
            raise
        entries: dict[str, list[ReadEntry]] = {partner: [] for partner in etags}
        try:
            for partner, entry in rows:
                entries[partner].append(parse_read_entry(entry, own))
        except (ValueError, TypeError, LookupError, TheirError):
            # The archive has all of it.
            self.drop()
            return {}
        return {partner: (etag, entries[partner]) for partner, etag in etags.items()}

    def put(self, conversations: Mapping[str, IndexedConversation]) -> None:
        """Make the index contain these entries of conversations, by partner, and no others of them."""
        if conversations:
            with self._file.open() as database, database:
                database.execute("BEGIN IMMEDIATE")
                for partner, (etag, entries) in conversations.items():
                    _put(database, partner, etag, entries)

    def forget(self, partners: Iterable[str]) -> None:
        """Remove conversations that the archive does not have any more."""
        gone = [(partner,) for partner in partners]
        if gone:
            with self._file.open() as database, database:
                for table in ("entries", "conversations"):
                    database.executemany(f"DELETE FROM {table} WHERE partner = ?", gone)  # noqa: S608 - ours


def _put(database: sqlite3.Connection, partner: str, etag: str, entries: Iterable[ReadEntry]) -> None:
    rows = {entry.message_hash: (_at(entry), write_read_entry(entry)) for entry in entries}
    found = database.execute("SELECT hash, at, entry FROM entries WHERE partner = ?", (partner,))
    known = {name: (at, entry) for name, at, entry in found}
    gone = [(partner, name) for name in known.keys() - rows.keys()]
    database.executemany("DELETE FROM entries WHERE partner = ? AND hash = ?", gone)
    new = [(partner, name, *row) for name, row in rows.items() if known.get(name) != row]
    database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)", new)
    database.execute("INSERT OR REPLACE INTO conversations VALUES (?, ?)", (partner, etag))


def _at(entry: ReadEntry) -> int:
    return entry.timestamp_ms if isinstance(entry, Tombstone) else entry.sent_ms
