"""Fuzzing of our own formats, and those of operators: queue messages, segments, settings."""

import json
from dataclasses import replace

from tests.fakes.storage import FakeObjects
from tests.functions.samples import MADE_AT, claim, discarded_row
from tests.fuzz.entry import LONG, Entry, fields_of, fuzzed, json_of, text_of
from tests.fuzz.samples import ENVELOPES, EVENTS, compact

from postroom.core.errors import SettingsError, TheirError
from postroom.core.settings import read_settings
from postroom.http.cors import Cors
from postroom.names.dns import parse_servers
from postroom.names.dnssec import IANA_ROOT, TrustAnchors
from postroom.outbound.discard_messages import feedback_request_of
from postroom.outbound.queue_messages import READERS, read_queue_message
from postroom.pipeline.claims import Claim, Pointer, QueuedClaim, read_claim, unpack
from postroom.protocols.nlweb.envelope import read_envelope
from postroom.storage.mail.segments import Line, decode_line, lay_out

CLAIM = claim(1, MADE_AT, ENVELOPES[0].decode())
BUCKET = FakeObjects({"claim/here": compact(CLAIM.as_json())})
FEEDBACK_REQUEST = feedback_request_of(read_envelope(json.loads(ENVELOPES[0])))
CLAIMS = (
    *(
        record["body"].encode()
        for name in ("worker-claims", "worker-retries", "worker-suspects", "waiting-claims")
        for record in json.loads((EVENTS / f"{name}.json").read_bytes())["Records"]
    ),
    QueuedClaim(CLAIM, Pointer("claim/here", FEEDBACK_REQUEST), 2).body().encode(),
    QueuedClaim(CLAIM, Pointer("claim/gone"), 2).body().encode(), b'{"at":"claim/here","tries":0}',
    b'{"at":"claim/gone","tries":0}', b"[]", b'"at"',
    b'{"tries":1e999}',
)  # fmt: skip


@fuzzed("pipeline.claims", seeds=CLAIMS, is_json=True, max_bytes=LONG)
def queued_claims(data: bytes) -> None:
    """A claim, or one of the errors that mean: none of ours; sent again it is the same claim."""
    try:
        found = unpack(text_of(data), BUCKET)
    except (ValueError, KeyError):  # KeyError: S3 has it no more
        return
    assert isinstance(found.claim, Claim)
    assert unpack(found.body(), BUCKET) == found
    assert found.again() == replace(found, tries=found.tries + 1)
    assert found.pointer or read_claim(json.loads(found.body())["claim"]) == found.claim


QUEUE_MESSAGES = tuple(
    record["body"].encode()
    for path in sorted(EVENTS.glob("courier-*.json"))
    for record in json.loads(path.read_bytes())["Records"]
)


@fuzzed("outbound.queue_messages", seeds=(*QUEUE_MESSAGES, b"[]", b"1", b"{}"), is_json=True)
def queue_messages(data: bytes) -> None:
    """A message of the courier's queue, or one of the errors that mean: none of ours; sent again it is the same one."""
    try:
        found = read_queue_message(text_of(data))
    except ValueError:
        return
    assert found.kind in READERS
    assert read_queue_message(found.encode()) == found


LINES = (compact({"n": None, "s": [1.5, "☀"]}), b"\0", "\ud7ff\u2028\r\n".encode(), b'{"pk":"a","sk":"b"}')


@fuzzed("storage.mail.segments", seeds=LINES, is_json=True)
def stored_lines(data: bytes) -> None:
    """Every line of a segment is read from its place as it was written, whatever the message and its receipt hold."""
    value, text = json_of(data), text_of(data)
    receipt = text if isinstance(value, TheirError) else value
    lines = [Line(discarded_row(MADE_AT), text, text, {"r": receipt}), Line(discarded_row(MADE_AT), "", "", {})]
    segment, places = lay_out(lines, "seg")
    pieces = [segment[place.offset : place.offset + place.length] for place in places]
    assert b"\n".join([*pieces, b""]) == segment
    assert all(b"\n" not in piece for piece in pieces)
    assert [decode_line(piece) for piece in pieces] == lines


SETTINGS = (
    b"NLWEB_MAX_AGE_SECONDS\x003600", b"RESOLVERS\0tcp://9.9.9.9,https://dns.example/q,[::1]:53,udp://[fe80::1%25eth0]",
    b"DM3_LOOKUP_SECONDS\x001.5", b"ALLOW_RSA_1024\0TRUE", b"RETAIN_SECONDS\x0012345678901234567890",
    b"DM3_CORS_ORIGINS\0https://app.example,http://[::1]:8080", b"DM3_CORS_ORIGINS\0*", b"RESOLVERS\0:53,",
    b"TRUST_ANCHORS\0" + IANA_ROOT.encode(), b"TRUST_ANCHORS\0a.example. IN DNSKEY 257 3 13 " + b"A" * 86 + b"==",
    b"TRUST_ANCHORS\0$INCLUDE /etc/passwd", b"TRUST_ANCHORS\0$GENERATE 1-9999999 $ A 10.0.0.1", b"OUTBOUND_PORT\x000",
    b"TRUST_ANCHORS\0. IN DS (", b"TRUST_ANCHORS\0. IN DS \\# 4 00010802",
)  # fmt: skip


@fuzzed("core.settings", "names.dns.servers", "names.dnssec.anchors", "http.cors", seeds=SETTINGS, max_bytes=2048)
def operators_settings(data: bytes) -> None:
    """A setting is read, or the start is refused with a sentence; the same for resolvers, anchors and origins."""
    name, value = fields_of(data, 2)
    for read in (
        lambda: read_settings({name: value}),
        lambda: parse_servers(value),
        lambda: TrustAnchors.parse(value),
        lambda: Cors(value, "DM3_CORS_ORIGINS").preflight("https://app.example"),
    ):
        try:
            read()
        except SettingsError as error:
            assert str(error)


ENTRIES: tuple[Entry, ...] = (queued_claims, queue_messages, stored_lines, operators_settings)
