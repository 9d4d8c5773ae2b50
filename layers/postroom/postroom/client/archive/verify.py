"""Verification of a whole archive by its keys and signatures; it continues after each flaw.

It cannot detect two things: whether the hash of a message fits the encrypted message, which is not kept (`pull` checks
it before the message is stored); and whether the home returned an older state of a container.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

from postroom.client.archive.archive import Archive
from postroom.client.archive.filing import ArchiveFiling, Steps, again, run
from postroom.client.archive.nlweb_messages import is_sent, read_content
from postroom.client.archive.receiving import read_nlweb
from postroom.core.errors import TheirError
from postroom.crypto.rsa_ed25519 import PublicKey
from postroom.protocols.dm3.containers import Chunk, ChunkIdentifier, ContainerError, chunk_key, conversation_key
from postroom.protocols.dm3.dialect import plain_message_hash_fits, verify_struct
from postroom.protocols.dm3.keys import PublicSigningKey
from postroom.protocols.dm3.postmark import Postmark, is_signed_by
from postroom.protocols.dm3.stored import (
    SET_ASIDE,
    UNSENT,
    Received,
    StoredEnvelope,
    Tombstone,
    conversation_partner,
    place,
)
from postroom.protocols.nlweb.verify import check_signature


@dataclass(frozen=True, slots=True)
class KnownSigningKeys:
    """The keys to verify with.

    `users`: by normalised name, every key that the user has had. `services`: the keys of all services. `domain`:
    returns the key of a key record by its DNS name; None: it does not exist any more, or cannot be found out.
    """

    users: Mapping[str, Collection[PublicSigningKey]] = field(default_factory=dict)
    services: Collection[PublicSigningKey] = ()
    domain: Callable[[str], PublicKey | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Flaw:
    """A flaw. `key`: of the container. `message_hash`: empty if the container itself is flawed."""

    key: str
    message_hash: str
    what: str


@dataclass(slots=True)
class Verified:
    """The result. `unproven`: messages stored as unverified, or whose sender has no known key.

    `set_aside`: messages that are stored unopened, or are not sent yet, and are not verified here.
    """

    messages: int = 0
    tombstones: int = 0
    unproven: int = 0
    set_aside: int = 0
    flaws: list[Flaw] = field(default_factory=list)


def verify(archive: Archive, keys: KnownSigningKeys, met: Callable[[str], object] = lambda _: None) -> Verified:
    """Verify every container and message. `met`: is called with each conversation that was verified.

    Raises NotNowError(STORE_UNAVAILABLE), ContainerError for the root.
    """
    verified = Verified()
    for partner in archive.conversations():
        at = conversation_key(archive.filing.root, partner)
        try:
            chunks = run(again(partial(_read_chunks, archive.filing, at)), archive.home)
        except ContainerError as error:
            verified.flaws.append(Flaw(error.key, "", error.what))
            continue
        if not chunks:
            verified.flaws.append(Flaw(at, "", f"is missing: the root names {partner}"))
        _verify_conversation(verified, archive.owner, partner, at, chunks, keys)
        met(partner)
    return verified


def _read_chunks(filing: ArchiveFiling, at: str) -> Steps[dict[ChunkIdentifier, Chunk | ContainerError]]:
    conversation, etag = yield from filing.read_conversation(at)
    chunks: dict[ChunkIdentifier, Chunk | ContainerError] = {}
    for identifier in conversation.chunks:
        try:
            chunks[identifier], _ = yield from filing.read_chunk_of(at, identifier, etag)
        except ContainerError as error:
            chunks[identifier] = error
    return chunks


def _verify_conversation(
    verified: Verified,
    owner: str,
    partner: str,
    at: str,
    chunks: Mapping[ChunkIdentifier, Chunk | ContainerError],
    keys: KnownSigningKeys,
) -> None:
    seen: set[str] = set()
    for identifier, chunk in chunks.items():
        key = chunk_key(at, identifier)
        if isinstance(chunk, ContainerError):
            verified.flaws.append(Flaw(key, "", chunk.what))
            continue
        verified.flaws += (Flaw(key, "", what) for what in _flaws_of_chunk(identifier, chunk))
        for entry in chunk.entries:
            flaws = ["is there twice"] if entry.message_hash in seen else []
            seen.add(entry.message_hash)
            match entry:
                case Tombstone():
                    verified.tombstones += 1
                case Received(set_aside=""):
                    verified.messages += 1
                    proven, wrong = _look_at_received(entry, partner, keys)
                    verified.unproven += not proven
                    flaws += wrong
                case Received():
                    verified.set_aside += 1
                    if partner not in (SET_ASIDE, UNSENT):
                        flaws.append(f"was set aside, and is in the conversation with {partner}")
                case StoredEnvelope():
                    verified.messages += 1
                    verified.unproven += not _is_provable(entry, keys)
                    flaws += _flaws_of_message(entry, owner, partner, keys)
            verified.flaws += (Flaw(key, entry.message_hash, what) for what in flaws)


def _flaws_of_chunk(identifier: ChunkIdentifier, chunk: Chunk) -> Iterator[str]:
    if chunk.entries[0].timestamp_ms != identifier.timestamp_ms:
        yield f"begins at {chunk.entries[0].timestamp_ms}, its identifier says {identifier.timestamp_ms}"
    if any(place(later) < place(earlier) for earlier, later in pairwise(chunk.entries)):
        yield "is not sorted by time"


def _is_provable(entry: StoredEnvelope, keys: KnownSigningKeys) -> bool:
    return not entry.unverified and entry.author in keys.users


def _flaws_of_message(entry: StoredEnvelope, owner: str, partner: str, keys: KnownSigningKeys) -> Iterator[str]:
    if not _belongs(entry, owner, partner):
        yield f"is not a message of the conversation with {partner}"
    claimed = entry.metadata.extra.get("messageHash")
    if claimed is not None and not plain_message_hash_fits(claimed, entry.message.as_json()):
        yield "is another message than metadata.messageHash says"
    if _is_provable(entry, keys):
        signers = keys.users[entry.author]
        if not any(verify_struct(entry.message.unsigned(), entry.message.signature, key) for key in signers):
            yield f"is not signed by {entry.author}"
        if not any(verify_struct(entry.metadata.unsigned(), entry.metadata.signature, key) for key in signers):
            yield f"has an envelope that is not signed by {entry.author}"
    if entry.postmark is not None:
        yield from _flaws_of_postmark(entry.postmark, entry.message_hash, keys.services)


def _look_at_received(entry: Received, partner: str, keys: KnownSigningKeys) -> tuple[bool, list[str]]:
    """Whether there was a key to verify its signature with, and its flaws."""
    flaws = [] if entry.author == partner else [f"is not a message of the conversation with {partner}"]
    key = None
    try:
        if is_sent(entry):
            # The post office has signed it, not the owner.
            read_content(entry)
            return False, flaws
        envelope = read_nlweb(entry.envelope)
        key = keys.domain(envelope.key_name) if envelope.key_name else None
        # With another key than the one it was verified with, nothing can be said: the domain has changed its key.
        if key and key.fingerprint != json.loads(entry.receipt).get("key_fingerprint"):
            key = None
        if key:
            check_signature(envelope, key)
    except TheirError as error:
        flaws.append(f"is not what it says: {error}")
    return key is not None, flaws


def _flaws_of_postmark(postmark: Postmark, message_hash: str, services: Collection[PublicSigningKey]) -> Iterator[str]:
    if not postmark.is_reference and postmark.message_hash != message_hash:
        yield "has the postmark of another message"
    if services and not any(is_signed_by(postmark, key) for key in services):
        yield "has a postmark that none of the delivery services has signed"


def _belongs(entry: StoredEnvelope, owner: str, partner: str) -> bool:
    try:
        return conversation_partner(entry, owner) == partner
    except TheirError:
        return False
