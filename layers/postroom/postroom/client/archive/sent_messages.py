"""dm3 messages that the owner sent: kept in the archive, and found again if their receiver asks for them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from postroom.client.archive.archive import Archive
from postroom.client.archive.ownership import check_ownership
from postroom.core.errors import PostroomError
from postroom.protocols.dm3.dialect import read_reference
from postroom.protocols.dm3.envelope import Dm3Envelope
from postroom.protocols.dm3.keys import PublicSigningKey
from postroom.protocols.dm3.message import Dm3Message, MessageType
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.stored import Entry, StoredEnvelope, Tombstone, store_envelope


class NotKeptError(PostroomError):
    """The archive does not have the message; the sentence says which one."""


class NotToBeResentError(PostroomError):
    """The message must not be sent again; the sentence says why."""


@dataclass(frozen=True, slots=True)
class RequestedMessage:
    """A message that its receiver asks for. `delivery_instruction`: what the message returns, as in its `Dm3Draft`."""

    message: Dm3Message
    delivery_instruction: str | None = None


def keep_sent(archive: Archive, sent: Iterable[tuple[Dm3Message, Dm3Envelope]], key: PublicSigningKey) -> None:
    """Store messages that delivery services have accepted, each in the conversation with its receiver.

    `key`: the owner's, which has signed them. Raises NotThisHomeError if the archive moved meanwhile, and as `Archive`
    does.
    """
    archive.store([store_envelope(envelope, message, None, signing_key=key) for message, envelope in sent])
    check_ownership(archive)


def find_requested(archive: Archive, reference: str) -> RequestedMessage:
    """The message to send again. `reference`: a hash of it, or of the RESEND_REQUEST that asks for it (dm3 §2.2.3).

    Whoever asks for a message gets it only if it was sent to them before. Raises NotKeptError, NotToBeResentError, and
    as `Archive` does.
    """
    wanted = read_reference(reference)
    request = next((entry for entry in _others(archive) if entry.message_hash == wanted), None)
    if request is None:
        return _requested(archive, wanted, "")
    metadata = request.message.metadata
    if metadata.type is not MessageType.RESEND_REQUEST:
        raise NotToBeResentError(
            f"{wanted} is a {metadata.type_name} of {request.author}; only a RESEND_REQUEST asks for a message"
        )
    if request.unverified:
        raise NotToBeResentError(f"{wanted} may not be of {request.author}: it was not verified ({request.unverified})")
    return _requested(archive, read_reference(metadata.reference_message_hash or ""), request.author)


def _requested(archive: Archive, wanted: str, requester: str) -> RequestedMessage:
    """The owner's message with this hash. `requester`: who asks for it; empty: the owner says so."""
    sent = next((entry for entry in _entries(archive) if _is_owners(entry, archive) and wanted in entry.hashes()), None)
    if isinstance(sent, Tombstone):
        raise NotKeptError(f"the message {wanted} was removed from the archive, by a message of type {sent.cause}")
    if not isinstance(sent, StoredEnvelope) or sent.unverified:
        raise NotKeptError(f"the archive has no message {wanted} that {archive.owner} sent")
    receiver = normalize(sent.message.metadata.to)
    if requester not in ("", receiver):
        raise NotToBeResentError(f"the message {wanted} was sent to {receiver}, and {requester} asks for it")
    return RequestedMessage(sent.message, _instruction(archive, sent))


def _instruction(archive: Archive, sent: StoredEnvelope) -> str | None:
    """What an answer must return: the instruction of the message that it refers to."""
    reference = read_reference(sent.message.metadata.reference_message_hash or "")
    receiver = normalize(sent.message.metadata.to)
    answered = (
        entry.message.metadata.reply_delivery_instruction
        for entry in archive.open(receiver)
        if isinstance(entry, StoredEnvelope) and entry.author == receiver and reference in entry.hashes()
    )
    return next(answered, None) if reference else None


def _others(archive: Archive) -> Iterator[StoredEnvelope]:
    """The messages that others wrote."""
    for entry in _entries(archive):
        if isinstance(entry, StoredEnvelope) and not _is_owners(entry, archive):
            yield entry


def _entries(archive: Archive) -> Iterator[Entry]:
    for partner in archive.conversations():
        yield from archive.whole(partner)


def _is_owners(entry: Entry, archive: Archive) -> bool:
    return entry.author == archive.owner
