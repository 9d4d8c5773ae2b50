"""Answers are read as dnspython reads them, and no more of them than is asked for."""

import struct

import dns.message
import dns.name
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rrset
import pytest
from dns.rdatatype import CNAME, NSEC, OPT, RRSIG, TXT, A
from hypothesis import given
from hypothesis import strategies as st
from tests.names.messages import answer_of, one_by_one

from postroom.names.dns import Answer, Malformed

NAME = dns.name.from_text("Key.sender.example")
LABELS = st.binary(min_size=1, max_size=63)
NAMES = st.lists(LABELS, max_size=4).map(lambda labels: dns.name.Name([*labels, b""]))
RRSETS = st.one_of(
    st.builds(
        lambda name, ttl, texts: dns.rrset.from_text_list(name, ttl, "IN", "TXT", texts),
        NAMES, st.integers(0, 2**31 - 1), st.lists(st.sampled_from(["a", "b", '"c d"']), min_size=1, max_size=3),
    ),
    st.builds(lambda name, target: dns.rrset.from_text(name, 60, "IN", "CNAME", str(target)), NAMES, NAMES),
    st.builds(lambda name, target: dns.rrset.from_text(name, 60, "IN", "NSEC", f"{target} A TXT"), NAMES, NAMES),
)  # fmt: skip


def message(*answer, authority=()):
    made = dns.message.make_response(dns.message.make_query(NAME, TXT))
    made.answer, made.authority = list(answer), list(authority)
    return made


def wire_of(*records, count=None):
    """An answer of records of any bytes."""
    head = struct.pack("!6H", 1, 0x8180, 1, len(records) if count is None else count, 0, 0)
    return head + NAME.to_wire() + struct.pack("!HH", TXT, 1) + b"".join(records)


def record(owner, rdtype=TXT, data=b"\1x", ttl=60, rdclass=1):
    return owner + struct.pack("!HHIH", rdtype, rdclass, ttl, len(data)) + data


QUESTION_NAME = b"\xc0\x0c"


@given(st.lists(RRSETS, max_size=6), st.lists(RRSETS, max_size=3))
def test_every_record_is_found_as_dnspython_finds_it(answers, authorities):
    made = message(*answers, authority=authorities)
    made.answer, made.authority = one_by_one(made.answer), one_by_one(made.authority)
    wire = made.to_wire(max_size=65_535)
    known, read = dns.message.from_wire(wire), Answer.read(wire)
    for theirs, ours in ((known.answer, read.answer), (known.authority, read.authority)):
        for rdtype in (TXT, CNAME, NSEC):
            owners = {rrset.name for rrset in theirs if rrset.rdtype == rdtype}
            assert set(ours.of_type(rdtype)) == owners
            for owner in owners - {NAME}:
                [rrset] = [it for it in theirs if (it.name, it.rdtype) == (owner, rdtype)]
                found = ours.find(owner, rdtype)
                assert found.ttl == rrset.ttl
                # Of types that can stand at a name but once dnspython keeps the last.
                assert set(rrset) <= set(found.read())
                assert rdtype != TXT or set(rrset) == set(found.read())


def test_header_and_question_are_read():
    made = message()
    made.set_rcode(dns.rcode.NXDOMAIN)
    read = answer_of(made)
    assert (read.id, read.flags, read.rcode, read.is_truncated) == (made.id, made.flags, dns.rcode.NXDOMAIN, False)
    assert read.question == NAME.to_digestable() + struct.pack("!HH", TXT, 1)


@pytest.mark.parametrize("rcode", [dns.rcode.BADVERS, dns.rcode.BADCOOKIE])
def test_an_rcode_has_its_upper_bits_in_edns(rcode):
    made = message()
    made.use_edns(0)
    made.set_rcode(rcode)
    assert answer_of(made).rcode == rcode


def test_names_are_found_in_any_case():
    read = answer_of(message(dns.rrset.from_text(NAME, 60, "IN", "TXT", "x")))
    assert read.answer.find(dns.name.from_text("kEY.SENDER.example"), TXT)
    assert list(read.answer.of_type(TXT)) == [NAME]


def test_signatures_are_found_by_the_type_that_they_cover():
    text = "A 8 3 60 20300101000000 20200101000000 1 example. AAAA"
    read = answer_of(message(dns.rrset.from_text(NAME, 60, "IN", "RRSIG", text)))
    assert read.answer.signatures(NAME, A).read()[0].signer == dns.name.from_text("example")
    assert read.answer.signatures(NAME, TXT) is None
    assert read.answer.find(NAME, RRSIG) is None


def test_the_least_ttl_is_used_and_an_oversized_one_counts_as_zero():
    """RFC 2181 §5.2, §8."""
    ttls = [60, 17, 99]
    assert Answer.read(wire_of(*(record(QUESTION_NAME, ttl=ttl) for ttl in ttls))).answer.find(NAME, TXT).ttl == 17
    assert Answer.read(wire_of(record(QUESTION_NAME, ttl=2**31))).answer.find(NAME, TXT).ttl == 0


def test_a_duplicate_record_is_one():
    read = Answer.read(wire_of(record(QUESTION_NAME), record(QUESTION_NAME)))
    assert len(read.answer.find(NAME, TXT).canonical()) == 1


@given(st.lists(RRSETS, min_size=1, max_size=4))
def test_data_are_made_canonical_as_dnspython_makes_them(sets):
    made = message(authority=one_by_one(sets))
    read = Answer.read(made.to_wire(max_size=65_535))
    for rrset in sets:
        if rrset.name != NAME:
            found = read.authority.find(rrset.name, rrset.rdtype)
            assert {it.to_digestable() for it in found.read()} == set(found.canonical())


def test_records_of_other_classes_are_ignored():
    read = Answer.read(wire_of(record(QUESTION_NAME, rdclass=dns.rdataclass.CH)))
    assert read.answer.find(NAME, TXT) is None


def test_unrequested_records_are_not_read():
    read = Answer.read(wire_of(record(QUESTION_NAME), record(QUESTION_NAME, A, b"too long for an address")))
    assert read.answer.find(NAME, TXT).read()
    with pytest.raises(Malformed, match="A cannot be read"):
        read.answer.find(NAME, A).read()


def test_an_answer_cut_within_a_record_with_the_tc_bit_is_truncated():
    wire = bytearray(wire_of(record(QUESTION_NAME))[:-1])
    wire[2] |= 0x02
    read = Answer.read(bytes(wire))
    assert read.is_truncated
    assert read.answer.find(NAME, TXT) is None


def test_unreadable_signatures_are_ignored():
    good = dns.rdata.from_text("IN", "RRSIG", "TXT 8 3 60 20300101000000 20200101000000 1 example. AAAA").to_wire()
    read = Answer.read(wire_of(*(record(QUESTION_NAME, RRSIG, data) for data in (b"\0\x10\1", good))))
    assert len(read.answer.signatures(NAME, TXT).readable()) == 1


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        wire_of()[:11],
        wire_of(count=1),
        wire_of(record(QUESTION_NAME)[:-1]),
        wire_of(record(b"\xc0\xff")),
        wire_of(record(b"\1a\xc0" + bytes([len(wire_of())]))),
        wire_of(record(b"\x40" + b"a" * 64 + b"\0")),
        wire_of(record((b"\x3f" + b"a" * 63) * 4 + b"\0")),
        wire_of(record((b"\x3f" + b"a" * 63) * 3 + b"\x30" + b"a" * 48 + QUESTION_NAME)),
        wire_of(record(b"\1a" * 5_000 + b"\0")),
        struct.pack("!6H", 1, 0x8180, 2, 0, 0, 0) + 2 * (b"\0" + struct.pack("!HH", TXT, 1)),
    ],
    ids=[
        "nothing", "half a header", "no record", "half a record", "forward", "to itself", "no label", "long name",
        "long by pointer", "very long", "two questions",
    ],
)  # fmt: skip
def test_bytes_that_are_not_a_message_are_malformed(wire):
    with pytest.raises(Malformed):
        Answer.read(wire)


def test_a_compressed_name_may_have_255_bytes():
    label = b"\x3f" + b"a" * 63
    rest = 255 - len(NAME.to_wire()) - 3 * len(label)
    owner = 3 * label + bytes([rest - 1]) + b"b" * (rest - 1) + QUESTION_NAME
    [found] = Answer.read(wire_of(record(owner))).answer.of_type(TXT)
    assert len(found.to_wire()) == 255


@given(st.binary(max_size=400))
def test_any_bytes_are_a_message_or_malformed(wire):
    try:
        read = Answer.read(wire)
    except Malformed:
        return
    assert read.wire == wire


@given(st.data())
def test_a_damaged_message_is_read_as_dnspython_reads_it(data):
    made = message(
        dns.rrset.from_text(NAME, 60, "IN", "TXT", "a", "b"),
        dns.rrset.from_text("x.sender.example.", 9, "IN", "A", "1.2.3.4"),
    )
    wire = bytearray(made.to_wire())
    for _ in range(data.draw(st.integers(1, 4))):
        wire[data.draw(st.integers(12, len(wire) - 1))] = data.draw(st.integers(0, 255))
    try:
        known = dns.message.from_wire(bytes(wire))
    except Exception:
        return
    read = Answer.read(bytes(wire))
    for rrset in known.answer:
        if rrset.rdclass == dns.rdataclass.IN and rrset.rdtype in (TXT, A):
            assert set(rrset) == set(read.answer.find(rrset.name, rrset.rdtype).read())
    assert OPT not in {rrset.rdtype for rrset in known.answer}
