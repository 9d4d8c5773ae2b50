"""Benchmark `chat_index`: making and using the index of chats, compared with reading the archive."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.harness import Benchmark, Effort, KnownMiss, Table, marked, times
from benchmarks.status_sample import NOW_MS, OWN, bare_message, text
from tests.client.chat.network import ALICE, BOB, ChatNetwork

from postroom.client.archive import Archive, FolderHome, MemoryHome
from postroom.client.chat.carried_wrapper import CarriedWrapper
from postroom.client.chat.dm3_carrier import encodings, find_wrapper
from postroom.client.chat.index import ChatIndex
from postroom.client.chat.owner_chats import CHUNK_BYTES
from postroom.client.chat.reading import ConversationReader
from postroom.protocols.dm3.envelope import DeliveryInformation, write_envelope
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.message import Attachment, MessageMetadata
from postroom.protocols.dm3.sign import sign_message
from postroom.protocols.dm3.storage_key import StorageKey
from postroom.protocols.dm3.stored import StoredEnvelope, store_envelope
from postroom.protocols.status.author import AuthorKey
from postroom.protocols.status.codec import write_payload
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.wrapper import write_wrapper

MOST_TO_BARE: Final = 1.3
NOTES: Final = f"""\
100,000 texts of 250 characters in 100 conversations, encrypted in a folder. *Making* the index is what the first
command does: it opens every conversation, finds the wrapper in each message and the key that signed the message,
verifies the wrapper, and writes the index. *Bare* is to open the same conversations by `Archive.open`, and then the
wrappers by the libraries alone (as in `status`). *Reading* is what each command does with `--no-index`. With the index,
a command that finds nothing new asks for the etag of each conversation, and checks what the index holds by all rules
but those of signatures; *after a new message* it opens one conversation more.

*Writing*: the bytes that the archive's home gets when one text of 250 characters is sent, in a conversation that has
so many messages already. The message is stored, sent, stored as a sent one and removed from the unsent ones; each time,
the last chunk of a conversation is written again, which is full with {CHUNK_BYTES // 1000} kB.

Goal: making ≤ {MOST_TO_BARE} × bare.
"""

CONVERSATIONS: Final = {"none": 0, "100": 1000, "1,000": 100, "10,000": 10}
"""Numbers of messages, each a part of all."""
_OWNER: Final = "bob.eth"
_PARTNERS: Final = 100
_CHARACTERS: Final = 250


def measure(effort: Effort) -> Sequence[Table]:
    """Two tables: a row for each use of the index, and one for each length of a conversation that is written to."""
    return [_reading(effort), _writing(effort)]


def _reading(effort: Effort) -> Table:
    key = PrivateSigningKey.generate()
    with TemporaryDirectory() as folder:
        archive = Archive.of(FolderHome(Path(folder, "mail")), _OWNER, key.sign(_OWNER.encode()), StorageKey(bytes(32)))
        for partner in range(_PARTNERS):
            numbers = range(partner, effort.messages, _PARTNERS)
            archive.store([_message(key, f"friend{partner}.eth", _OWNER, number) for number in numbers])
        index = ChatIndex(archive, Path(folder, "cache"))
        bare = _seconds(partial(_bare, archive))
        reading = _seconds(partial(_read, archive, None))
        making = _seconds(partial(_read, archive, index))
        using = _seconds(partial(_read, archive, index))
        archive.store([_message(key, "friend0.eth", _OWNER, effort.messages)])
        after = _seconds(partial(_read, archive, index))
    rows = (
        ("making : bare", marked(making / bare, reached=making / bare <= MOST_TO_BARE)),
        ("reading : making", times(reading / making)),
        ("reading : using, nothing is new", times(reading / using)),
        ("reading : using, after a new message", times(reading / after)),
    )
    return Table("Reading", ("what", "ratio"), rows)


def _writing(effort: Effort) -> Table:
    rows = []
    for name, part in CONVERSATIONS.items():
        written, requests = _written(effort.messages // part if part else 0)
        rows.append((f"{name} before", f"{requests}", times(written / _CHARACTERS)))
    return Table("Writing", ("messages", "requests that write", "bytes written : those of the text"), tuple(rows))


class _CountingHome(MemoryHome):
    """A home that counts what it gets."""

    written = requests = 0

    def put(self, key: str, data: bytes, *, etag: str | None) -> str:
        """Replace a container."""
        self.written += len(data)
        self.requests += 1
        return super().put(key, data, etag=etag)


def _written(before: int) -> tuple[int, int]:
    """The bytes that a home gets when one message is sent after so many others, and in how many requests."""
    network, home = ChatNetwork(), _CountingHome()
    alice = network[ALICE].device(home)
    key = network[ALICE].keys.signing
    alice.archive.with_chunks_of(CHUNK_BYTES).store([_message(key, ALICE, BOB, number) for number in range(before)])
    # With the first one, the sender's name is sent, too.
    alice.send(BOB, "hello")
    home.written = home.requests = 0
    alice.send(BOB, "x" * _CHARACTERS)
    return home.written, home.requests


def _read(archive: Archive, index: ChatIndex | None) -> None:
    ConversationReader(archive, OWN, index).read()


def _bare(archive: Archive) -> None:
    for partner in archive.conversations():
        for entry in archive.open(partner):
            carried = find_wrapper(entry.message) if isinstance(entry, StoredEnvelope) else None
            if carried is not None:
                bare_message(carried.wrapper)


def _message(key: PrivateSigningKey, sender: str, receiver: str, number: int) -> StoredEnvelope:
    words = f"{number} ".ljust(_CHARACTERS, "x")
    payload = write_payload(text(words, NOW_MS + number))
    ethereum_key = key.ethereum_key
    author = AuthorKey.from_secret(ethereum_key.secret if ethereum_key else b"")
    wrapper = write_wrapper(payload, author.sign(payload), PayloadType.CHAT_MESSAGE)
    attachments = tuple(map(Attachment, encodings(CarriedWrapper(wrapper, None))))
    message = sign_message(words, MessageMetadata(receiver, sender, NOW_MS + number), key, attachments=attachments)
    envelope = write_envelope(
        message,
        delivery=DeliveryInformation(receiver, sender),
        receiver_key=bytes(32),
        service_key=bytes(32),
        signing=key,
        sealed_message=f"sealed {number}",
        seal_to=_unsealed,
    )
    return store_envelope(envelope, message, None, signing_key=key.public)


def _unsealed(plaintext: bytes, _key: bytes) -> str:
    """What is encrypted is not stored, and takes most of the time to make."""
    return f"sealed {len(plaintext)}"


def _seconds(go: Callable[[], object]) -> float:
    begun = time.perf_counter()
    go()
    return time.perf_counter() - begun


KNOWN: Final = (
    KnownMiss(
        "ratio",
        ("making : bare",),
        "the strict reading of the payload (as in `status`), Python's objects, and the JSON of the index.",
    ),
)
BENCHMARK = Benchmark("chat_index", "Chats in an archive: the index, and what is written", NOTES, measure, known=KNOWN)
