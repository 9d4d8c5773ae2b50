"""Invalid requests and their results: the table of docs/reference/bad-input.md.

MARK is in every member that a sender controls, because no refusal may repeat it.
"""

import base64
import gzip
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, partial
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from postroom.core.reason import Reason
from postroom.core.reasons import (
    MAILBOX_FULL,
    METHOD_NOT_ALLOWED,
    NO_SUCH_ROUTE,
    NOT_I_JSON,
    NOT_JSON,
    TOO_LARGE,
    WRONG_CONTENT_ENCODING,
    WRONG_CONTENT_TYPE,
)
from postroom.core.timestamps import write_timestamp
from postroom.crypto.reasons import KEY_RECORD_INVALID, KEY_UNUSABLE
from postroom.crypto.rsa_ed25519 import PrivateKey
from postroom.protocols.nlweb.envelope import hash_of, signed_text_of
from postroom.protocols.nlweb.key_record import record_strings, record_text, zone_line
from postroom.protocols.nlweb.reasons import (
    DNSSEC_BOGUS,
    FEEDBACK_NOT_KEPT,
    HASH_MISMATCH,
    KEY_NOT_FOUND,
    KEY_REVOKED,
    NOT_OURS,
    SENDER_NOT_SIGNED,
    SIGNATURE_INVALID,
    TIMESTAMP_TOO_NEW,
    TIMESTAMP_TOO_OLD,
    UNEXPECTED_SUBJECT,
    UNSUPPORTED_VERSION,
    WALLET_UNKNOWN,
    WRONG_SHAPE,
)
from postroom.protocols.nlweb.schema import HANDSHAKE, NLWEB
from postroom.protocols.nlweb.sign import seal

Json = dict[str, Any]

MARK = "zzmarkzz"
SENDER, UNSIGNED, BOGUS = f"{MARK}.example", f"{MARK}-unsigned.example", f"{MARK}-bogus.example"
RECEIVER, IDN_RECEIVER, SUBJECT = "receiver.example", "xn--empfnger-3za.example", f"{MARK}@Host"
FULL = "Full@Full"
"""The Subject of a full mailbox."""
CORRELATION = "2aa2aa2a-3bb3-4cc4-8dd5-6ee6ee6ee6e6"
MAX_BYTES = 1_048_576
MINUTE_MS, DAY_MS = 60_000, 86_400_000


class Then(StrEnum):
    """The result of a request."""

    NOTHING = "nothing is stored"
    TOLD = "discarded; the sender's buffer gets Feedback"
    SILENT = "discarded without Feedback"
    FILED = "filed"
    MARKED = "filed, and marked with the reason"
    LATER = "the name is looked up again; nothing of the message is stored"
    NONCE = "the nonce is used"
    USED = "the nonce is used, and an id and a stamp"


@dataclass(frozen=True)
class Sent:
    """An HTTP request."""

    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: {"content-type": "application/json"})
    method: str = "POST"
    path: str = "/inbox"


@dataclass(frozen=True)
class Row:
    """A row of the table. `reason`: None if the request is valid, although it looks invalid. `code`: of JSON-RPC.

    `settings`: that the function needs for it; `has_endpoints`: whether endpoints of the chain are stored; `reached`:
    the addresses that are connected to for it beside those of endpoints, where that matters.
    """

    section: str
    what: str
    make: Callable[[], Sent]
    reason: Reason | None
    then: Then
    code: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    reached: tuple[str, ...] | None = None
    has_endpoints: bool = True

    @property
    def status(self) -> int:
        """The HTTP status of the response. Every JSON-RPC response is 200."""
        return self.reason.status if self.reason and self.then is Then.NOTHING and self.code is None else 200

    @property
    def is_dm3(self) -> bool:
        """Whether it is for the delivery service."""
        return self.section.startswith("dm3")


# --- keys ------------------------------------------------------------------------------------------------------------


@cache
def key() -> PrivateKey:
    return PrivateKey.generate("ed25519")


@cache
def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


def rsa_record(bits: int = 2048) -> str:
    spki = rsa_key(bits).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"v=DKIM1; k=rsa; p={base64.b64encode(spki).decode()}"


def pkcs1_record(modulus: int, exponent: int) -> str:
    numbers = b"".join(_der(0x02, n.to_bytes(n.bit_length() // 8 + 1, "big")) for n in (modulus, exponent))
    return f"v=DKIM1; p={base64.b64encode(_der(0x30, numbers)).decode()}"


def _der(tag: int, content: bytes) -> bytes:
    length = len(content)
    size = b"" if length < 0x80 else length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes([tag, length if not size else 0x80 | len(size)]) + size + content


def good_record() -> str:
    return record_text(key().public)


RECORDS: dict[str, Callable[[], list[str]]] = {
    "good": lambda: [good_record()],
    "rsa": lambda: [rsa_record()],
    "rsa1024": lambda: [rsa_record(1024)],
    "e1": lambda: [pkcs1_record(rsa_key().public_key().public_numbers().n, 1)],
    "even": lambda: [pkcs1_record(rsa_key().public_key().public_numbers().n - 1, 65537)],
    "revoked": lambda: ["v=DKIM1; k=ed25519; p="],
    "two": lambda: [good_record(), rsa_record()],
    "huge": lambda: [f"{good_record()}; n={'x' * 15_000}"],
    "small": lambda: [f"v=DKIM1; k=ed25519; p={base64.b64encode(bytes([1]) + bytes(31)).decode()}"],
    "unknown-k": lambda: ["v=DKIM1; k=dilithium; p=AAAA"],
    "mixed-k": lambda: [rsa_record().replace("k=rsa", "k=ed25519")],
    "not-base64": lambda: ["v=DKIM1; k=ed25519; p=@@@@"],
    "no-der": lambda: ["v=DKIM1; k=rsa; p=AAAA"],
    "no-p": lambda: ["v=DKIM1; k=rsa"],
    "twice": lambda: [f"{good_record()}; k=rsa"],
    "sha1": lambda: [good_record().replace("k=", "h=sha1; k=", 1)],
    "email": lambda: [good_record().replace("k=", "s=email; k=", 1)],
    "spf": lambda: ["v=spf1 -all"],
}
"""TXT records by selector of SENDER."""


def zone() -> str:
    """The zone of SENDER."""
    lines = [zone_line(NLWEB.key_name(SENDER, selector), text) for selector, make in RECORDS.items() for text in make()]
    name = NLWEB.key_name(SENDER, "high-bit")
    lines.append(f'{name}. IN TXT "{good_record()}; n=\\255"')
    for one, other in (("loop", "pool"), ("pool", "loop")):
        lines.append(f"{NLWEB.key_name(SENDER, one)}. IN CNAME {NLWEB.key_name(SENDER, other)}.")
    assert all(len(part) <= 255 for part in record_strings(RECORDS["huge"]()[0]))
    return "\n".join(lines) + "\n"


def plain_zone(domain: str) -> str:
    """A zone with the good key."""
    return zone_line(NLWEB.key_name(domain, "good"), good_record()) + "\n"


# --- envelopes -------------------------------------------------------------------------------------------------------


def header(**members: object) -> Json:
    """A valid Header, with members changed or (`...`) left out."""
    now_ms = int(time.time() * 1000)
    whole = {
        "From": SENDER, "To": RECEIVER, "Subject": SUBJECT, "Correlation": CORRELATION,
        "Timestamp": write_timestamp(now_ms), "DKIM": "good", MARK: MARK, **members,
    }  # fmt: skip
    return {name: value for name, value in whole.items() if value is not ...}


def envelope(body: object = MARK, **members: object) -> Json:
    """A valid signed envelope, with members of its Header changed."""
    content: Json = {"Header": header(**members), "Body": body}
    return {HANDSHAKE: "nlweb.org/MSG:1.0", **seal(content, key()), MARK: MARK}


def fresh(body: object = MARK, **members: object) -> Json:
    """The same, with a Correlation that nobody had before."""
    return envelope(body, **({"Correlation": str(uuid.uuid4())} | members))


def text(value: object) -> bytes:
    return json.dumps(value).encode()


def post(value: object) -> Sent:
    return Sent(text(value))


def changed(**members: object) -> Sent:
    """A valid envelope, with members other than the Header changed or (`...`) left out."""
    whole = {**envelope(), **members}
    return post({name: value for name, value in whole.items() if value is not ...})


def with_header(**members: object) -> Sent:
    """An envelope with members of its Header changed."""
    return post(envelope(**members))


def with_fresh(**members: object) -> Sent:
    """The same, with a Correlation that nobody had before."""
    return post(fresh(**members))


def dated(away_ms: int) -> Sent:
    """An envelope with a Timestamp `away_ms` milliseconds from now."""
    return with_header(Timestamp=write_timestamp(int(time.time() * 1000) + away_ms))


def sent_good(**http: Any) -> Sent:
    """A valid envelope in an invalid HTTP request."""
    return Sent(text(envelope()), **http)


def compressed(coding: str) -> Sent:
    """A compressed envelope with a Content-Encoding."""
    return Sent(gzip.compress(text(envelope())), {"content-type": "application/json", "content-encoding": coding})


def spliced(old: str, new: str) -> Sent:
    """The text of a valid envelope with a part replaced."""
    whole = text(envelope()).decode()
    assert old in whole
    return Sent(whole.replace(old, new, 1).encode())


def body_text(raw: str) -> Sent:
    """A valid envelope with this text as its Body."""
    return spliced(f'"Body": "{MARK}"', f'"Body": {raw}')


def signed_by(make: Callable[[bytes], bytes], selector: str, **members: object) -> Sent:
    """An envelope with a signature made by `make`."""
    whole = fresh(DKIM=selector, **members)
    signature = make(signed_text_of(whole, whole["Header"]))
    return post({**whole, "Signature": base64.b64encode(signature).decode()})


def pss(signed: bytes) -> bytes:
    return rsa_key().sign(signed, padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())


def sha1(signed: bytes) -> bytes:
    return rsa_key().sign(signed, padding.PKCS1v15(), hashes.SHA1())


def over_the_hash(signed: bytes) -> bytes:
    return key().sign(bytes.fromhex(hash_of(signed)))


def other_key(signed: bytes) -> bytes:
    pem = rsa_key().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return PrivateKey.from_pem(pem).sign(signed)


# --- the table -------------------------------------------------------------------------------------------------------


def rows() -> Iterator[Row]:
    """All rows of the table."""
    for section, lines in (
        ("HTTP", _http()),
        ("JSON", _json()),
        ("Envelope", _envelope()),
        ("Header", _header()),
        ("Hash and Signature", _signature()),
        ("Synchronous requests", _sync()),
    ):
        for what, make, reason in lines:
            yield Row(section, what, make, reason, Then.NOTHING)
    for told, make, why, then in _late():
        yield Row("Queued, then judged", told, make, why, then)


Line = tuple[str, Callable[[], Sent], Reason]


def _http() -> Iterator[Line]:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        yield f"{method} /inbox", partial(sent_good, method=method), METHOD_NOT_ALLOWED
    yield "POST /manifest", partial(sent_good, path="/manifest"), METHOD_NOT_ALLOWED
    for path in ("//inbox", "/inbox/", "/INBOX", f"/{MARK}", "/"):
        yield f"POST {path.replace(MARK, 'elsewhere')}", partial(sent_good, path=path), NO_SUCH_ROUTE
    for what, kind in (
        ("Content-Type text/plain", "text/plain"),
        ("Content-Type application/json; charset=latin1", "application/json; charset=latin1"),
        ("Content-Type application/json, application/json", "application/json, application/json"),
        ("an unknown Content-Type", f"application/{MARK}"),
        ("an empty Content-Type", ""),
    ):
        yield what, partial(sent_good, headers={"content-type": kind}), WRONG_CONTENT_TYPE
    yield "no Content-Type", partial(sent_good, headers={}), WRONG_CONTENT_TYPE
    for coding in ("gzip", "br", "identity, gzip", MARK):
        yield (
            f"Content-Encoding {coding.replace(MARK, 'unknown')}",
            partial(compressed, coding),
            WRONG_CONTENT_ENCODING,
        )
    yield "gzip declared as JSON", lambda: Sent(gzip.compress(text(envelope()))), NOT_JSON
    yield "one byte more than the limit", lambda: Sent(text(envelope()).ljust(MAX_BYTES + 1)), TOO_LARGE
    yield "0 bytes", lambda: Sent(b""), NOT_JSON


def _json() -> Iterator[Line]:
    def raw(what: str, data: bytes, reason: Reason = NOT_JSON) -> Line:
        return what, lambda: Sent(data), reason

    mark = MARK.encode()
    yield raw("white space only", b" \n\t ")
    yield raw("not JSON", mark)
    yield raw("truncated JSON", text(envelope())[:-1])
    yield raw("text after the end", text(envelope()) + mark)
    yield raw("two JSON texts", text(envelope()) * 2)
    yield raw("single quotes", text(envelope()).replace(b'"', b"'"))
    yield raw("a comment", b"/* " + mark + b" */" + text(envelope()))
    yield raw("a trailing comma", text(envelope())[:-1] + b",}")
    yield raw("a byte order mark", b"\xef\xbb\xbf" + text(envelope()))
    yield raw("not UTF-8: Latin-1", json.dumps(envelope("é" + MARK), ensure_ascii=False).encode("latin-1", "replace"))
    yield raw("not UTF-8: UTF-16", text(envelope()).decode().encode("utf-16-le"))
    yield raw("not UTF-8: an encoded surrogate", text(envelope()).replace(mark, mark + b"\xed\xa0\x80", 1))
    yield raw("not UTF-8: an overlong form", text(envelope()).replace(mark, mark + b"\xc0\xaf", 1))
    yield raw("a null byte between members", text(envelope()).replace(b", ", b",\0", 1))
    yield raw("a null byte in a string", text(envelope()).replace(mark, mark + b"\0", 1))
    yield raw("a line feed in a string", text(envelope()).replace(mark, mark + b"\n", 1))
    member = f'"{MARK}": "{MARK}"'
    not_i = NOT_I_JSON
    yield "a repeated member name", lambda: spliced('"Hash":', '"Hash": "0", "Hash":'), not_i
    yield "a repeated member name, once by an escape", lambda: spliced('"Hash":', '"\\u0048ash": "0", "Hash":'), not_i
    yield "a repeated member name, in the Header", lambda: spliced(member, f"{member}, {member}"), not_i
    yield "a repeated member name, in the Body", lambda: body_text(f"{{{member}, {member}}}"), not_i
    yield "nested 65 levels", lambda: body_text("[" * 64 + "]" * 64), not_i
    yield "nested 100,000 levels", lambda: body_text("[" * 100_000 + "]" * 100_000), not_i
    yield "100,001 elements and members", lambda: body_text("[" + ",".join("0" * 100_001) + "]"), not_i
    yield "100,000 levels that are not closed", lambda: Sent(b"[" * 100_000), not_i
    yield "the number 1e400", lambda: body_text("1e400"), not_i
    yield "the number -1e400", lambda: body_text("-1e400"), not_i
    yield "the integer 2^53+1", lambda: body_text(str(2**53 + 1)), not_i
    yield "the integer -2^53-1", lambda: body_text(str(-(2**53) - 1)), not_i
    yield "an integer of a million digits", lambda: body_text("9" * 1_000_000), not_i
    yield "a fraction of a million digits and an exponent", lambda: body_text("0." + "9" * 999_000 + "e999"), not_i
    yield "NaN", lambda: body_text("NaN"), not_i
    yield "-Infinity", lambda: body_text("-Infinity"), not_i
    yield "half a surrogate pair", lambda: body_text(f'"{MARK}\\ud83d"'), not_i
    yield "half a surrogate pair in a member name", lambda: body_text(f'{{"\\udc00{MARK}": 1}}'), not_i


def _envelope() -> Iterator[Line]:
    shape = WRONG_SHAPE
    others: list[tuple[str, object]] = [("an array", [MARK]), ("a string", MARK), ("a number", 7), ("null", None)]
    for what, value in others:
        yield f"{what} instead of an envelope", partial(post, value), shape
    yield "an empty object", lambda: post({}), shape
    yield "an envelope in an array", lambda: post([envelope()]), shape
    yield "an envelope in an envelope", lambda: post({"Envelope": envelope()}), shape
    yield "an envelope as a string", lambda: post(json.dumps(envelope())), shape
    yield "an envelope as its Header", lambda: changed(Header=envelope()), shape
    wrong: tuple[tuple[str, object], ...] = (
        ("missing", ...), ("null", None), ("a number", 7), ("an array", [MARK]), ("an object", {MARK: MARK}),
    )  # fmt: skip
    for name in ("Header", "Hash", "Signature"):
        for what, value in wrong:
            if (name, what) != ("Header", "an object"):
                yield f"{name} is {what}", partial(changed, **{name: value}), shape
    yield "Header is a string", lambda: changed(Header=MARK), shape
    for name in ("From", "To", "Subject", "Correlation", "Timestamp"):
        for what, value in wrong:
            yield f"Header.{name} is {what}", partial(with_header, **{name: value}), shape
    for name in ("DKIM", "Schema"):
        for what, value in wrong[1:]:
            yield f"Header.{name} is {what}", partial(with_header, **{name: value}), shape
    for what, value in wrong[1:]:
        yield f"`{HANDSHAKE}` is {what}", partial(changed, **{HANDSHAKE: value}), shape
    version = UNSUPPORTED_VERSION
    for code in (
        "", "MSG", "nlweb.org/MSG:2.0", "nlweb.org/MSG:1.", "nlweb.org/DOC:1.0", "elsewhere.example/MSG:1.0",
        "nlweb.org/MSG:1.0\n", "nlweb.org/MSG:99999",
    ):  # fmt: skip
        yield f"`{HANDSHAKE}` is {json.dumps(code)}", partial(changed, **{HANDSHAKE: code}), version
    yield "Header.Schema of another major version", lambda: post(envelope(Schema="nlweb.org/MSG:2.0")), version
    for code in ("pollyweb.org/MSG:1.0", "nlweb.org/MSG:1.1"):
        yield (
            f"`{HANDSHAKE}` is nlweb.org/MSG:1.0, Header.Schema {code}",
            partial(with_header, Schema=code),
            shape,
        )
    yield (
        "a Header of pollyweb.org without Selector",
        lambda: changed(**{HANDSHAKE: "pollyweb.org/MSG:1.0"}),
        shape,
    )


def with_value(name: str, what: str) -> str:
    """A row's text: "From is empty", "From with a space"."""
    return f"{name} {what}" if what.startswith(("with ", "without ", "of ", "in ")) else f"{name} is {what}"


def _header() -> Iterator[Line]:
    shape, not_ours = WRONG_SHAPE, NOT_OURS

    def member(name: str, shown: str, value: str, reason: Reason = shape) -> Line:
        return with_value(name, shown), partial(with_header, **{name: value}), reason

    yield (
        "Subject of a mailbox that is full",
        lambda: post(fresh(Subject=FULL)), MAILBOX_FULL,
    )  # fmt: skip
    yield member("To", "another domain", f"{MARK}.example", not_ours)
    yield member("To", "a domain below ours", f"{MARK}.{RECEIVER}", not_ours)
    yield member("To", "a name that ends like ours", f"x{RECEIVER}", not_ours)
    yield member("To", "another domain in U-labels", f"bücher-{MARK}.example", not_ours)
    for shown, host in (
        ("empty", ""), ("a dot", "."), ("ours with two trailing dots", f"{RECEIVER}.."),
        ("ours with a leading dot", f".{RECEIVER}"), ("ours with a space", f"{RECEIVER} "),
        ("ours with a port", f"{RECEIVER}:443"), ("a URL", f"https://{RECEIVER}"), ("an IPv4 address", "192.0.2.1"),
        ("an IPv6 address", "[2001:db8::1]"), ("a single label", MARK), ("two hosts", f"{RECEIVER},{SENDER}"),
        ("a label of 64 characters", f"{'a' * 64}.example"), ("300 characters", "a." * 146 + "example"),
        ("a name that IDNA forbids", f"{MARK}\u2028.example"), ("a name of emoji", f"🤝{MARK}.example"),
        ("a name of 1,000 U-labels", "ü." * 1000 + "example"), ("ours with a null", f"{RECEIVER}\0"),
    ):  # fmt: skip
        yield member("To", shown, host)
    for shown, host in (
        ("empty", ""), ("an IPv4 address", "192.0.2.1"), ("an IPv6 address", "2001:db8::1"),
        ("an IPv6 address in brackets", "[2001:db8::1]"), ("with an underscore", f"a_{MARK}.example"),
        ("a single label", MARK), ("in U-labels", f"müller-{MARK}.example"), ("with a trailing dot", f"{SENDER}."),
        ("with a space", f" {SENDER}"), ("with a leading hyphen", f"-{MARK}.example"),
        ("with a trailing hyphen", f"{MARK}-.example"), ("with an empty label", f"{MARK}..example"),
        ("a mail address", f"me@{SENDER}"), ("a URL", f"https://{SENDER}/"), ("a wildcard", f"*.{SENDER}"),
        ("of 300 characters", "a." * 146 + "example"), ("with a Kelvin sign", "\u212aelvin.example"),
        ("a UUID in braces", "{" + CORRELATION + "}"), ("a UUID without dashes", CORRELATION.replace("-", "")),
        ("with a null", f"{SENDER}\0"), ("with a line feed", f"{SENDER}\n"),
    ):  # fmt: skip
        yield member("From", shown, host)
    for shown, subject in (
        ("empty", ""), ("257 characters", "a" * 257), ("with a line feed", f"{MARK}\nInjected: yes"),
        ("with a null", f"{MARK}\0"), ("with an escape", f"{MARK}\x1b[31m"), ("with a C1 control", f"{MARK}\x85"),
        ("with a line separator", f"{MARK}\u2028"), ("with a bidirectional override", f"{MARK}\u202e"),
    ):  # fmt: skip
        yield member("Subject", shown, subject)
    for shown, correlation in (
        ("empty", ""), ("not a UUID", MARK), ("a UUID in braces", "{" + CORRELATION + "}"),
        ("a UUID without dashes", CORRELATION.replace("-", "")), ("a UUID as a URN", f"urn:uuid:{CORRELATION}"),
        ("a UUID with a line feed", f"{CORRELATION}\n"),
    ):  # fmt: skip
        yield member("Correlation", shown, correlation)
    for stamp in (
        "", "10000-01-01T00:00:00Z", "2026-12-31T23:59:60Z", "2026-11-21T10:30:00+02:00", "2026-11-21T10:30:00",
        "2026-11-21", "2026-02-30T00:00:00Z", "2026-11-21T24:00:00Z", "0000-01-01T00:00:00Z",
        "2026-11-21T10:30:00.0123456789Z", "2026-11-21T10:30:00.Z", "2026-11-21 10:30:00Z", "20261121T103000Z",
        "1795257000", "٢٠٢٦-11-21T10:30:00Z", "2026-11-21T10:30:00Z\n",
    ):  # fmt: skip
        yield member("Timestamp", json.dumps(stamp, ensure_ascii=False), stamp)
    for shown, away, reason in (
        ("25 hours ago", -DAY_MS - 60 * MINUTE_MS, TIMESTAMP_TOO_OLD),
        ("3 minutes ahead", 3 * MINUTE_MS, TIMESTAMP_TOO_NEW),
    ):
        yield (
            f"Timestamp is {shown}",
            partial(dated, away),
            reason,
        )
    yield member("Timestamp", "of the year 1", "0001-01-01T00:00:00Z", TIMESTAMP_TOO_OLD)
    yield member("Timestamp", "of the year 9999", "9999-12-31T23:59:59Z", TIMESTAMP_TOO_NEW)
    for shown, selector in (
        ("empty", ""), ("`../x`", f"../{MARK}"), ("300 characters", "a." * 149 + "aa"), ("a label of 64", "a" * 64),
        ("with a space", f"{MARK} x"), ("with a trailing dot", f"{MARK}."), ("with an empty label", f"{MARK}..x"),
        ("a wildcard", "*"), ("with an underscore", f"_{MARK}"), ("with a backslash", f"{MARK}\\046x"),
        ("in U-labels", f"schlüssel-{MARK}"), ("with a null", f"{MARK}\0"),
    ):  # fmt: skip
        yield member("DKIM", shown, selector)
    yield (
        "Feedback without a Body",
        lambda: post(envelope(None, Subject="Feedback@Buffer")),
        shape,
    )
    yield (
        "Feedback with a Body.Correlation that is not a UUID",
        lambda: post(envelope({"Sender": SENDER, "Correlation": MARK}, Subject="Feedback@Buffer")),
        shape,
    )


def _signature() -> Iterator[Line]:
    mismatch, shape = HASH_MISMATCH, WRONG_SHAPE
    digest = "0123456789abcdef" * 4
    right: Callable[[], str] = lambda: str(envelope()["Hash"])  # noqa: E731
    yield "Hash of another text", lambda: changed(Hash=digest), mismatch
    yield "Hash is empty", lambda: changed(Hash=""), mismatch
    yield "Hash is neither hex nor ASCII", lambda: changed(Hash="é" * 64), mismatch
    yield "Body changed after it was hashed", lambda: changed(Body=[MARK]), mismatch
    yield "Body removed after it was hashed", lambda: changed(Body=...), mismatch

    def rehashed(change: Callable[[str], str]) -> Callable[[], Sent]:
        def make() -> Sent:
            whole = envelope()
            return post({**whole, "Hash": change(whole["Hash"])})

        return make

    assert len(right()) == 64
    yield "Hash in upper case", rehashed(str.upper), mismatch
    yield "Hash of 63 digits", rehashed(lambda h: h[:-1]), mismatch
    yield "Hash of 65 digits", rehashed(lambda h: h + "0"), mismatch
    yield "Hash as OpenSSL 3 prints it", rehashed(lambda h: f"SHA2-256(stdin)= {h}"), mismatch
    yield "Hash in base64", rehashed(lambda h: base64.b64encode(bytes.fromhex(h)).decode()), mismatch
    whole = "A" * 342 + "=="
    for what, signature in (
        ("empty", ""), ("with line breaks", whole[:64] + "\n" + whole[64:]), ("with a last line break", whole + "\n"),
        ("with a space", f" {whole}"), ("in the URL alphabet", "-_" + whole[2:]), ("without padding", whole[:-2]),
        ("with padding in its middle", "AA==" + whole), ("with stray bits", whole[:-3] + "B=="),
        ("of 1,372 characters", "A" * 1372), ("hex with a colon", "ab:cd"), ("not ASCII", "é" * 8),
    ):  # fmt: skip
        yield with_value("Signature", what), partial(changed, Signature=signature), shape


def _sync() -> Iterator[Line]:
    def asked(body: object, **members: object) -> Json:
        return fresh(body, Subject="Identity@Graph", **members)

    good = {"Domain": RECEIVER}
    yield (
        "a signature of another text",
        lambda: post({**asked(good), "Signature": envelope()["Signature"]}),
        SIGNATURE_INVALID,
    )
    yield "a revoked key", lambda: post(asked(good, DKIM="revoked")), KEY_REVOKED
    yield "an RSA key of 1024 bits", lambda: post(asked(good, DKIM="rsa1024")), KEY_UNUSABLE
    yield "two key records", lambda: post(asked(good, DKIM="two")), KEY_RECORD_INVALID
    yield "an unknown wallet", lambda: post(asked(good, From=str(uuid.uuid4()), DKIM=...)), WALLET_UNKNOWN
    yield "a selector without a record", lambda: post(asked(good, DKIM="nowhere")), KEY_NOT_FOUND
    yield "a selector in a loop of aliases", lambda: post(asked(good, DKIM="loop")), KEY_RECORD_INVALID
    yield "a domain without DNSSEC", lambda: post(asked(good, From=UNSIGNED)), SENDER_NOT_SIGNED
    yield "a domain with broken signatures", lambda: post(asked(good, From=BOGUS)), DNSSEC_BOGUS
    yield "a Body that is not an object", lambda: post(asked([MARK])), WRONG_SHAPE
    yield "a Body without Domain", lambda: post(asked({MARK: MARK})), WRONG_SHAPE
    yield "a Domain that is not a host name", lambda: post(asked({"Domain": f"../{MARK}"})), WRONG_SHAPE
    yield "a Domain that is not served here", lambda: post(asked({"Domain": f"{MARK}.example"})), NOT_OURS


def _late() -> Iterator[tuple[str, Callable[[], Sent], Reason | None, Then]]:
    told = Then.TOLD
    for what, make in (
        ("a signature of another text", lambda: post({**fresh(), "Signature": envelope()["Signature"]})),
        ("a signature of one byte", lambda: post({**fresh(), "Signature": "AA=="})),
        ("a signature by another key", lambda: signed_by(other_key, "good")),
        ("an Ed25519 signature over the Hash", lambda: signed_by(over_the_hash, "good")),
        ("an RSA-PSS signature", lambda: signed_by(pss, "rsa")),
        ("an RSA signature with SHA-1", lambda: signed_by(sha1, "rsa")),
    ):
        yield what, make, SIGNATURE_INVALID, told
    for what, selector, reason in (
        ("an RSA key of 1024 bits", "rsa1024", KEY_UNUSABLE),
        ("an RSA key with exponent 1", "e1", KEY_UNUSABLE),
        ("an RSA key with an even modulus", "even", KEY_UNUSABLE),
        ("an Ed25519 key of small order", "small", KEY_UNUSABLE),
        ("a key record with an unknown k=", "unknown-k", KEY_UNUSABLE),
        ("a key record for SHA-1 only", "sha1", KEY_UNUSABLE),
        ("a key record for e-mail only", "email", KEY_UNUSABLE),
        ("a key record with an empty p=", "revoked", KEY_REVOKED),
        ("two key records at one name", "two", KEY_RECORD_INVALID),
        ("a key record of 15 kB", "huge", KEY_RECORD_INVALID),
        ("a key record whose k= is not its key's", "mixed-k", KEY_RECORD_INVALID),
        ("a key record that is not base64", "not-base64", KEY_RECORD_INVALID),
        ("a key record that is not a key", "no-der", KEY_RECORD_INVALID),
        ("a key record without p=", "no-p", KEY_RECORD_INVALID),
        ("a key record with a repeated tag", "twice", KEY_RECORD_INVALID),
        ("a key record that is not ASCII", "high-bit", KEY_RECORD_INVALID),
        ("a selector in a loop of aliases", "loop", KEY_RECORD_INVALID),
        ("a selector with an SPF record only", "spf", KEY_NOT_FOUND),
        ("a selector without a record", "nowhere", KEY_NOT_FOUND),
    ):
        yield what, partial(with_fresh, DKIM=selector), reason, told
    yield (
        "a selector too long for a DNS name",
        lambda: post(fresh(DKIM="a." * 100 + "a")),
        (KEY_NOT_FOUND),
        told,
    )
    yield "a domain without DNSSEC", lambda: post(fresh(From=UNSIGNED)), SENDER_NOT_SIGNED, told
    yield "a domain with broken signatures", lambda: post(fresh(From=BOGUS)), DNSSEC_BOGUS, told
    yield (
        "a Subject that is not registered",
        lambda: post(fresh(Subject=f"{MARK}@Nobody")),
        (UNEXPECTED_SUBJECT),
        told,
    )
    yield (
        "a wallet that is not registered",
        lambda: post(fresh(From=str(uuid.uuid4()), DKIM=...)),
        (WALLET_UNKNOWN),
        Then.SILENT,
    )
    yield (
        "Feedback without Sender, to a domain that is no buffer",
        lambda: post(fresh({"Correlation": CORRELATION}, Subject="Feedback@Buffer")),
        FEEDBACK_NOT_KEPT,
        Then.SILENT,
    )
    yield (
        "Feedback for a domain without a buffer here",
        lambda: post(fresh({"Sender": f"{MARK}.example", "Correlation": CORRELATION}, Subject="Feedback@Buffer")),
        FEEDBACK_NOT_KEPT,
        Then.SILENT,
    )
    for what, members in (
        ("To with one trailing dot", {"To": f"{RECEIVER}."}),
        ("To in capitals", {"To": RECEIVER.upper()}),
        ("To in U-labels", {"To": "EMPFÄNGER.example"}),
        ("From in capitals", {"From": SENDER.upper()}),
        ("Timestamp with +00:00 and 9 digits", {"Timestamp": ...}),
    ):
        given = dict(members)
        if "Timestamp" in given:
            given["Timestamp"] = write_timestamp(int(time.time() * 1000)).replace("Z", "000000+00:00")
        yield what, partial(with_fresh, **given), None, Then.FILED
    yield "a null character in the Body", lambda: post(fresh("\0")), None, Then.FILED
    yield "noncharacters in the Body", lambda: post(fresh("\ufffe\uffff")), None, Then.FILED
    yield "64 levels of nesting", lambda: post(fresh(json.loads("[" * 63 + "]" * 63))), None, Then.FILED
