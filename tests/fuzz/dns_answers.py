"""Fuzzing of the answers of resolvers: messages of any bytes, and honest answers that were changed."""

import json
from base64 import b32hexencode
from functools import cache
from hashlib import sha1

import dns.exception
import dns.name
import dns.rdata
from dns.rdataclass import IN
from dns.rdatatype import DS, TXT, A, RdataType
from tests.fuzz.entry import Entry, fields_of, fuzzed, outcome_of
from tests.fuzz.samples import NOW

from postroom.core.errors import NotNowError, TheirError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.crypto.reasons import KEY_RECORD_INVALID
from postroom.local.dns import DnsServer
from postroom.local.zones import ZoneTree
from postroom.names.dns import Answer, Ask, Question
from postroom.names.dns.records import Nsec3Record, NsecRecord, TxtRecord
from postroom.names.dns.wire import MAX_ANSWER_BYTES, Query, Unusable, check_answer, read_answer
from postroom.names.dnssec import (
    Absent,
    Alias,
    Evidence,
    Insecure,
    KnownZones,
    Link,
    Secure,
    TrustAnchors,
    Verdict,
    validate,
)
from postroom.names.dnssec.budget import Budget, Exceeded
from postroom.names.dnssec.evidence import MAX_JSON_BYTES, SignatureWindow
from postroom.names.dnssec.nsec3 import MAX_ITERATIONS, Hashes, readable
from postroom.names.dnssec.proven import ProvenDenials
from postroom.names.host_addresses import addresses
from postroom.names.keys import KeyDirectory
from postroom.protocols.nlweb.reasons import (
    DNSSEC_BOGUS,
    DNSSEC_TOO_COSTLY,
    KEY_LOOKUP_FAILED,
    KEY_NOT_FOUND,
    SENDER_NOT_SIGNED,
)

ZONE = """
pk1._domainkey  60   TXT    "v=DKIM1; k=ed25519; " "p=abc"
pk2._domainkey  60   CNAME  pk1._domainkey
pk3._domainkey  60   CNAME  pk3._domainkey.far.example.
host            60   A      192.0.2.1
"""
FAR = """
pk3._domainkey  60   TXT    "v=DKIM1; p=far"
"""
KEYS = tuple(dns.name.from_text(f"pk{number}._domainkey.sender.example") for number in (1, 2, 3, 4))
TRUE = {
    "pk1._domainkey.sender.example.": [b"v=DKIM1; k=ed25519; p=abc"],
    "pk3._domainkey.far.example.": [b"v=DKIM1; p=far"],
}
"""All TXT records that were ever signed, by owner."""
OF_KEY_RECORDS = (
    KEY_LOOKUP_FAILED, KEY_NOT_FOUND, SENDER_NOT_SIGNED, DNSSEC_BOGUS, DNSSEC_TOO_COSTLY, KEY_RECORD_INVALID,
)  # fmt: skip


def _tree() -> ZoneTree:
    tree = ZoneTree(clock=lambda: NOW)
    tree.put("sender.example", ZONE)
    tree.put("far.example", FAR)
    return tree


TREE = _tree()
SERVER = DnsServer(TREE)
"""Asked in its own process; never started."""
ANCHORS = TrustAnchors.parse(TREE.anchor_text)


@cache
def query(question: Question) -> Query:
    """The query for a question, its id fixed, so that an input is an answer in every run."""
    return Query(0x4D53, question)


@cache
def honest(question: Question) -> bytes:
    wire = SERVER.reply(query(question).to_wire(), udp=False)
    assert wire is not None
    return wire


def taken(question: Question, wire: bytes) -> Answer:
    """The answer in `wire`, as `Resolvers` takes it from a server. Raises NotNowError(KEY_LOOKUP_FAILED)."""
    answer = read_answer(query(question), wire)
    try:
        if answer is not None:
            return check_answer(answer)
    except Unusable as error:
        raise NotNowError(KEY_LOOKUP_FAILED, str(error)) from None
    raise NotNowError(KEY_LOOKUP_FAILED, "no answer")


def texts(verdict: Secure) -> list[bytes]:
    return [b"".join(record.strings) for record in verdict.records if isinstance(record, TxtRecord)]


@cache
def honest_answer(question: Question) -> Answer:
    return taken(question, honest(question))


def judge(name: dns.name.Name, ask: Ask) -> None:
    """Ask for a key's records, and hold that nothing is proven but what was signed."""
    known = KnownZones()
    hold(name, validate(name, TXT, ANCHORS, ask, NOW, known=known))
    # What is remembered of such answers takes nothing away from later ones, but of zones whose keys were changed.
    is_broken = any(known.end(dns.name.from_text(name), 1, NOW) for name in TRUE)
    for key in KEYS:
        verdict = validate(key, TXT, ANCHORS, honest_answer, NOW, known=known)
        hold(key, verdict)
        assert is_broken or isinstance(verdict, Secure | Absent), "proven, and not found any more"


def hold(name: dns.name.Name, verdict: Verdict) -> None:
    """That a verdict proves nothing but what was signed."""
    if isinstance(verdict, Secure):
        assert texts(verdict) == TRUE[verdict.evidence.owner.lower()], "proven, and never signed"
        assert 0 <= verdict.ttl <= 60
    if isinstance(verdict, Absent):
        assert name == KEYS[-1], "proven to be absent, and was signed"
    if isinstance(verdict, Secure | Absent):
        assert str(verdict.evidence)
        assert len(json.dumps(verdict.evidence.as_json(), separators=(",", ":"))) <= MAX_JSON_BYTES
    else:
        assert not isinstance(verdict, Insecure), "every zone is signed"
        assert verdict.why.isprintable()


def answers_to(rdtype: RdataType) -> tuple[bytes, ...]:
    return tuple(honest(Question(name, rdtype)) for name in KEYS)


PROVING = (
    "names.dnssec.walk",
    "names.dnssec.proofs",
    "names.dnssec.proven",
    "names.dnssec.zones",
    "names.dnssec.signatures",
    "names.dnssec.rrsets",
    "names.dnssec.nsec",
    "names.dnssec.denial",
)


@fuzzed("names.dns.wire", "names.dns.answer", *PROVING, seeds=answers_to(TXT), max_bytes=MAX_ANSWER_BYTES)
def dns_answers(data: bytes) -> None:
    """An answer of any bytes amid honest ones: a verdict, or none now; what is proven is what was signed, no more."""
    # Behind its header an answer says to which question it is one.
    name = next((name for name in KEYS if data[12:].startswith(name.to_wire() or b"")), KEYS[0])

    def ask(question: Question) -> Answer:
        return taken(question, data) if question == Question(name, TXT) else honest_answer(question)

    judge(name, ask)


def _patched(patches: list[bytes]) -> Ask:
    """Honest answers with changes: of four bytes the first says in which answer, the next two where, the last how."""
    numbers: dict[Question, int] = {}

    def ask(question: Question) -> Answer:
        number = numbers.setdefault(question, len(numbers))
        wire = bytearray(honest(question))
        for which, high, low, change in patches:
            if which % 16 == number:
                wire[(high << 8 | low) % len(wire)] ^= change
        return taken(question, bytes(wire)) if wire != honest(question) else honest_answer(question)

    return ask


PATCHES = (b"0", b"1\0\0\x30\1", b"2\1\0\x20\x80\3\0\x50\2", b"3\0\0\3\3", b"1" + b"\4\0\x60\x10" * 3)


@fuzzed(*PROVING, "names.keys", seeds=PATCHES, max_bytes=129)
def changed_dns_answers(data: bytes) -> None:
    """Honest answers, changed in a few bytes on their way: whatever is proven is what was signed, no more."""
    name = KEYS[data[0] % len(KEYS)] if data else KEYS[0]
    patches = [data[start : start + 4] for start in range(1, len(data) - 3, 4)]
    judge(name, _patched(patches))


@fuzzed("names.keys", seeds=PATCHES, max_bytes=129)
def keys_by_dns(data: bytes) -> None:
    """The same for the directory of senders' keys: a key that was signed, a discard or none now; and remembered so."""
    ask = _patched([data[start : start + 4] for start in range(1, len(data) - 3, 4)])
    directory = KeyDirectory(lambda: ask, ANCHORS, list, clock=lambda: NOW)
    name = str(KEYS[data[0] % len(KEYS)] if data else KEYS[0])
    found, again = (outcome_of(lambda: directory.find(name), *OF_KEY_RECORDS) for _ in range(2))
    assert getattr(found, "reason", None) is getattr(again, "reason", None)
    assert isinstance(found, TheirError | NotNowError) or found.key in TRUE.values()


APEX = dns.name.from_text("sender.example")
PLACES = tuple(dns.name.from_text(name, APEX) for name in ("pk1._domainkey", "a.b.c", "*", "@"))
DENIERS = (
    b"\x2f\3pk1\nsender\7example\0" + b"\0\2\x40\1",
    b"\x32\1\0\0\0\0\x14" + b"\x80" * 20 + b"\0\1\x40",
    b"\x32\1\1\0\5\2ab\x14" + b"\xff" * 20,
)
"""The type, and the data of an NSEC or NSEC3 record."""


@fuzzed("names.dnssec.nsec", "names.dnssec.nsec3", "names.dnssec.denial", seeds=DENIERS, max_bytes=2048)
def denials(data: bytes) -> None:
    """NSEC and NSEC3 records of any bytes deny something, and say what they rest on, or nothing; hashes are counted."""
    nsecs: dict[dns.name.Name, NsecRecord] = {}
    nsec3s: dict[dns.name.Name, Nsec3Record] = {}
    for number, part in enumerate(data.split(b"\0\0\0\0")):
        record = _record(part)
        if isinstance(record, NsecRecord):
            nsecs[PLACES[number % len(PLACES)]] = record
        elif isinstance(record, Nsec3Record) and record.iterations <= MAX_ITERATIONS:
            label = b32hexencode(sha1(bytes([number])).digest())
            nsec3s[dns.name.Name([label, *APEX.labels])] = record
    told = ProvenDenials(APEX, (), nsecs, readable(APEX, nsec3s), None, 0)
    try:
        for name in PLACES:
            found = [told.absence(name, rdtype, Hashes(Budget())) for rdtype in (TXT, DS)]
            found.append(told.no_closer(name, APEX, Hashes(Budget())) if name != APEX else None)
            assert all(denial.deniers for denial in found if denial)
    except Exceeded:
        pass


def _record(data: bytes) -> dns.rdata.Rdata | None:
    """A record of the type that the first byte names, of the data behind it."""
    try:
        return dns.rdata.from_wire(IN, data[0], data, 1, len(data) - 1) if data else None
    except (dns.exception.DNSException, ValueError):
        return None


HOST = "host.sender.example"
NAMED = Question(dns.name.from_text(HOST), A)


@fuzzed(
    "names.addresses", "names.dns.wire", seeds=(honest(NAMED), honest(Question(KEYS[2], A))), max_bytes=MAX_ANSWER_BYTES
)
def addresses_of_hosts(data: bytes) -> None:
    """The addresses in an answer of any bytes, or none now; nothing but IP addresses in text form."""
    found = outcome_of(
        lambda: addresses(
            HOST, lambda question: taken(question, data) if question == NAMED else honest_answer(question)
        ),
        OUTBOUND_FAILED,
    )
    if isinstance(found, list):
        assert all(address.count(".") == 3 or ":" in address for address in found)


@fuzzed(
    "names.keys", seeds=(b"pk1._domainkey.sender.example", b"a..b", b"\\000.a", b"a" * 64, b"x." * 127 + b"y", b".")
)
def key_names(data: bytes) -> None:
    """A name of any text is looked up, or is not a DNS name and has no key; and addresses() says that of hosts."""
    [name] = fields_of(data, 1)
    directory = KeyDirectory(lambda: _nobody, ANCHORS, list, clock=lambda: NOW)
    found = outcome_of(lambda: directory.find(name), KEY_LOOKUP_FAILED, KEY_NOT_FOUND)
    assert isinstance(found, Exception)
    assert isinstance(outcome_of(lambda: addresses(name, _nobody), OUTBOUND_FAILED), NotNowError)


def _nobody(question: Question) -> Answer:
    raise NotNowError(KEY_LOOKUP_FAILED, "nobody answers")


@fuzzed("names.dnssec.evidence", seeds=(b"", b"a\0b", b"\xff" * 800, b"\\" * 800, b"a." * 90), max_bytes=8192)
def evidence(data: bytes) -> None:
    """Evidence in a receipt is no longer than its limit, however many names it has, with any labels."""
    names = [dns.name.Name([*_labels(data[start : start + 200]), b""]) for start in range(0, len(data), 200)]
    window = SignatureWindow(13, len(data), 0, 2**31)
    chain = tuple(Link(str(name), 2, "ab" * 48, window) for name in names[::2])
    aliases = tuple(Alias(str(name), str(names[-1])) for name in names[1::2])
    told = Evidence(str(names[0]) if names else ".", "TXT", aliases, chain, window)
    assert len(json.dumps(told.as_json(), separators=(",", ":"))) <= MAX_JSON_BYTES
    assert not chain or str(told)


def _labels(data: bytes) -> list[bytes]:
    """Labels of at most 63 bytes, parted by NUL, none of them empty."""
    return [label[start : start + 63] for label in data.split(b"\0") for start in range(0, len(label), 63)]


ENTRIES: tuple[Entry, ...] = (
    dns_answers, changed_dns_answers, keys_by_dns, denials, addresses_of_hosts, key_names, evidence,
)  # fmt: skip
