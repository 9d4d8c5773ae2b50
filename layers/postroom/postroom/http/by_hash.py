"""The operations that dm3's reference implementation asks for: messages by hash, without pages."""

from collections.abc import Iterable, Mapping

from postroom.api.schemas import ReferenceAcknowledgement
from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import parse
from postroom.protocols.dm3.dialect import ENCRYPTED_MESSAGE_HASH, MESSAGE_HASH
from postroom.protocols.dm3.envelope import message_hash, read_envelope
from postroom.protocols.dm3.names import normalize
from postroom.storage.keys import RowKey
from postroom.storage.mail.reader import Filed


def joined(waiting: Iterable[Filed], most_bytes: int) -> bytes:
    """Envelopes as they were received, the oldest first, as one array; at most so many bytes of them.

    One that fits into no such answer is passed over: it must not hide what came after it. Raises NotNowError where not
    one could be read now; what could not be read besides comes when these are acknowledged.
    """
    parts: list[bytes] = []
    size = 0
    try:
        for filed in waiting:
            envelope = filed.line.envelope.encode()
            if len(envelope) >= most_bytes:
                continue
            size += len(envelope) + 1
            if size > most_bytes:
                break
            parts.append(envelope)
    except NotNowError:
        if not parts:
            raise
    return b"[" + b",".join(parts) + b"]"


def by_partner(acknowledgements: Iterable[ReferenceAcknowledgement]) -> Mapping[str, set[str]]:
    """The hashes of the messages that are exchanged with each partner. A name that is none has no messages."""
    found: dict[str, set[str]] = {}
    for each in acknowledgements:
        try:
            found.setdefault(normalize(each.contact_address), set()).add(each.message_hash.lower())
        except TheirError:
            continue
    return found


def named(waiting: Iterable[Filed], wanted: Mapping[str, set[str]]) -> tuple[list[RowKey], bool]:
    """The rows of the messages that are called by hashes of their partner's; whether none was left out.

    False: reading ended early, and not every hash was met before.
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
    """What an envelope's message may be called: the SHA-256 of it as it was sealed, and what its metadata say."""
    data = text.encode()
    try:
        envelope = read_envelope(parse(data, max_bytes=len(data)))
    except TheirError:
        return set()
    claimed = (envelope.metadata.extra.get(name) for name in (MESSAGE_HASH, ENCRYPTED_MESSAGE_HASH))
    return {message_hash(envelope), *(each.lower() for each in claimed if isinstance(each, str))}
