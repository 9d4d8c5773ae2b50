"""The identity of the message in a live row's line, computed anew from the envelope.

The inbox wrote into its ledger, and the worker into `seen`, which message it was; here it is derived from the line
itself. For NLWeb it covers everything signed. For dm3 it covers the encrypted message: nothing of ours says what else
was in the envelope.
"""

from hashlib import blake2b

from postroom.core.errors import TheirError
from postroom.core.ijson import parse
from postroom.protocols.dm3.envelope import message_hash
from postroom.protocols.dm3.envelope import read_envelope as read_dm3_envelope
from postroom.protocols.nlweb.envelope import check_hash, read_envelope
from postroom.storage.audit.evidence import Fingerprint
from postroom.storage.audit.problems import AuditProblem
from postroom.storage.layout import conversation_alias, seen_key_dm3, seen_key_nlweb, twin_of
from postroom.storage.mail.inbox_log import text_of
from postroom.storage.mail.register import Row
from postroom.storage.mail.segments import Line, decode_line


def fingerprint_of(row: Row, data: bytes) -> Fingerprint:
    """What the line of a row contains, from the bytes that the row points to."""
    try:
        line = decode_line(data)
        if line.row != row.key:
            return AuditProblem.BYTES_WRONG
        conversation_alias, held = {"nlweb": _nlweb, "dm3": _dm3}[str(line.receipt["protocol"])](row, line)
    except (ValueError, KeyError, TypeError, AttributeError, TheirError):
        return AuditProblem.BYTES_WRONG
    return held if line.conversation == conversation_alias else AuditProblem.BYTES_WRONG


def is_other_message(held: Fingerprint | None, seen_key: str, text: str) -> bool:
    """Whether the bytes are another message than the one known by `seen_key` and `text` (storage/mail/inbox_log.py).

    One worker may have verified the sender of a dm3 message, and another not.
    """
    if not isinstance(held, bytes):
        return False
    return held != _mark(seen_key, text) and held != _mark(twin_of(seen_key), text)


def _nlweb(row: Row, line: Line) -> tuple[str, bytes]:
    """The conversation's name in objects, and the mark."""
    data = line.envelope.encode()
    envelope = read_envelope(parse(data, max_bytes=len(data)))
    check_hash(envelope.claimed_hash, envelope.digest)
    key = seen_key_nlweb(envelope.receiver, envelope.sender, envelope.correlation)
    return row.conversation, _mark(key, text_of(envelope.claimed_hash))


def _dm3(row: Row, line: Line) -> tuple[str, bytes]:
    """The conversation's name in objects, and the mark. The names are encrypted; the row has them."""
    data, receiver, sender = line.envelope.encode(), row.key.mailbox, row.conversation
    digest = message_hash(read_dm3_envelope(parse(data, max_bytes=len(data))))
    if line.receipt["message_hash"] != digest:
        raise ValueError(digest)
    key = seen_key_dm3(receiver, sender, digest, verified=line.receipt["unverified"] is None)
    return conversation_alias(receiver, sender), _mark(key, "")


def _mark(seen_key: str, text: str) -> bytes:
    """A message's mark in memory, which is short, because many are held at once."""
    return blake2b(f"{seen_key}\n{text}".encode(), digest_size=16).digest()
