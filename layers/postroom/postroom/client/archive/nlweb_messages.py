"""NLWeb messages in an archive: as they were received, and those that the owner sent through an outbox.

One that was sent is kept like one that was received, in the conversation with its receiver. Its receipt says that it
was sent. The post office has signed it: the archive has neither its Hash nor its Signature.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from postroom.client.archive.archive import Archive
from postroom.client.archive.ownership import check_ownership
from postroom.client.archive.receiving import SENT, read_nlweb
from postroom.core.ijson import JsonValue, parse
from postroom.protocols.dm3.stored import Received
from postroom.protocols.nlweb.envelope import read_frame, read_subject, text_of
from postroom.protocols.nlweb.names import read_receiver


@dataclass(frozen=True, slots=True)
class NlwebContent:
    """What an NLWeb message says, whoever sent it. `is_sent`: the archive's owner did, through an outbox."""

    sender: str
    receiver: str
    subject: str
    body: JsonValue
    is_sent: bool


def keep_sent_nlweb(
    archive: Archive, receiver: str, subject: str, body: JsonValue, *, at_ms: int, token: str, correlation: str
) -> None:
    """Store a message that an outbox has accepted, once for its token. `at_ms`: its time, epoch milliseconds.

    Raises NotThisHomeError if the archive moved meanwhile, and as `Archive` does.
    """
    header = {"From": archive.owner, "To": receiver, "Subject": subject, "Correlation": correlation}
    receipt = {"protocol": "nlweb", SENT: True, "correlation": correlation}
    archive.store(
        [
            Received(
                id=f"sent:{token}",
                timestamp_ms=at_ms,
                author=receiver,
                receipt=orjson.dumps(receipt).decode(),
                envelope=orjson.dumps({"Header": header, "Body": body}).decode(),
            )
        ]
    )
    check_ownership(archive)


def read_content(entry: Received) -> NlwebContent:
    """What an NLWeb message says that was not set aside. Raises TheirError: it is none."""
    if is_sent(entry):
        return _read_sent(entry.envelope.encode())
    envelope = read_nlweb(entry.envelope)
    return NlwebContent(envelope.sender, envelope.receiver, envelope.subject, envelope.body, is_sent=False)


def is_sent(entry: Received) -> bool:
    """Whether a stored message is one that the owner sent."""
    return _receipt_of(entry).get(SENT) is True


def sent_correlation(entry: Received) -> str:
    """The Correlation that a message has in the owner's outbox; empty: the owner has not sent it."""
    return str(_receipt_of(entry).get("correlation", "")) if is_sent(entry) else ""


def _receipt_of(entry: Received) -> Mapping[str, JsonValue]:
    try:
        receipt = orjson.loads(entry.receipt)
    except orjson.JSONDecodeError:
        return {}
    return receipt if isinstance(receipt, dict) else {}


def _read_sent(data: bytes) -> NlwebContent:
    envelope, header = read_frame(parse(data, max_bytes=len(data)))
    sender, receiver = text_of(header, "From", "Header."), read_receiver(text_of(header, "To", "Header."))
    return NlwebContent(sender, receiver, read_subject(header), envelope.get("Body"), is_sent=True)
