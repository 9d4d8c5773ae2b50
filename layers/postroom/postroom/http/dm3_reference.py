"""Operations for clients of dm3's reference implementation: messages by hash, without pages."""

from collections.abc import Iterable, Mapping

from postroom.api.schemas import ReferenceAcknowledgement
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import parse
from postroom.protocols.dm3.dialect import ENCRYPTED_MESSAGE_HASH, MESSAGE_HASH
from postroom.protocols.dm3.envelope import message_hash, read_envelope
from postroom.protocols.dm3.names import normalize
from postroom.storage.layout import RowKey
from postroom.storage.mail.reader import Filed


def joined(waiting: Iterable[Filed], most_bytes: int) -> bytes:
    """Envelopes as they were received, the oldest first, as one array of at most this many bytes.

    An envelope that is too large for any such answer is skipped, so that it does not hide later ones. Raises
    NotNowError if none could be read now; those that cannot be read appear once these are acknowledged.
    """
    parts: list[bytes] = []
    size = len("[")
    try:
        for filed in waiting:
            envelope = filed.line.envelope.encode()
            if len(envelope) + len("[]") > most_bytes:
                continue
            size += len(envelope) + len(",")
            if size > most_bytes:
                break
            parts.append(envelope)
    except NotNowError:
        if not parts:
            raise
    return b"[" + b",".join(parts) + b"]"


def by_partner(acknowledgements: Iterable[ReferenceAcknowledgement]) -> Mapping[str, set[str]]:
    """The hashes of the messages with each partner. An invalid name has no messages."""
    found: dict[str, set[str]] = {}
    for each in acknowledgements:
        try:
            found.setdefault(normalize(each.contact_address), set()).add(each.message_hash.lower())
        except TheirError:
            continue
    return found


def named(waiting: Iterable[Filed], wanted: Mapping[str, set[str]]) -> tuple[list[RowKey], bool]:
    """The rows of the messages that a partner's hashes name, and whether all hashes were found.

    False: reading ended early, and not every hash was found before.
    """
    rows: list[RowKey] = []
    left = {partner: set(hashes) for partner, hashes in wanted.items()}
    try:
        for filed in waiting:
            partner, hashes = filed.row.conversation, _hashes(filed.line.envelope)
            if hashes & wanted[partner]:
                rows.append(filed.row.key)
                left[partner] -= hashes
    except NotNowError:
        return rows, not any(left.values())
    return rows, True


def _hashes(text: str) -> set[str]:
    """The hashes that may name an envelope's message: SHA-256 of it as encrypted, and those in its metadata."""
    data = text.encode()
    try:
        envelope = read_envelope(parse(data, max_bytes=len(data)))
    except TheirError:
        return set()
    claimed = (envelope.metadata.extra.get(name) for name in (MESSAGE_HASH, ENCRYPTED_MESSAGE_HASH))
    return {message_hash(envelope), *(each.lower() for each in claimed if isinstance(each, str))}
