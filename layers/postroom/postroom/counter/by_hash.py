"""dm3's reference calls a message by its hash, and has no pages: it is served with what it asks for all the same."""

from collections.abc import Iterable, Iterator, Mapping

from postroom.counter.shapes import ReferenceAcknowledgement
from postroom.dm3.dialect import ENCRYPTED_MESSAGE_HASH, MESSAGE_HASH
from postroom.dm3.envelope import message_hash, read_envelope
from postroom.dm3.names import normalize
from postroom.errors import TheirError
from postroom.ijson import parse
from postroom.store.keys import RowKey
from postroom.store.reader import Filed


def joined(waiting: Iterable[Filed], most_bytes: int) -> bytes:
    """Envelopes as they were received, the oldest first, as one array; at most so many bytes of them.

    One that fits into no such answer is passed over: it must not hide what came after it.
    """
    parts: list[bytes] = []
    size = 0
    for filed in waiting:
        envelope = filed.line.envelope.encode()
        if len(envelope) >= most_bytes:
            continue
        size += len(envelope) + 1
        if size > most_bytes:
            break
        parts.append(envelope)
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


def named(waiting: Iterable[Filed], hashes: set[str]) -> Iterator[RowKey]:
    """The rows of the messages that are called by these hashes."""
    return (filed.row.key for filed in waiting if _hashes(filed.line.envelope) & hashes)


def _hashes(text: str) -> set[str]:
    """What an envelope's message may be called: the SHA-256 of it as it was sealed, and what its metadata say."""
    data = text.encode()
    try:
        envelope = read_envelope(parse(data, max_bytes=len(data)))
    except TheirError:
        return set()
    claimed = (envelope.metadata.extra.get(name) for name in (MESSAGE_HASH, ENCRYPTED_MESSAGE_HASH))
    return {message_hash(envelope), *(each.lower() for each in claimed if isinstance(each, str))}
