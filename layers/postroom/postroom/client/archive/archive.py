"""An owner's archive: conversations, in whatever home.

    archive = Archive.of(FolderHome(path), "bob.eth", keys.signing.sign(b"bob.eth"), StorageKey(secret))
    archive.store([store_envelope(envelope, message, postmark)])    # stored when it returns: now it may be acknowledged
    archive.conversations()                                         # ("alice.eth",)
    archive.open("alice.eth")                                       # all messages, by time

Several devices may use one home at once, and any of them may die at any point (client/archive/filing.py). A home only
sees encrypted bytes. It can lose them, or return an older state, but it cannot read, change or swap them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from nacl.utils import random as random_bytes

from postroom.client.archive.filing import ArchiveFiling, run
from postroom.client.archive.home import Home
from postroom.core.errors import TheirError
from postroom.protocols.dm3.chunking import DEFAULT_LIMIT_BYTES, check_limit
from postroom.protocols.dm3.containers import ContainerError, conversation_key, root_key
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.sealing import NONCE_BYTES
from postroom.protocols.dm3.storage_key import StorageKey
from postroom.protocols.dm3.stored import Entry, Received, StoredEnvelope, conversation_partner


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive of `owner`: a normalised name, or a domain.

    All methods raise NotNowError(STORE_UNAVAILABLE), and ContainerError. `home` may be replaced: the same containers
    have the same keys elsewhere.
    """

    home: Home
    owner: str
    filing: ArchiveFiling

    @classmethod
    def of(
        cls,
        home: Home,
        owner: str,
        signature: bytes,
        storage_key: StorageKey,
        *,
        chunk_bytes: int = DEFAULT_LIMIT_BYTES,
        keep_history: bool = True,
    ) -> "Archive":
        """The archive in a home; it need not exist yet.

        `signature`: PrivateSigningKey.sign of the owner's normalised name in UTF-8. `chunk_bytes`: 6 to 10 MB.
        `keep_history`: an EDIT keeps older versions. Raises SettingsError.
        """
        check_limit(chunk_bytes)
        nonce = partial(random_bytes, NONCE_BYTES)
        return cls(
            home, listed(owner), ArchiveFiling(root_key(signature), storage_key, nonce, chunk_bytes, keep_history)
        )

    def with_chunks_of(self, chunk_bytes: int) -> "Archive":
        """The same archive, in which chunks are full with so many bytes. A longer message has a chunk of its own."""
        return replace(self, filing=replace(self.filing, chunk_bytes=chunk_bytes))

    def store(self, envelopes: Iterable[StoredEnvelope | Received]) -> None:
        """Store messages, each in its conversation, once. Raises TheirError(NAME_INVALID) before anything is stored."""
        conversations: dict[str, list[Entry]] = defaultdict(list)
        for envelope in envelopes:
            conversations[conversation_partner(envelope, self.owner)].append(envelope)
        run(self.filing.store(conversations), self.home)

    def merge(self, partner: str, entries: Sequence[Entry]) -> None:
        """Store the entries of another archive's conversation, with tombstones. `partner`: as that archive lists it."""
        run(self.filing.store({partner: entries}), self.home)

    def conversations(self) -> tuple[str, ...]:
        """The conversation partners: normalised dm3 names, NLWeb partners as the mailbox names them, and SET_ASIDE."""
        return run(self.filing.conversations(), self.home)

    def etag(self, partner: str) -> str | None:
        """What changes with every write to a conversation that is listed; None: it is missing."""
        _, etag = run(self.filing.read_conversation(conversation_key(self.filing.root, partner)), self.home)
        return etag

    def open(self, partner: str) -> list[Entry]:
        """All messages of a conversation by time, with tombstones in place of removed ones; empty: none."""
        return run(self.filing.open(listed(partner)), self.home)

    def whole(self, partner: str) -> list[Entry]:
        """All messages of a conversation that is listed. Raises ContainerError also if it is missing."""
        entries = self.open(partner)
        if not entries:
            raise ContainerError(conversation_key(self.filing.root, partner), f"is missing: the root names {partner}")
        return entries


def listed(partner: str) -> str:
    """The name under which a partner is listed: the normalised form of a dm3 name; other names are unchanged."""
    try:
        return normalize(partner)
    except TheirError:
        return partner


def copy(source: Archive, target: Archive, met: Callable[[str], object] = lambda _: None) -> None:
    """Store the content of one archive in another. If it was interrupted, it can be started again.

    `met`: called with each conversation that was copied.
    """
    for partner in source.conversations():
        target.merge(partner, source.whole(partner))
        met(partner)
