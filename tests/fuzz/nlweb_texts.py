"""Fuzzing of NLWeb envelopes, and of the small texts in them."""

import re
from calendar import timegm
from collections.abc import Callable
from datetime import UTC, datetime

import dns.name
from tests.functions.samples import RECEIVER
from tests.fuzz.entry import LONG, Entry, bit_flipped, fields_of, fuzzed, json_of, outcome_of, place_in, text_of
from tests.fuzz.samples import ENVELOPES, KEY, NOW_MS, SIGNED, compact

from postroom.core.errors import NotNowError, TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.core.reason import Kind
from postroom.core.reasons import NOT_I_JSON, NOT_JSON, TOO_LARGE, TOO_LATE
from postroom.core.timestamps import write_timestamp
from postroom.crypto.rsa_ed25519 import PublicKey
from postroom.protocols.nlweb.envelope import NlwebEnvelope, check_hash, hash_of, read_envelope
from postroom.protocols.nlweb.explain import explain
from postroom.protocols.nlweb.feedback import MAX_CODE, MAX_SENTENCE, body_of, read_feedback, summary_of
from postroom.protocols.nlweb.manifest import domain_of_host, identity_reply, manifest_of, read_identity_request
from postroom.protocols.nlweb.names import (
    is_host_name,
    is_uuid,
    read_correlation,
    read_host_name,
    read_receiver,
    read_selector,
    read_sender,
    read_uuid,
)
from postroom.protocols.nlweb.reasons import (
    HASH_MISMATCH,
    NOT_OURS,
    TIMESTAMP_TOO_NEW,
    TIMESTAMP_TOO_OLD,
    UNSUPPORTED_VERSION,
    WRONG_SHAPE,
)
from postroom.protocols.nlweb.schema import DIALECTS, choose_dialect, read_code
from postroom.protocols.nlweb.sign import seal
from postroom.protocols.nlweb.subjects import BUILT_IN, SubjectRule, Treatment, find_rule, is_pattern, patterns_for
from postroom.protocols.nlweb.timestamp import TimestampWindow, read_timestamp
from postroom.protocols.nlweb.verify import check_before_lookup, check_signature

REFUSALS = (
    TOO_LARGE, NOT_JSON, NOT_I_JSON, WRONG_SHAPE, UNSUPPORTED_VERSION, NOT_OURS, TIMESTAMP_TOO_OLD, TIMESTAMP_TOO_NEW,
    HASH_MISMATCH,
)  # fmt: skip
OURS = frozenset((RECEIVER, "xn--bcher-kva.example"))
WINDOW = TimestampWindow()
MAX_BYTES = 1 << 20


def checked(data: bytes) -> NlwebEnvelope | TheirError | NotNowError:
    def judge() -> NlwebEnvelope:
        envelope = read_envelope(parse(data, max_bytes=MAX_BYTES))
        check_before_lookup(envelope, is_ours=OURS.__contains__, received_at_ms=NOW_MS, window=WINDOW)
        return envelope

    return outcome_of(judge, *REFUSALS)


def _find_key(name: str) -> tuple[PublicKey, str]:
    return KEY.public, f"a test says so of {name}"


def check_explained(data: bytes, found: NlwebEnvelope | TheirError | NotNowError) -> None:
    """What is shown to people is the inbox's verdict, in characters that no terminal obeys."""
    told = explain(
        data, ours=OURS, now_ms=NOW_MS, window=WINDOW, max_bytes=MAX_BYTES, find_key=_find_key
    )  # fmt: skip
    refused = told.reason is not None and told.reason.kind is Kind.REFUSAL
    assert refused is isinstance(found, TheirError), f"the inbox: {found}; explained: {told.verdict} {told.reason}"
    for check in told.checks:
        assert f"{check.saw}{check.expected}".isprintable(), f"{check.name} shows what a terminal obeys"


@fuzzed(
    "protocols.nlweb.envelope",
    "protocols.nlweb.verify",
    "protocols.nlweb.explain",
    seeds=ENVELOPES,
    is_json=True,
    max_bytes=LONG,
)
def envelope(data: bytes) -> None:
    """An envelope, or a refusal of the inbox; what `explain` shows people is the same verdict."""
    found = checked(data)
    check_explained(data, found)
    if isinstance(found, NlwebEnvelope):
        assert hash_of(found.signed_text) == found.claimed_hash
        assert (read_receiver(found.receiver), read_sender(found.sender)) == (found.receiver, found.sender)
        assert found.correlation == read_correlation(found.correlation)


CONTENTS = tuple(
    compact({name: member for name, member in message.items() if name not in ("Hash", "Signature")})
    for message in SIGNED
)


@fuzzed("protocols.nlweb.envelope", "protocols.nlweb.sign", "protocols.nlweb.verify", seeds=CONTENTS, is_json=True)
def signed_envelope(data: bytes) -> None:
    """verify(sign(x)) is true: what is signed is never refused for Hash or Signature; one flipped bit is."""
    content = json_of(data)
    if not isinstance(content, dict) or not isinstance(content.get("Header"), dict):
        return
    sealed = {**content, **seal({name: content[name] for name in ("Header", "Body") if name in content}, KEY)}
    found = checked(compact(sealed))
    if not isinstance(found, NlwebEnvelope):
        assert isinstance(found, TheirError)
        assert found.reason not in (HASH_MISMATCH, NOT_JSON, TOO_LARGE), f"our own text: {found}"
        return
    check_signature(found, KEY.public)
    place = place_in(data)
    broken = bit_flipped(found.signed_text, place)
    assert not KEY.public.verify(found.signature, broken), "a text with a flipped bit is verified"
    assert not KEY.public.verify(bit_flipped(found.signature, place), found.signed_text), "so is a flipped signature"
    assert isinstance(outcome_of(lambda: check_hash(found.claimed_hash, broken), HASH_MISMATCH), TheirError)


_TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|[+]00:00)", re.ASCII)


def _by_calendar(text: str) -> int | None:
    """Milliseconds, by the calendar of `time` and another pattern; None: no such time."""
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = moment = tuple(int(part) for part in match.groups()[:6])
    try:
        # timegm takes any numbers: only whether there is such a day.
        datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return timegm(moment) * 1000 + int((match[7] or "0").ljust(9, "0")[:3])


@fuzzed(
    "protocols.nlweb.timestamp",
    seeds=(
        b"2026-11-21T09:30:00Z", b"2026-11-21T09:30:00.123456789+00:00", b"2024-02-29T23:59:59.9Z",
        b"0001-01-01T00:00:00Z", b"9999-12-31T23:59:59.999999999Z", b"2026-11-21T24:00:00Z", b"2016-12-31T23:59:60Z",
        b"2026-11-21 09:30:00Z", b"2026-11-21T09:30:00-00:00", b"2026-W47-6T09:30:00Z",
        "\uff12026-11-21T09:30:00Z".encode(),
    ),
    max_bytes=64,
)  # fmt: skip
def timestamps(data: bytes) -> None:
    """Read as another calendar reads it, or refused by both; what we write of it is read as the same moment."""
    text = text_of(data)
    found = outcome_of(lambda: read_timestamp(text), WRONG_SHAPE)
    assert (None if isinstance(found, TheirError) else found) == _by_calendar(text)
    if isinstance(found, int):
        assert read_timestamp(write_timestamp(found)) == found
        outcome_of(lambda: WINDOW.check(found, NOW_MS), TIMESTAMP_TOO_OLD, TIMESTAMP_TOO_NEW)


NAMES = (
    b"sender.example", b"SENDER.Example.", "bücher.example".encode(), b"xn--bcher-kva.example", b"127.0.0.1", b"a.1",
    b"5f0d8f9e-0000-4000-8000-00000000000A", "\u212aelvin.example".encode(), b"nlweb.a.example:8443", b"pw.a.example",
    b"a" * 63 + b".example", b"-a.example", b"a_b.example", "faß.example".encode(), "א.example".encode(),
    "a\u3002b\u200d.example".encode(), b"pk1", b"pk1.sub", b"xn--a.example", b"[::1]:443",
)  # fmt: skip


def _is_host_by_hand(name: str) -> bool:
    """RFC 1123 §2.1 with two labels or more, of which the last is no number."""
    labels = name.split(".")
    alphabet = set("abcdefghijklmnopqrstuvwxyz0123456789-")
    return (
        len(name) <= 253
        and len(labels) > 1
        and all(0 < len(label) < 64 and set(label) <= alphabet for label in labels)
        and not any(label[0] == "-" or label[-1] == "-" for label in labels)
        and not set(labels[-1]) <= set("0123456789")
    )


@fuzzed("protocols.nlweb.names", "protocols.nlweb.manifest", seeds=NAMES, max_bytes=512)
def host_names(data: bytes) -> None:
    """A name, or a refusal; to read what was read changes nothing; every host name is a name to DNS, too."""
    text = text_of(data)
    assert is_host_name(text) is _is_host_by_hand(text)
    readers: tuple[Callable[[str], str], ...] = (
        read_sender, read_receiver, read_correlation, lambda name: read_selector(name, "DKIM"),
    )  # fmt: skip
    for read in readers:
        found = outcome_of(lambda read=read: read(text), WRONG_SHAPE)  # type: ignore[misc]
        if isinstance(found, str):
            assert read(found) == found
            dns.name.from_text(found.encode("ascii"))
    for optional in (read_host_name, read_uuid):
        name = optional(text)
        assert name is None or optional(name) == name == name.lower()
    domain = outcome_of(lambda: domain_of_host(text), NOT_OURS)
    if isinstance(domain, str):
        assert is_host_name(domain)
        assert {domain_of_host(dialect.host(domain)) for dialect in DIALECTS} == {domain}


@fuzzed(
    "protocols.nlweb.schema",
    seeds=(
        b"nlweb.org/MSG:1.0\0pollyweb.org/MSG", b"nlweb.org/MSG:1.7\0nlweb.org/MSG:1.7", b"pollyweb.org/MSG:2.0\0",
        b"dtfw.org/msg:1\0", b"nlweb.org/MSG:01.0000\0", "nlweb.org/MSG:\u0661\0".encode(),
    ),
    max_bytes=600,
)  # fmt: skip
def schema_codes(data: bytes) -> None:
    """A dialect, or a refusal; two codes that agree choose what each alone chooses; ours are read as they are meant."""
    outer, inner = fields_of(data, 2)
    found = outcome_of(lambda: choose_dialect(outer, inner), UNSUPPORTED_VERSION, WRONG_SHAPE)
    alone = outcome_of(lambda: read_code(outer, "Header.Schema"), UNSUPPORTED_VERSION)
    if not isinstance(found, TheirError | NotNowError):
        assert found in DIALECTS
        assert isinstance(alone, tuple)
        assert alone[:2] == (found, 1)
        name = found.key_name(RECEIVER, "pk1")
        assert name.endswith(RECEIVER)
        assert read_code(found.schema, "") == (found, 1, 0)


@fuzzed(
    "protocols.nlweb.subjects",
    seeds=(b"Hello@Host\0*@Host", b"Feedback@Buffer\0*", b"Hello\0Hello", b"a@b@c\0a@*", b"@\0*@*", b"*\0*@"),
    max_bytes=600,
)
def subjects(data: bytes) -> None:
    """A rule is found exactly where its pattern is one of the subject's; a registered pattern matches itself."""
    subject, pattern = fields_of(data, 2)
    rule = SubjectRule(pattern, Treatment.MAILBOX, "box.example")
    found = find_rule(subject, [rule])
    patterns = patterns_for(subject)
    built_in = [known for known in BUILT_IN if known.pattern in patterns]
    assert (found is not None) is (pattern in patterns or bool(built_in))
    if found is not None:
        assert found in (rule, *built_in)
    if is_pattern(pattern):
        assert pattern in patterns_for(pattern)


@fuzzed(
    "protocols.nlweb.feedback", "protocols.nlweb.manifest",
    seeds=(
        compact(body_of("sender.example", "5f0d8f9e-0000-4000-8000-000000000001", TOO_LATE)),
        compact(summary_of("sender.example", 0, 3_600_000, {"TooLate": 2})), compact({"Domain": "a.example"}),
        compact({"Sender": "SENDER.example", "Correlation": "5F0D8F9E-0000-4000-8000-000000000001", "Count": 1}),
        compact({"Correlation": "5f0d8f9e-0000-4000-8000-000000000001", "Status": "Discarded", "Reason": "No."}),
    ),
    is_json=True,
)  # fmt: skip
def feedback_bodies(data: bytes) -> None:
    """Feedback, or a refusal; the same for Identity requests; what was read is the same if written and read again."""
    body = json_of(data)
    if isinstance(body, TheirError):
        return
    about = outcome_of(lambda: read_feedback(body), WRONG_SHAPE)
    if not isinstance(about, TheirError | NotNowError):
        written: JsonValue
        if about.sender is None:
            written = {"Correlation": about.correlation}
        elif about.correlation is None:
            written = summary_of(about.sender, 0, 1, {})
        else:
            written = body_of(about.sender, about.correlation, TOO_LATE)
        again = read_feedback(written)
        assert (again.sender, again.correlation) == (about.sender, about.correlation)
        assert len(about.code) <= MAX_CODE
        assert len(about.reason) <= MAX_SENTENCE
        assert (about.code + about.reason).isprintable()
    domain = outcome_of(lambda: read_identity_request(body), WRONG_SHAPE)
    if isinstance(domain, str):
        assert is_host_name(domain)
        assert not is_uuid(domain)
        assert read_identity_request(identity_reply(domain, None)) == domain
        assert domain in manifest_of(domain, None)


ENTRIES: tuple[Entry, ...] = (
    envelope, signed_envelope, timestamps, host_names, schema_codes, subjects, feedback_bodies,
)  # fmt: skip
