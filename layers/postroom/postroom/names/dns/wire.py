"""Queries as we send them, and which bytes count as their answer. Pure."""

import dns.exception
import dns.flags
import dns.message
import dns.rcode
import dns.rdataclass

from postroom.names.dns.question import Question

# Fits one unfragmented datagram on every usual path (DNS flag day 2020).
EDNS_PAYLOAD = 1232


class Unusable(Exception):  # noqa: N818 - it is a fact about an answer, handled by asking somebody else
    """An answer that says nothing; the text is for people and names no server."""


def make_query(question: Question) -> dns.message.QueryMessage:
    """A query with a fresh random id and RD, CD, DO set: we want all signatures and do our own checking."""
    query = dns.message.make_query(
        question.name,
        question.rdtype,
        dns.rdataclass.IN,
        use_edns=0,
        want_dnssec=True,
        payload=EDNS_PAYLOAD,
    )
    query.flags |= dns.flags.RD | dns.flags.CD
    return query


def read_answer(query: dns.message.Message, wire: bytes) -> dns.message.Message | None:
    """The answer to `query` in `wire`, whatever its rcode; None if these bytes are no answer to it."""
    try:
        message = dns.message.from_wire(wire)
        matches = query.is_response(message)
    # The parser meets hostile bytes; whatever it trips over means the same.
    except (dns.exception.DNSException, ValueError, ArithmeticError, LookupError, TypeError):
        return None
    return message if matches else None


def check_answer(message: dns.message.Message) -> dns.message.Message:
    """`message` if its rcode is NOERROR or NXDOMAIN; raises `Unusable` else (SERVFAIL, REFUSED, …)."""
    if message.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        raise Unusable(dns.rcode.to_text(message.rcode()))
    return message
