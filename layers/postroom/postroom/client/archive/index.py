"""A search index of an archive, on this machine; it is rebuilt from the archive if it is lost.

It contains the texts of all messages, not encrypted. It follows the archive by the etags of conversations. If one has
not changed, none of its chunks are read; if it has, deleted messages are removed, and new ones added.
"""

import sqlite3
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from postroom.client.archive.archive import Archive
from postroom.client.archive.index_file import IndexFile
from postroom.client.archive.nlweb_messages import is_sent
from postroom.protocols.dm3.stored import Entry, Received, StoredEnvelope, Tombstone

_VERSION: Final = 1
_SCHEMA: Final = """
CREATE TABLE conversations (partner TEXT PRIMARY KEY, etag TEXT NOT NULL);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY, partner TEXT NOT NULL, hash TEXT NOT NULL, at INTEGER NOT NULL, author TEXT NOT NULL,
    text TEXT NOT NULL, UNIQUE (partner, hash)
);
CREATE INDEX by_time ON messages (at);
CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'trigram case_sensitive 1');
"""
_SELECT: Final = """
SELECT partner, hash, at, author, messages.text FROM words JOIN messages ON messages.id = words.rowid
"""
_SHORTEST_INDEXED: Final = 3
"""Characters. Shorter words are looked for in each message that has the other words."""
Met = Callable[[str], object]
"""Called with each conversation that was read."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was found. `at_ms`: when it was written, or received. `text`: its whole text."""

    partner: str
    message_hash: str
    at_ms: int
    author: str
    text: str


class Index:
    """The search index of one archive, in a file of its own under `folder`, which only its owner can read."""

    def __init__(self, archive: Archive, folder: Path) -> None:
        self._archive = archive
        self._file = IndexFile.of(archive, folder, "index", _VERSION, _SCHEMA)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def drop(self) -> bool:
        """Delete the index; True: there was one."""
        return self._file.drop()

    def update(self, met: Met = lambda _: None) -> None:
        """Update the index from the archive. Raises as `Archive` does; what was updated until then is kept."""
        archive = self._archive
        partners = archive.conversations()
        with self._file.open() as database:
            known = dict(database.execute("SELECT partner, etag FROM conversations"))
            for partner in known.keys() - set(partners):
                with database:
                    _forget(database, partner)
            for partner in partners:
                # Before the messages: if the conversation changes in between, it is read again the next time.
                etag = archive.etag(partner)
                if etag is None or known.get(partner) != etag:
                    entries = archive.whole(partner)
                    with database:
                        # Another process may be updating it: what this one knew, it read before it waited.
                        database.execute("BEGIN IMMEDIATE")
                        _follow(database, archive.owner, partner, entries)
                        database.execute("INSERT OR REPLACE INTO conversations VALUES (?, ?)", (partner, etag))
                met(partner)

    def search(self, text: str, limit: int) -> list[Hit]:
        """The newest messages that contain every word of `text`, in any case; as of the last update."""
        terms = terms_of(text)
        if not terms:
            return []
        indexed = [term for term in terms if len(term) >= _SHORTEST_INDEXED]
        short = [term for term in terms if len(term) < _SHORTEST_INDEXED]
        conditions = [*(["words MATCH ?"] if indexed else []), *["instr(words.text, ?) > 0"] * len(short)]
        query = f"{_SELECT} WHERE {' AND '.join(conditions)} ORDER BY at DESC, hash LIMIT ?"
        match = [" AND ".join(map(_quoted, indexed))] if indexed else []
        with self._file.open() as database:
            rows = database.execute(query, (*match, *short, limit))
            return [Hit(*row) for row in rows]


def scan(archive: Archive, text: str, limit: int, met: Met = lambda _: None) -> list[Hit]:
    """What `Index.search` finds, without an index: every message is read. Raises as `Archive` does."""
    terms = terms_of(text)
    hits: list[Hit] = []
    for partner in archive.conversations():
        for hit in _hits(archive.owner, partner, archive.whole(partner)):
            folded = fold(hit.text)
            if terms and all(term in folded for term in terms):
                hits.append(hit)
        met(partner)
    return sorted(hits, key=lambda hit: (-hit.at_ms, hit.message_hash))[:limit]


def fold(text: str) -> str:
    """Text in the form in which it is compared: without case, and with accents in one form (Unicode §3.13, D147)."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold())


def terms_of(text: str) -> list[str]:
    """The words to look for."""
    return fold(text).split()


def text_of(entry: StoredEnvelope | Received) -> str:
    """The searchable text of a message; for one stored as it came, the envelope, if it is not encrypted."""
    if isinstance(entry, StoredEnvelope):
        return entry.message.message or ""
    return "" if entry.set_aside else entry.envelope


def _quoted(term: str) -> str:
    """A string of FTS5."""
    return '"' + term.replace('"', '""') + '"'


def _hits(owner: str, partner: str, entries: Iterable[Entry]) -> Iterator[Hit]:
    for entry in entries:
        if not isinstance(entry, Tombstone):
            author = owner if isinstance(entry, Received) and is_sent(entry) else entry.author
            yield Hit(partner, entry.message_hash, entry.timestamp_ms, author, text_of(entry))


def _follow(database: sqlite3.Connection, owner: str, partner: str, entries: Iterable[Entry]) -> None:
    """Make the index contain these messages of a conversation, and no others."""
    known = dict(database.execute("SELECT hash, id FROM messages WHERE partner = ?", (partner,)).fetchall())
    for hit in _hits(owner, partner, entries):
        if known.pop(hit.message_hash, None) is None:
            row = (hit.partner, hit.message_hash, hit.at_ms, hit.author, hit.text)
            made = database.execute(
                "INSERT INTO messages (partner, hash, at, author, text) VALUES (?, ?, ?, ?, ?)", row
            )
            database.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (made.lastrowid, fold(hit.text)))
    _remove(database, known.values())


def _forget(database: sqlite3.Connection, partner: str) -> None:
    _remove(database, [id_ for (id_,) in database.execute("SELECT id FROM messages WHERE partner = ?", (partner,))])
    database.execute("DELETE FROM conversations WHERE partner = ?", (partner,))


def _remove(database: sqlite3.Connection, ids: Iterable[int]) -> None:
    ids = list(ids)
    if not ids:
        return
    for table, column in (("words", "rowid"), ("messages", "id")):
        database.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(id_,) for id_ in ids])  # noqa: S608 - ours
    # FTS5 only marks deleted texts, until its segments are merged.
    database.execute("INSERT INTO words (words) VALUES ('optimize')")
