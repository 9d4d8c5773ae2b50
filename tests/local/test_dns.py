import socket
import struct
import threading
import time

import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import pytest
from dns.rdatatype import CNAME, DNSKEY, DS, NSEC, RRSIG, SOA, TXT
from hypothesis import given
from hypothesis import strategies as st
from tests.patience import PATIENCE

from postroom.local.dns import DnsServer
from postroom.local.zones import Mode, ZoneTree
from postroom.names.dns import Resolvers
from postroom.names.dnssec import Absent, Secure, TrustAnchors, validate

SENDER = """
x         TXT    hello
a.b.c     TXT    deep
*.wild    TXT    anything
alias     CNAME  y.other.test.
lost      CNAME  nothing.other.test.
loop      CNAME  loop
*.stars   CNAME  also.stars.other.test.
moved     DNAME  other.test.
long      DNAME  {1}
big       TXT    "{0}" "{0}" "{0}" "{0}" "{0}" "{0}"
""".format("b" * 250, ".".join(["l" * 60] * 3))


@pytest.fixture(scope="module")
def tree():
    tree = ZoneTree()
    tree.put("sender.example", SENDER)
    tree.put("other.test", "y TXT there\n*.stars TXT anything")
    tree.put("plain.test", "y TXT plain", Mode.UNSIGNED)
    tree.put("below.plain.test", "y TXT island")
    tree.put("broken.test", "y TXT broken", Mode.BOGUS)
    tree.put("below.broken.test", "y TXT orphan")
    return tree


@pytest.fixture(scope="module")
def anchors(tree):
    return TrustAnchors.parse(tree.anchor_text)


@pytest.fixture(scope="module")
def server(tree):
    with DnsServer(tree) as server:
        yield server


def query(name, rdtype=TXT, **options):
    message = dns.message.make_query(name, rdtype, **{"want_dnssec": True, "payload": 1232, **options})
    message.flags |= dns.flags.CD
    return message


def ask(server, name, rdtype=TXT, transport=dns.query.udp, **options):
    return transport(query(name, rdtype, **options), server.host, port=server.port, timeout=PATIENCE)


def shape(section):
    """`TXT x.sender.example` and `RRSIG TXT x.sender.example` for each RRset, in order."""
    return [f"RRSIG {r.covers.name} {r.name}" if r.rdtype == RRSIG else f"{r.rdtype.name} {r.name}" for r in section]


@pytest.mark.parametrize("transport", [dns.query.udp, dns.query.tcp])
def test_an_answer_has_its_signature(server, transport):
    message = ask(server, "x.sender.example", transport=transport)
    assert shape(message.answer) == ["TXT x.sender.example.", "RRSIG TXT x.sender.example."]
    assert message.flags & dns.flags.RA
    assert message.flags & dns.flags.CD
    assert not message.flags & dns.flags.AD


def test_a_query_without_do_gets_no_signatures(server):
    message = ask(server, "x.sender.example", want_dnssec=False)
    assert shape(message.answer) == ["TXT x.sender.example."]
    assert shape(ask(server, "no.sender.example", want_dnssec=False).authority) == ["SOA sender.example."]


def ask_to_validate(server, name, rdtype=TXT, flag=dns.flags.AD, **options):
    message = dns.message.make_query(name, rdtype, **options)
    message.flags |= flag
    return dns.query.udp(message, server.host, port=server.port, timeout=PATIENCE)


@pytest.mark.parametrize(
    ("name", "rdtype"),
    [
        ("x.sender.example", TXT),
        ("alias.sender.example", TXT),
        ("any.wild.sender.example", TXT),
        ("sender.example", DS),
        (".", DNSKEY),
        ("no.sender.example", TXT),
        ("b.c.sender.example", DS),
        ("plain.test", DS),
    ],
)
@pytest.mark.parametrize("asking", [{"flag": dns.flags.AD}, {"flag": dns.flags.RD, "want_dnssec": True}])
def test_an_answer_proven_from_the_root_down_has_the_ad_bit(server, name, rdtype, asking):
    assert ask_to_validate(server, name, rdtype, **asking).flags & dns.flags.AD


def test_a_query_with_neither_ad_nor_do_gets_no_ad_bit(server):
    message = ask_to_validate(server, "x.sender.example", flag=dns.flags.RD)
    assert shape(message.answer) == ["TXT x.sender.example."]
    assert not message.flags & dns.flags.AD


@pytest.mark.parametrize("name", ["y.plain.test", "n.plain.test", "y.below.plain.test"])
def test_an_answer_without_an_unbroken_chain_is_not_authentic(server, name):
    message = ask_to_validate(server, name, want_dnssec=True)
    assert message.rcode() == (dns.rcode.NXDOMAIN if name.startswith("n.") else dns.rcode.NOERROR)
    assert not message.flags & dns.flags.AD


@pytest.mark.parametrize("name", ["y.broken.test", "n.broken.test", "y.below.broken.test"])
def test_a_bogus_answer_is_servfail_unless_checking_is_disabled(server, name):
    message = ask_to_validate(server, name)
    assert (message.rcode(), message.answer, message.authority) == (dns.rcode.SERVFAIL, [], [])
    assert not message.flags & dns.flags.AD
    as_is = ask(server, name)
    assert as_is.answer or as_is.rcode() == dns.rcode.NXDOMAIN
    assert not as_is.flags & dns.flags.AD


def test_the_ds_comes_from_the_zone_above(server):
    message = ask(server, "sender.example", DS)
    assert message.answer[1][0].signer == dns.name.from_text("example")


def test_keys_come_from_the_zone_itself(server):
    for zone in (".", "example", "sender.example"):
        assert ask(server, zone, DNSKEY).answer[1][0].signer == dns.name.from_text(zone)


def test_an_alias_is_chased_across_zones(server):
    assert shape(ask(server, "alias.sender.example").answer) == [
        "CNAME alias.sender.example.",
        "RRSIG CNAME alias.sender.example.",
        "TXT y.other.test.",
        "RRSIG TXT y.other.test.",
    ]
    assert shape(ask(server, "alias.sender.example", CNAME).answer)[0] == "CNAME alias.sender.example."


def test_an_alias_to_nothing_is_nxdomain_after_the_alias(server):
    message = ask(server, "lost.sender.example")
    assert message.rcode() == dns.rcode.NXDOMAIN
    assert shape(message.answer)[0] == "CNAME lost.sender.example."
    assert "SOA other.test." in shape(message.authority)


def test_a_loop_of_aliases_ends(server):
    assert shape(ask(server, "loop.sender.example").answer) == [
        "CNAME loop.sender.example.",
        "RRSIG CNAME loop.sender.example.",
    ]


def test_below_a_dname_the_answer_is_the_dname_an_unsigned_cname_made_of_it_and_what_is_there(server):
    """RFC 6672 §3.1 and §3.2."""
    message = ask(server, "y.moved.sender.example")
    assert shape(message.answer) == [
        "DNAME moved.sender.example.",
        "RRSIG DNAME moved.sender.example.",
        "CNAME y.moved.sender.example.",
        "TXT y.other.test.",
        "RRSIG TXT y.other.test.",
    ]
    assert (message.answer[2].ttl, str(message.answer[2][0])) == (message.answer[0].ttl, "y.other.test.")


def test_a_query_for_a_cname_below_a_dname_gets_the_synthesized_one(server):
    assert shape(ask(server, "y.moved.sender.example", CNAME).answer)[2:] == ["CNAME y.moved.sender.example."]


def test_a_dname_has_its_own_records(server):
    message = ask(server, "moved.sender.example")
    assert (message.rcode(), message.answer) == (dns.rcode.NOERROR, [])
    assert "NSEC moved.sender.example." in shape(message.authority)


def test_a_name_that_a_dname_makes_too_long_is_yxdomain(server):
    message = ask(server, f"{'a' * 60}.long.sender.example")
    assert message.rcode() == dns.rcode.YXDOMAIN
    assert shape(message.answer) == ["DNAME long.sender.example.", "RRSIG DNAME long.sender.example."]


def test_each_wildcard_on_the_way_has_its_proof_that_no_closer_name_is_there(server):
    """RFC 4035 §3.1.3.3."""
    message = ask(server, "any.stars.sender.example")
    nsecs = [rrset for rrset in message.authority if rrset.rdtype == NSEC]
    for name in ("any.stars.sender.example", "also.stars.other.test"):
        assert any(covers(nsec, dns.name.from_text(name)) for nsec in nsecs)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("y.moved.sender.example", Secure),
        ("no.moved.sender.example", Absent),
        ("any.stars.sender.example", Secure),
    ],
)
def test_targets_of_dnames_and_wildcards_are_proven(server, anchors, name, found):
    with Resolvers(server.address, try_seconds=PATIENCE, budget_seconds=PATIENCE) as resolvers:
        verdict = validate(dns.name.from_text(name), TXT, anchors, resolvers.asking(), time.time())
    assert isinstance(verdict, found)


def covers(rrset, name):
    following = rrset[0].next
    return rrset.name < name and (name < following or following <= rrset.name)


def test_a_missing_name_is_denied_with_proof_of_it_and_of_no_wildcard(server):
    message = ask(server, "no.sender.example")
    assert message.rcode() == dns.rcode.NXDOMAIN
    assert shape(message.authority)[:2] == ["SOA sender.example.", "RRSIG SOA sender.example."]
    nsecs = [rrset for rrset in message.authority if rrset.rdtype == NSEC]
    for denied in ("no.sender.example", "*.sender.example"):
        assert any(covers(nsec, dns.name.from_text(denied)) for nsec in nsecs)
    assert [r for r in message.authority if r.rdtype == RRSIG and r.covers == NSEC]


def test_a_missing_type_is_denied_by_the_names_own_nsec(server):
    message = ask(server, "x.sender.example", SOA)
    assert (message.rcode(), message.answer) == (dns.rcode.NOERROR, [])
    assert "NSEC x.sender.example." in shape(message.authority)


def test_an_empty_non_terminal_exists(server):
    message = ask(server, "b.c.sender.example")
    assert (message.rcode(), message.answer) == (dns.rcode.NOERROR, [])
    assert "SOA sender.example." in shape(message.authority)


def test_an_unknown_top_level_domain_is_denied_by_the_root(server):
    message = ask(server, "x.nowhere")
    assert message.rcode() == dns.rcode.NXDOMAIN
    assert "SOA ." in shape(message.authority)


def test_a_missing_ds_is_denied_by_the_zone_above(server):
    message = ask(server, "plain.test", DS)
    assert (message.rcode(), message.answer) == (dns.rcode.NOERROR, [])
    assert {"SOA test.", "NSEC plain.test."} <= set(shape(message.authority))


def test_an_unsigned_zone_answers_and_denies_without_signatures(server):
    assert shape(ask(server, "y.plain.test").answer) == ["TXT y.plain.test."]
    assert shape(ask(server, "n.plain.test").authority) == ["SOA plain.test."]


def test_a_wildcard_answers_under_the_name_asked_with_its_own_signature(server):
    message = ask(server, "any.wild.sender.example")
    assert shape(message.answer) == ["TXT any.wild.sender.example.", "RRSIG TXT any.wild.sender.example."]
    assert message.answer[1][0].labels == 3
    nsecs = [rrset for rrset in message.authority if rrset.rdtype == NSEC]
    assert any(covers(nsec, dns.name.from_text("any.wild.sender.example")) for nsec in nsecs)


@pytest.mark.parametrize("payload", [512, 1232, 4096])
def test_an_answer_too_large_for_a_datagram_is_truncated_and_complete_over_tcp(server, payload):
    message = ask(server, "big.sender.example", payload=payload)
    assert message.flags & dns.flags.TC
    assert message.answer == []
    assert shape(ask(server, "big.sender.example", transport=dns.query.tcp).answer)[0] == "TXT big.sender.example."


def test_without_edns_a_datagram_has_512_bytes(server):
    assert ask(server, "sender.example", DNSKEY, use_edns=False, want_dnssec=False).answer
    assert ask(server, "big.sender.example", use_edns=False, want_dnssec=False).flags & dns.flags.TC


def test_several_questions_may_follow_on_one_connection(server):
    with socket.create_connection((server.host, server.port), PATIENCE) as sock, sock.makefile("rb") as file:
        for name in ("x.sender.example", "y.other.test"):
            wire = query(name).to_wire()
            sock.sendall(struct.pack("!H", len(wire)) + wire)
            (length,) = struct.unpack("!H", file.read(2))
            assert dns.message.from_wire(file.read(length)).answer[0].name == dns.name.from_text(name)


def test_other_operations_are_not_implemented(server):
    message = query("x.sender.example")
    message.set_opcode(dns.opcode.NOTIFY)
    assert dns.message.from_wire(server.reply(message.to_wire(), udp=True)).rcode() == dns.rcode.NOTIMP


@given(st.binary(max_size=200))
def test_garbage_is_ignored_or_answered_notimp(server, wire):
    reply = server.reply(wire, udp=True)
    assert reply is None or dns.message.from_wire(reply).flags & dns.flags.QR


@given(st.data())
def test_damaged_queries_do_not_break_the_server(server, data):
    wire = bytearray(query("alias.sender.example").to_wire())
    for _ in range(data.draw(st.integers(1, 4))):
        wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    reply = server.reply(bytes(wire), udp=True)
    assert reply is None or len(reply) <= 1232


def test_questions_are_counted():
    with DnsServer(ZoneTree()) as server:
        ask(server, "x.example")
        ask(server, "x.example", transport=dns.query.tcp)
        ask(server, "x.example", SOA)
        assert server.queries == {("x.example.", "TXT"): 2, ("x.example.", "SOA"): 1}


@pytest.mark.parametrize("transport", [dns.query.udp, dns.query.tcp])
def test_a_paused_server_is_silent_and_counts(transport):
    with DnsServer(ZoneTree()) as server:
        server.pause()
        while not server.queries["x.example.", "TXT"]:
            with pytest.raises(dns.exception.Timeout):
                transport(query("x.example"), server.host, port=server.port, timeout=0.2)
        server.resume()
        assert ask(server, "x.example", transport=transport).rcode() == dns.rcode.NXDOMAIN


@pytest.mark.parametrize("transport", [dns.query.udp, dns.query.tcp])
def test_a_slow_zone_is_answered_after_a_delay(transport):
    with DnsServer(ZoneTree()) as server:
        server.slow_down(0.2, "slow.example")
        began = time.monotonic()
        assert ask(server, "x.slow.example", transport=transport).rcode() == dns.rcode.NXDOMAIN
        assert time.monotonic() - began >= 0.2


def test_only_a_slow_zone_is_answered_after_a_delay():
    server = DnsServer(ZoneTree())
    server.slow_down(0.2, "slow.example")
    assert server.delay_seconds(query("slow.example").to_wire()) == 0.2
    others = (query("x.example").to_wire(), query("slow.example", DS).to_wire(), b"no query")
    assert [server.delay_seconds(each) for each in others] == [0, 0, 0]


def test_a_zone_put_while_serving_is_served():
    tree = ZoneTree()
    with DnsServer(tree) as server:
        tree.put("sender.example", "x TXT one")
        assert ask(server, "x.sender.example").answer[0][0].strings == (b"one",)


def test_a_stopped_server_leaves_no_thread_and_gives_its_port_back():
    before = threading.active_count()
    server = DnsServer(ZoneTree()).start()
    with socket.create_connection((server.host, server.port), PATIENCE) as client:
        server.stop()
        assert client.recv(1) == b""
    assert threading.active_count() == before
    port = server.port
    with DnsServer(ZoneTree(), port=port) as again:
        assert again.address == f"127.0.0.1:{port}"


def test_a_taken_port_is_an_error():
    with DnsServer(ZoneTree()) as server, pytest.raises(OSError, match="in use"):
        DnsServer(ZoneTree(), port=server.port).start()
