"""Zones that are made to cost a validator much, below an honest root: all that they answer, as bytes.

Whoever signs a zone chooses its keys, signatures, digests and denials, and so how much work it is to try them all:
KeyTrap (CVE-2023-50387) and the NSEC3 bomb (CVE-2023-50868) are such zones.
"""

from collections.abc import Callable
from typing import Final

import dns.dnssec
import dns.name
import dns.rdata
import dns.rdataclass
import dns.rrset
from dns.dnssectypes import Algorithm
from dns.rdatatype import DNSKEY, SOA, TXT
from tests.names.signing import TTL, Zones, set_of

from postroom.names.dns import Question
from postroom.names.dns.records import DnskeyRecord, RrsigRecord
from postroom.names.dnssec.budget import MAX_HASHES
from postroom.names.dnssec.nsec3 import MAX_ITERATIONS
from postroom.names.dnssec.proofs import MAX_DENIERS
from postroom.names.dnssec.rrsets import MAX_RECORDS
from postroom.names.dnssec.signatures import MAX_KEYS_PER_TAG, MAX_SIGNATURES
from postroom.names.dnssec.walk import MAX_ALIASES

TRAP: Final = dns.name.from_text("trap.example")
KEY: Final = dns.name.from_text("pk1._domainkey.trap.example")
_CROWD: Final = MAX_RECORDS
"""Signatures that hold for nothing, on one set."""

Costly = tuple[Zones, dns.name.Name]
"""Zones, and the name whose TXT is to be looked up in them."""


def honest(algorithm: Algorithm = Algorithm.ECDSAP256SHA256) -> Costly:
    """The usual: one key a zone, one signature a set."""
    zones = Zones(algorithm, [TRAP])
    zones.put_signed(_text(KEY), TRAP)
    return zones, KEY


def key_trap() -> Costly:
    """As many keys of one tag as a set may have, and as many signatures, which any of them may have made."""
    zones = Zones()
    zones.add(TRAP, [zones.key(TRAP).record, *zones.key(TRAP).of_the_same_tag(MAX_RECORDS - 1)])
    records = _text(KEY)
    zones.put(Question(KEY, TXT), [records, _crowd(zones, records, TRAP)])
    return zones, KEY


def key_trap_at_a_delegation() -> Costly:
    """The same over the DS of a zone, so that it is never reached."""
    zones, below = Zones(), dns.name.from_text("below", TRAP)
    zones.add(TRAP, [zones.key(TRAP).record, *zones.key(TRAP).of_the_same_tag(MAX_RECORDS - 1)])
    zones.add(below, sign=_crowd)
    name = dns.name.from_text("pk1._domainkey", below)
    zones.put_signed(_text(name), below)
    return zones, name


def key_trap_at_the_keys() -> Costly:
    """Keys of one tag, a DS for each of them, and as many signatures over them."""
    zones = Zones()
    keys = [zones.key(TRAP).record, *zones.key(TRAP).of_the_same_tag(MAX_RECORDS - 1)]
    zones.add(TRAP, keys, [zones.digest(TRAP, key) for key in keys])
    published = set_of(TRAP, *keys)
    zones.put(Question(TRAP, DNSKEY), [published, _crowd(zones, published, TRAP)])
    zones.put_signed(_text(KEY), TRAP)
    return zones, KEY


def digests_of_keys_as_long_as_an_answer() -> Costly:
    """As many DS as a set may have, each to be tried with two keys of 7,000 bytes."""
    zones = Zones(Algorithm.RSASHA256)
    long = zones.key(TRAP).record.replace(key=b"\3\1\0\1" + b"\1\2\3\4" + b"\xff" * 7_000)
    # A tag is a sum, so the order of the words does not matter to it.
    other = long.replace(key=b"\3\1\0\1" + b"\3\4\1\2" + b"\xff" * 7_000)
    digest = zones.digest(TRAP, long)
    zones.add(TRAP, [long, other], [digest.replace(digest=bytes([n]) * 32) for n in range(MAX_RECORDS)])
    zones.put_signed(_text(KEY), TRAP)
    return zones, KEY


def aliases_signed_so_that_the_last_holds_that_is_tried(
    aliases: int = MAX_ALIASES, algorithm: Algorithm = Algorithm.ECDSAP384SHA384
) -> Costly:
    """Of as many signatures, and as many keys of their tag, as are tried; by the algorithm that takes longest."""
    zones = Zones(algorithm)
    zones.add(TRAP, _own_last(zones, TRAP))
    names = [dns.name.from_text(f"a{n}", TRAP) for n in range(aliases)]
    for name, target in zip(names, [*names[1:], KEY], strict=True):
        alias = dns.rrset.from_text(name, TTL, "IN", "CNAME", str(target))
        zones.put(Question(name, TXT), [alias, _last_holds(zones, alias, TRAP)])
    records = _text(KEY)
    zones.put(Question(KEY, TXT), [records, _last_holds(zones, records, TRAP)])
    return zones, names[0]


def aliases_that_end_bogus() -> Costly:
    """As many as can be proven before there would be too many checks: all of it is looked up again."""
    zones, name = aliases_signed_so_that_the_last_holds_that_is_tried(6, Algorithm.ECDSAP256SHA256)
    records = _text(KEY)
    nobodys = zones.signature(records, TRAP).replace(key_tag=0)
    zones.put(Question(KEY, TXT), [records, set_of(KEY, nobodys)])
    return zones, name


def zones_within_zones() -> Costly:
    """One at each label, its DS and its keys signed so that the last signature holds that is tried."""
    zones, name = Zones(), TRAP
    for _ in range(20):
        own_last = _own_last(zones, name)
        zones.add(name, own_last, [zones.digest(name, key) for key in own_last], _last_holds)
        name = dns.name.from_text("a", name)
    zones.put_signed(_text(name), name.parent())
    return zones, name


def nsec3_bomb(labels: int = 100) -> Costly:
    """A name of many labels is denied by the costliest hash that is taken; what is there is the apex alone."""
    zones, name = Zones(names=[TRAP]), dns.name.from_text("a." * labels + str(TRAP))
    own = _nsec3(TRAP)
    zones.put(Question(name, TXT), [], [own, zones.sign(own, TRAP)])
    return zones, name


def nsec3_bomb_of_as_many_hashes_as_are_made() -> Costly:
    """The same, and just shallow enough to be believed."""
    # The name, its ancestors down to the apex, the wildcard below it: each hashed once.
    return nsec3_bomb(MAX_HASHES // (MAX_ITERATIONS + 1) - 2)


def nsec3_bomb_in_a_key_trap() -> Costly:
    """Denials by the dozen, signed so that the last signature holds that is tried."""
    zones, name = Zones(Algorithm.ECDSAP384SHA384), dns.name.from_text("a." * 100 + str(TRAP))
    zones.add(TRAP, _own_last(zones, TRAP))
    denials = [_nsec3(TRAP), *(_nsec3(dns.name.from_text(f"x{n}", TRAP)) for n in range(MAX_DENIERS - 1))]
    zones.put(Question(name, TXT), [], [it for each in denials for it in (each, _last_holds(zones, each, TRAP))])
    return zones, name


def denials_by_the_hundred() -> Costly:
    """They all hold, and the one that is wanted comes last."""
    zones = Zones(names=[TRAP])
    others = [
        dns.rrset.from_text(f"b{number}.{TRAP}", TTL, "IN", "NSEC", f"b{number}a.{TRAP} TXT") for number in range(75)
    ]
    zones.put(Question(KEY, TXT), [], [it for each in (*others, _nsec3(TRAP)) for it in (each, zones.sign(each, TRAP))])
    return zones, KEY


def a_set_as_long_as_an_answer() -> Costly:
    """Of strings of a byte each; it is written out for every signature and key."""
    zones = Zones()
    zones.add(TRAP, _own_last(zones, TRAP))
    wires = [b"\1x" * 230 + bytes([1, number]) for number in range(MAX_RECORDS)]
    records = set_of(KEY, *(dns.rdata.from_wire("IN", TXT, wire, 0, len(wire)) for wire in wires))
    zones.put(Question(KEY, TXT), [records, _last_holds(zones, records, TRAP)])
    return zones, KEY


def a_set_of_thousands() -> Costly:
    """As many records as an answer can hold."""
    zones = Zones(names=[TRAP])
    zones.put_signed(dns.rrset.from_text(KEY, TTL, "IN", "TXT", *map(str, range(900))), TRAP)
    return zones, KEY


def signatures_of_signers_that_are_deep(count: int = 20) -> Costly:
    """Each by a name of 100 labels."""
    zones, name = Zones(names=[TRAP]), dns.name.from_text("a." * 100 + str(TRAP))
    records = _text(name)
    true = zones.signature(records, TRAP)
    signatures = [true.replace(signer=name, key_tag=number, signature=b"") for number in range(count)]
    zones.put(Question(name, TXT), [records, set_of(name, *signatures)])
    return zones, name


def aliases_by_p_384() -> Costly:
    """As many as are followed, each into another zone and back, of honest zones with the costliest algorithm."""
    others = [dns.name.from_text(f"other{n}.example") for n in range(2)]
    zones = Zones(Algorithm.ECDSAP384SHA384, [TRAP, *others])
    within = [[TRAP, *others][n % 3] for n in range(MAX_ALIASES)]
    names = [dns.name.from_text(f"a{n}", zone) for n, zone in enumerate(within)]
    for name, zone, target in zip(names, within, [*names[1:], KEY], strict=True):
        alias = dns.rrset.from_text(name, TTL, "IN", "CNAME", str(target))
        zones.put(Question(name, TXT), [alias, zones.sign(alias, zone)])
    zones.put_signed(_text(KEY), TRAP)
    return zones, names[0]


def dnames_beside_aliases() -> Costly:
    """An honest chain of aliases, and as many DNAMEs of deep names as there is room for, which lead nowhere."""
    zones = Zones(names=[TRAP])
    names = [dns.name.from_text(f"a{n}", TRAP) for n in range(MAX_ALIASES)]
    answer = []
    for name, target in zip(names, [*names[1:], KEY], strict=True):
        alias = dns.rrset.from_text(name, TTL, "IN", "CNAME", str(target))
        answer += [alias, zones.sign(alias, TRAP)]
    answer += [_text(KEY), zones.sign(_text(KEY), TRAP)]
    deep = dns.name.from_text("a." * 115 + str(TRAP))
    answer += [
        dns.rrset.from_text(dns.name.Name([f"{n}".encode(), *deep.labels]), TTL, "IN", "DNAME", ".") for n in range(700)
    ]
    zones.put(Question(names[0], TXT), answer)
    return zones, names[0]


def start_of_authority_by_the_dozen() -> Costly:
    """A denial that holds, with a set of SOA records of deep names, which holds, too."""
    zones = Zones(names=[TRAP])
    deep = "a." * 110 + str(TRAP)
    soa = dns.rrset.RRset(TRAP, dns.rdataclass.IN, SOA)
    for number in range(MAX_RECORDS):
        # Not `add`, which knows that there is but one.
        record = dns.rdata.from_text("IN", "SOA", f"{deep} {deep} {number} 1 1 1 60")
        soa.items[record] = None
    soa.ttl = TTL
    denial = _nsec3(TRAP)
    name = dns.name.from_text("none", TRAP)
    zones.put(Question(name, TXT), [], [it for each in (denial, soa) for it in (each, zones.sign(each, TRAP))])
    return zones, name


COSTLY: Final[tuple[Callable[[], Costly], ...]] = (
    key_trap,
    key_trap_at_a_delegation,
    key_trap_at_the_keys,
    digests_of_keys_as_long_as_an_answer,
    aliases_signed_so_that_the_last_holds_that_is_tried,
    aliases_that_end_bogus,
    zones_within_zones,
    nsec3_bomb,
    nsec3_bomb_in_a_key_trap,
    denials_by_the_hundred,
    a_set_of_thousands,
    signatures_of_signers_that_are_deep,
)


def _text(name: dns.name.Name) -> dns.rrset.RRset:
    return dns.rrset.from_text(name, TTL, "IN", "TXT", '"v=DKIM1; k=ed25519; p=abc"')


def _own_last(zones: Zones, zone: dns.name.Name) -> list[DnskeyRecord]:
    """As many keys of one tag as are tried, of which the last one signs."""
    own = zones.key(zone)
    return [*own.of_the_same_tag(MAX_KEYS_PER_TAG - 1), own.record]


def _nsec3(name: dns.name.Name) -> dns.rrset.RRset:
    """That `name` alone is in the zone, as an apex."""
    salt = "ff" * 255
    own = dns.dnssec.nsec3_hash(name, salt, MAX_ITERATIONS, 1)
    text = f"1 0 {MAX_ITERATIONS} {salt} {own} SOA NS"
    return dns.rrset.from_text(dns.name.from_text(own, TRAP), TTL, "IN", "NSEC3", text)


def _broken(signature: RrsigRecord, number: int) -> RrsigRecord:
    """Of the right form, and made by nobody; another one for each number."""
    # Not the number itself: once in thousands of times, it would be what the signature ends with.
    end = int.from_bytes(signature.signature[-2:]) ^ (number + 1)
    return signature.replace(signature=signature.signature[:-2] + end.to_bytes(2))


def _crowd(zones: Zones, records: dns.rrset.RRset, zone: dns.name.Name) -> dns.rrset.RRset:
    """As many signatures as are read, none of which holds."""
    true = zones.signature(records, zone)
    return set_of(records.name, *(_broken(true, number) for number in range(_CROWD)))


def _last_holds(zones: Zones, records: dns.rrset.RRset, zone: dns.name.Name) -> dns.rrset.RRset:
    """As many signatures as are tried; the last one holds."""
    true = zones.signature(records, zone)
    return set_of(records.name, *(_broken(true, number) for number in range(MAX_SIGNATURES - 1)), true)
