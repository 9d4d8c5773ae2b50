"""A search index of an archive, on this machine; it is rebuilt from the archive if it is lost.

It contains the texts of all messages, not encrypted. It follows the archive by the etags of conversations. If one has
not changed, none of its chunks are read; if it has, deleted messages are removed, and new ones added.

A message may be one of a chat, and carry another text than its own. Whether the chat shows that text, and that the
message is not deleted, is known when the search has found it: an edit or a deletion is a message of its own, which may
come before or after.
"""

import sqlite3
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from postroom.client.archive.archive import Archive
from postroom.client.archive.index_file import IndexFile
from postroom.client.archive.nlweb_messages import is_sent
from postroom.protocols.dm3.stored import Entry, Received, StoredEnvelope, Tombstone

_VERSION: Final = 3
_SCHEMA: Final = """
CREATE TABLE conversations (partner TEXT PRIMARY KEY, etag TEXT NOT NULL);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY, partner TEXT NOT NULL, hash TEXT NOT NULL, at INTEGER NOT NULL, author TEXT NOT NULL,
    text TEXT NOT NULL, is_of_chat INTEGER NOT NULL, in_chat INTEGER NOT NULL, UNIQUE (partner, hash, in_chat)
);
CREATE INDEX by_time ON messages (at);
CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'trigram case_sensitive 1');
"""
_SELECT: Final = """
SELECT partner, hash, at, author, messages.text, is_of_chat, in_chat
FROM words JOIN messages ON messages.id = words.rowid
"""
_SHORTEST_INDEXED: Final = 3
"""Characters. Shorter words are looked for in each message that has the other words."""
Met = Callable[[str], object]
"""Called with each conversation that was read."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A message that was found. `at_ms`: when it was written, or received. `text`: its whole text.

    `is_of_chat`: it is one of a chat. `in_chat`: the text is that of the chat, whose author and time are the chat's.
    """

    partner: str
    message_hash: str
    at_ms: int
    author: str
    text: str
    is_of_chat: bool = False
    in_chat: bool = False


@dataclass(frozen=True, slots=True)
class SearchableTexts:
    """What a message is found by. `text`: its own, unless a chat shows it as deleted. `in_chat`: while its chat shows
    it; empty: it has none, or the same.

    `in_chat_ms`: when that was written. `is_of_chat`: the message is one of a chat.
    """

    text: str
    in_chat: str = ""
    in_chat_ms: int = 0
    is_of_chat: bool = False


@dataclass(frozen=True, slots=True)
class ShownHit:
    """A hit of a message of a chat, with its author. `message`: equal of all hits that are of one message."""

    hit: Hit
    message: Hashable


Shown: TypeAlias = Callable[[Hit], ShownHit | None]
"""What becomes of the hit of a message of a chat; None: it is deleted, or the chat does not show that text."""


class ChatTexts(Protocol):
    """The texts of chats in an archive."""

    def texts_of(self, entry: StoredEnvelope | Received) -> SearchableTexts:
        """What a message is found by."""
        ...

    def read_shown(self) -> Shown:
        """Read what the chats show now. Raises as `Archive` does; sqlite3.Error."""
        ...


class _NoChats:
    """No message carries the text of a chat."""

    def texts_of(self, entry: StoredEnvelope | Received) -> SearchableTexts:
        return SearchableTexts(text_of(entry))

    def read_shown(self) -> Shown:
        return lambda _: None


class Index:
    """The search index of one archive, in a file of its own under `folder`, which only its owner can read.

    `chats`: the texts of chats; None: the owner has no chats.
    """

    def __init__(self, archive: Archive, folder: Path, chats: ChatTexts | None = None) -> None:
        self._archive = archive
        self._chats = chats or _NoChats()
        # What is in the one is missing in the other.
        version = 2 * _VERSION + (chats is not None)
        self._file = IndexFile.of(archive, folder, "index", version, _SCHEMA)

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
                        self._follow(database, partner, entries)
                        database.execute("INSERT OR REPLACE INTO conversations VALUES (?, ?)", (partner, etag))
                met(partner)

    def search(self, text: str, limit: int) -> list[Hit]:
        """The newest messages that contain every word of `text`, in any case; as of the last update.

        Raises as `ChatTexts.read_shown` does, if there is a message of a chat among them.
        """
        terms = terms_of(text)
        if not terms:
            return []
        indexed = [term for term in terms if len(term) >= _SHORTEST_INDEXED]
        short = [term for term in terms if len(term) < _SHORTEST_INDEXED]
        conditions = [*(["words MATCH ?"] if indexed else []), *["instr(words.text, ?) > 0"] * len(short)]
        query = f"{_SELECT} WHERE {' AND '.join(conditions)} ORDER BY at DESC, hash, partner, in_chat"
        match = [" AND ".join(map(_quoted, indexed))] if indexed else []
        with self._file.open() as database:
            # What is sorted must not be written to other files.
            database.execute("PRAGMA temp_store = MEMORY")
            hits = list(_enough(database.execute(query, (*match, *short)), limit))
        return _newest(hits, limit, self._chats)

    def _follow(self, database: sqlite3.Connection, partner: str, entries: Iterable[Entry]) -> None:
        """Make the index contain these messages of a conversation, and no others."""
        known: dict[str, list[int]] = defaultdict(list)
        for hash_, id_ in database.execute("SELECT hash, id FROM messages WHERE partner = ?", (partner,)):
            known[hash_].append(id_)
        new = (entry for entry in _messages(entries) if known.pop(entry.message_hash, None) is None)
        for hit in _hits(self._archive.owner, partner, new, self._chats):
            _insert(database, hit)
        _remove(database, [id_ for ids in known.values() for id_ in ids])


def scan(
    archive: Archive, text: str, limit: int, chats: ChatTexts | None = None, met: Met = lambda _: None
) -> list[Hit]:
    """What `Index.search` finds, without an index: every message is read. Raises as `Index` does."""
    terms = terms_of(text)
    chats = chats or _NoChats()
    hits: list[Hit] = []
    for partner in archive.conversations():
        for hit in _hits(archive.owner, partner, _messages(archive.whole(partner)), chats):
            folded = fold(hit.text)
            if terms and all(term in folded for term in terms):
                hits.append(hit)
        met(partner)
    return _newest(sorted(hits, key=_place), limit, chats)


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


def _messages(entries: Iterable[Entry]) -> Iterator[StoredEnvelope | Received]:
    return (entry for entry in entries if not isinstance(entry, Tombstone))


def _hits(owner: str, partner: str, entries: Iterable[StoredEnvelope | Received], chats: ChatTexts) -> Iterator[Hit]:
    """All texts of messages, also empty ones: by them it is known that a message was read."""
    for entry in entries:
        author = owner if isinstance(entry, Received) and is_sent(entry) else entry.author
        texts = chats.texts_of(entry)
        hit = Hit(partner, entry.message_hash, entry.timestamp_ms, author, texts.text, is_of_chat=texts.is_of_chat)
        yield hit
        if texts.in_chat:
            yield replace(hit, at_ms=texts.in_chat_ms, text=texts.in_chat, in_chat=True)


def _place(hit: Hit) -> tuple[int, str, str, bool]:
    """The position of a hit among others: the newest first."""
    return -hit.at_ms, hit.message_hash, hit.partner, hit.in_chat


def _enough(rows: Iterable[tuple[str, str, int, str, str, int, int]], limit: int) -> Iterator[Hit]:
    """So many of the rows that whatever chats show, `limit` hits are among them, if there are so many."""
    certain = 0
    for partner, message_hash, at_ms, author, text, is_of_chat, in_chat in rows:
        yield Hit(partner, message_hash, at_ms, author, text, is_of_chat=bool(is_of_chat), in_chat=bool(in_chat))
        certain += not is_of_chat
        if certain == limit:
            return


def _newest(hits: Iterable[Hit], limit: int, chats: ChatTexts) -> list[Hit]:
    """The first of these hits, without what no chat shows. Chats are read only if that is the question."""
    return list(islice(_found(hits, cache(chats.read_shown)), limit))


def _found(hits: Iterable[Hit], read_shown: Callable[[], Shown]) -> Iterator[Hit]:
    """The hits that count, in their order; of those of one message of a chat only the first."""
    found: set[Hashable] = set()
    for hit in hits:
        if not hit.is_of_chat:
            yield hit
        elif (shown := read_shown()(hit)) is not None and shown.message not in found:
            found.add(shown.message)
            yield shown.hit


def _insert(database: sqlite3.Connection, hit: Hit) -> None:
    row = (hit.partner, hit.message_hash, hit.at_ms, hit.author, hit.text, hit.is_of_chat, hit.in_chat)
    made = database.execute(
        "INSERT INTO messages (partner, hash, at, author, text, is_of_chat, in_chat) VALUES (?, ?, ?, ?, ?, ?, ?)", row
    )
    database.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (made.lastrowid, fold(hit.text)))


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
