"""Benchmark `archive`: a search with the index, compared with reading the whole archive."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.harness import Benchmark, Effort, Table, marked, times

from postroom.client.archive import Archive, FolderHome
from postroom.client.archive.index import Index, scan
from postroom.protocols.dm3.envelope import Dm3Envelope, EnvelopeMetadata
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.message import MessageMetadata
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.dm3.storage_key import StorageKey
from postroom.protocols.dm3.stored import StoredEnvelope, store_envelope

NOTES = """\
100,000 messages of 200 characters in 100 conversations, encrypted in a folder; the index is built. *Search* is what
`postroom archive search` does then: it updates the index, although nothing has changed, and finds the 50 newest
messages; the best turn counts. *Reading* is what it does with `--no-index`: it opens every conversation. *After a new
message* is the first search after one message was added to one conversation, whose chunks are all read again.

Goal: a search takes less than a second, without the start of Python.
"""

_OWNER: Final = "bob.eth"
_PARTNERS: Final = 100
_WORDS: Final = "the quick brown fox jumps over a lazy dog while seven wizards quietly boil jugs of mixed ink "
_CHARACTERS: Final = 200
_FOUND: Final = 50
_AT: Final = 1_795_253_400_000
_SEARCHES: Final = {
    "in one message": "zebra",
    "in every message": "the",
    "two characters": "ox",
    "in no message": "xylophone",
}


def measure(effort: Effort) -> Sequence[Table]:
    """One table: a row for each search term, and one for a search after a new message."""
    with TemporaryDirectory() as folder:
        key = PrivateSigningKey.generate()
        archive = Archive.of(FolderHome(Path(folder, "mail")), _OWNER, key.sign(_OWNER.encode()), StorageKey(bytes(32)))
        for partner in range(_PARTNERS):
            numbers = range(partner, effort.messages, _PARTNERS)
            archive.store([_message(key, partner, number) for number in numbers])
        index = Index(archive, Path(folder, "cache"))
        index.update()

        def search(text: str) -> None:
            index.update()
            index.search(text, _FOUND)

        reading = _seconds(lambda: scan(archive, "zebra", _FOUND), 1)
        rows = [(name, _seconds(lambda text=text: search(text), effort.rounds)) for name, text in _SEARCHES.items()]
        archive.store([_message(key, 0, effort.messages)])
        rows.append(("after a new message", _seconds(lambda: search("zebra"), 1)))
    shown = tuple((name, times(reading / it), marked(it, reached=it < 1)) for name, it in rows)
    return [Table("", ("search term", "reading : search", "search : 1 s"), shown)]


def _message(key: PrivateSigningKey, partner: int, number: int) -> StoredEnvelope:
    start = number % len(_WORDS)
    text = f"{number} the {(_WORDS * 4)[start:]}"[:_CHARACTERS]
    sender = f"friend{partner}.eth"
    message = sign_message(
        f"zebra {text}" if number == 4242 else text, MessageMetadata(_OWNER, sender, _AT + number), key
    )
    sealed = Dm3Envelope(f"sealed {number}", EnvelopeMetadata("1.0", None, "sealed", "AAAA"))
    return store_envelope(sealed, message, None)


def _seconds(go: Callable[[], object], turns: int) -> float:
    """The seconds of the best of several turns."""
    found = []
    for _ in range(turns):
        begun = time.perf_counter()
        go()
        found.append(time.perf_counter() - begun)
    return min(found)


BENCHMARK = Benchmark("archive", "Searching 100,000 messages", NOTES, measure)
