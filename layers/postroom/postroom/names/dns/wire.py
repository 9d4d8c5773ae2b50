"""DNS queries on the wire, and the check that bytes are the answer to one. Pure."""

import secrets
import struct
from typing import NamedTuple

import dns.flags
import dns.opcode
import dns.rcode
from dns.rdataclass import IN
from dns.rdatatype import OPT

from postroom.names.dns.answer import Answer, Malformed
from postroom.names.dns.question import Question

# Fits into one unfragmented datagram on every usual path (DNS flag day 2020).
EDNS_PAYLOAD = 1232
_EDNS = b"\0" + struct.pack("!HHIH", OPT, EDNS_PAYLOAD, dns.flags.DO, 0)

MAX_ANSWER_BYTES = 16_384
"""The most bytes read: a key record with its proof has some 2,000, and everything in an answer costs us time."""

HEADER_BYTES = 12

_WITHOUT_QUESTION = (dns.rcode.FORMERR, dns.rcode.SERVFAIL, dns.rcode.NOTIMP, dns.rcode.REFUSED)


class TooLong(Exception):  # noqa: N818 - as Unusable
    """The answer is too long, and was not read."""

    def __init__(self) -> None:
        super().__init__(f"an answer of more than {MAX_ANSWER_BYTES} bytes")


class Unusable(Exception):  # noqa: N818 - it is a fact about an answer, handled by asking somebody else
    """The answer is of no use; the text is for people, and names no server."""


class Query(NamedTuple):
    """A query with RD, CD and DO set: we need all signatures, and check them ourselves."""

    id: int
    question: Question

    def to_wire(self) -> bytes:
        """The message (RFC 1035 §4.1, RFC 6891 §6.1.2). `dns.message` would take a fourth of a look-up for it."""
        return struct.pack("!6H", self.id, dns.flags.RD | dns.flags.CD, 1, 0, 0, 1) + self.encoded_question + _EDNS

    @property
    def encoded_question(self) -> bytes:
        """The question as in a message, in lower case (RFC 1035 §4.1.2)."""
        name, rdtype = self.question
        return name.to_digestable() + struct.pack("!HH", rdtype, IN)


def make_query(question: Question) -> Query:
    """A query with a new random id."""
    return Query(secrets.randbits(16), question)


def read_answer(query: Query, wire: bytes) -> Answer | None:
    """The answer to `query` in `wire`, whatever its rcode; None if these bytes do not answer it."""
    try:
        answer = Answer.read(wire)
    except Malformed:
        return None
    # A server that could not read the query need not repeat the question.
    repeats = answer.question == query.encoded_question or (not answer.question and answer.rcode in _WITHOUT_QUESTION)
    is_response = answer.flags & dns.flags.QR and dns.opcode.from_flags(answer.flags) == dns.opcode.QUERY
    return answer if is_response and answer.id == query.id and repeats else None


def too_long(query: Query, head: bytes) -> TooLong | Unusable:
    """The fault of a message of more than `MAX_ANSWER_BYTES`: that, if it may be the answer to `query`.

    It may be if the id is the same, and QR is set. `head`: its first bytes, at least `HEADER_BYTES`.
    """
    id_, flags = struct.unpack_from("!HH", head)
    if id_ == query.id and flags & dns.flags.QR:
        return TooLong()
    return Unusable("a proxy, or something else that is not a DNS server, answers on its port")


def check_answer(answer: Answer) -> Answer:
    """`answer`, if its rcode says something about the name; otherwise raises `Unusable` (SERVFAIL, REFUSED, …)."""
    # YXDOMAIN: the name that a DNAME leads to is too long (RFC 6672 §2.2).
    if answer.rcode not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN, dns.rcode.YXDOMAIN):
        raise Unusable(dns.rcode.to_text(answer.rcode))
    return answer
