"""Benchmark `chat-index`: making and using the index of chats, compared with reading the archive."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.harness import Benchmark, Effort, Table, marked, times
from benchmarks.status_sample import NOW_MS, OWN, bare_message, text

from postroom.client.archive import Archive, FolderHome
from postroom.client.chat.dm3_carrier import encodings, find_wrapper
from postroom.client.chat.index import ChatIndex
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

Goal: making ≤ {MOST_TO_BARE} × bare.
"""

_OWNER: Final = "bob.eth"
_PARTNERS: Final = 100
_CHARACTERS: Final = 250


def measure(effort: Effort) -> Sequence[Table]:
    """One table: a row for each use of the index."""
    key = PrivateSigningKey.generate()
    with TemporaryDirectory() as folder:
        archive = Archive.of(FolderHome(Path(folder, "mail")), _OWNER, key.sign(_OWNER.encode()), StorageKey(bytes(32)))
        for partner in range(_PARTNERS):
            numbers = range(partner, effort.messages, _PARTNERS)
            archive.store([_message(key, partner, number) for number in numbers])
        index = ChatIndex(archive, Path(folder, "cache"))
        bare = _seconds(partial(_bare, archive))
        reading = _seconds(partial(_read, archive, None))
        making = _seconds(partial(_read, archive, index))
        using = _seconds(partial(_read, archive, index))
        archive.store([_message(key, 0, effort.messages)])
        after = _seconds(partial(_read, archive, index))
    rows = (
        ("making : bare", marked(making / bare, reached=making / bare <= MOST_TO_BARE)),
        ("reading : making", times(reading / making)),
        ("reading : using, nothing is new", times(reading / using)),
        ("reading : using, after a new message", times(reading / after)),
    )
    return [Table("", ("what", "ratio"), rows)]


def _read(archive: Archive, index: ChatIndex | None) -> None:
    ConversationReader(archive, OWN, index).read()


def _bare(archive: Archive) -> None:
    for partner in archive.conversations():
        for entry in archive.open(partner):
            carried = find_wrapper(entry.message) if isinstance(entry, StoredEnvelope) else None
            if carried is not None:
                bare_message(carried.wrapper)


def _message(key: PrivateSigningKey, partner: int, number: int) -> StoredEnvelope:
    sender = f"friend{partner}.eth"
    words = f"{number} ".ljust(_CHARACTERS, "x")
    payload = write_payload(text(words, NOW_MS + number))
    ethereum_key = key.ethereum_key
    author = AuthorKey.from_secret(ethereum_key.secret if ethereum_key else b"")
    wrapper = write_wrapper(payload, author.sign(payload), PayloadType.CHAT_MESSAGE)
    attachments = tuple(map(Attachment, encodings(wrapper, PayloadType.CHAT_MESSAGE, {})))
    message = sign_message(words, MessageMetadata(_OWNER, sender, NOW_MS + number), key, attachments=attachments)
    envelope = write_envelope(
        message,
        delivery=DeliveryInformation(_OWNER, sender),
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


BENCHMARK = Benchmark("chat-index", "The index of 100,000 messages of chats", NOTES, measure)
