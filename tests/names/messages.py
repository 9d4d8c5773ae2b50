"""The conversion of look-ups' answers to DNS messages that tests can change, and back."""

from collections.abc import Iterable

import dns.message
import dns.rrset

from postroom.names.dns import Answer


def message_of(answer: Answer) -> dns.message.Message:
    return dns.message.from_wire(answer.wire)


def answer_of(message: dns.message.Message) -> Answer:
    message.answer, message.authority = one_by_one(message.answer), one_by_one(message.authority)
    return Answer.read(message.to_wire(max_size=65_535))


def one_by_one(sets: Iterable[dns.rrset.RRset]) -> list[dns.rrset.RRset]:
    """The records in a fixed order; dnspython would write those of a set in a random one."""
    return [_alone(rrset, record) for rrset in sets for record in rrset]


def _alone(rrset: dns.rrset.RRset, record: dns.rdata.Rdata) -> dns.rrset.RRset:
    alone = dns.rrset.RRset(rrset.name, rrset.rdclass, rrset.rdtype, rrset.covers)
    alone.add(record, rrset.ttl)
    return alone
