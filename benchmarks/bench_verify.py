"""Benchmark `verify`: a message from the received bytes to the verdict, compared with its bare cost and with DKIM."""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import dkim
import jiter
import orjson
from benchmarks.harness import Benchmark, Effort, KnownMiss, Table, marked, over_processes, ratios, times
from benchmarks.samples import KINDS, NOW_MS, RECEIVER, SIZE, Keys, envelope, mail
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_der_public_key
from nacl.signing import VerifyKey

from postroom.core.ijson import parse
from postroom.crypto.rsa_ed25519 import Algorithm, PublicKey
from postroom.protocols.nlweb.envelope import NlwebEnvelope, read_envelope
from postroom.protocols.nlweb.timestamp import TimestampWindow
from postroom.protocols.nlweb.verify import check_before_lookup, check_signature

MOST_TO_BARE: Final[dict[Algorithm, float]] = {"rsa": 1.6, "ed25519": 1.4}
LEAST_TO_DKIMPY: Final = 4.0
_KEYS: Final[tuple[tuple[str, Algorithm], ...]] = (("RSA-2048", "rsa"), ("Ed25519", "ed25519"))

NOTES = f"""\
*Ours* is everything that happens to a message of {SIZE} bytes whose sender's key is in memory: size, strict I-JSON,
schema code, the form of every member, the receiver, the time window, canonical text, Hash and signature. The same
message is verified again and again, so the names of its sender and receiver are cached, too. *Bare* is `orjson.loads`,
one SHA-256, and the signature check of the same text by the same library. *Bare, jiter* uses `jiter.from_json` with its
defaults instead. *Our parts apart* is the sum of two separate loops: the inbox's part, and the signature check. In one
loop they take longer, probably because Python's code and OpenSSL's evict each other from the processor's first-level
cache, and *bare* is small enough to stay in it. *dkimpy* is `dkim.verify` of a mail of {SIZE} bytes with seven headers
(relaxed/relaxed), signed with the same key; its key record is passed in, without DNS. It caches no keys, so it reads
the record each time. Its RSA is written in Python; both check Ed25519 with libsodium.

Goals: ours ≤ {MOST_TO_BARE["rsa"]} × bare with RSA and ≤ {MOST_TO_BARE["ed25519"]} × bare with Ed25519; dkimpy
≥ {LEAST_TO_DKIMPY} × ours.
"Many members" is a list of small objects. "Spaced" has white space, as Python's `json.dumps` writes it; the parser has
a fast path only for text without it. "A price" is one number with a fraction.
"""


def measure(effort: Effort) -> Sequence[Table]:
    """One table: a row for each key and kind of envelope."""
    kinds = [(f"{key_name}, {kind.name}", MOST_TO_BARE[algorithm]) for key_name, algorithm in _KEYS for kind in KINDS]
    found = over_processes(measure_here, effort)
    rows = [
        (
            name,
            marked(bare, reached=bare <= most),
            times(with_jiter),
            times(apart),
            marked(their, reached=their >= LEAST_TO_DKIMPY),
        )
        for (name, most), (bare, with_jiter, apart, their) in zip(kinds, found, strict=True)
    ]
    columns = ("key, message", "ours : bare", "ours : bare, jiter", "our parts apart : bare", "dkimpy : ours")
    return [Table("", columns, tuple(rows))]


def measure_here(effort: Effort) -> list[list[float]]:
    """For each row: ours to bare, ours to bare with jiter, our two parts apart to bare, dkimpy to ours."""
    rows = []
    for _, algorithm in _KEYS:
        keys = Keys.generate(algorithm)
        public = keys.private.public
        theirs = dkimpy(mail(keys), keys.record)
        for kind in KINDS:
            data = envelope(kind, keys.private)
            bare, bare_jiter = (_bare(load, data, public) for load in (orjson.loads, jiter.from_json))
            inbox, signature = partial(_checked, data), partial(check_signature, _checked(data), public)
            ways = [bare, ours(data, public), bare_jiter, theirs, inbox, signature]
            _, our, with_jiter, their, our_check, our_signature = ratios(ways, effort)
            rows.append([our, our / with_jiter, our_check + our_signature, their / our])
    return rows


def _checked(data: bytes) -> NlwebEnvelope:
    envelope = read_envelope(parse(data, max_bytes=1 << 20))
    check_before_lookup(envelope, is_ours=RECEIVER.__eq__, received_at_ms=NOW_MS, window=TimestampWindow())
    return envelope


def ours(data: bytes, public: PublicKey) -> Callable[[], object]:
    """The whole verification of a message whose sender's key is in memory."""
    window, is_ours = TimestampWindow(), frozenset({RECEIVER}).__contains__

    def verify() -> None:
        read = read_envelope(parse(data, max_bytes=1 << 20))
        check_before_lookup(read, is_ours=is_ours, received_at_ms=NOW_MS, window=window)
        check_signature(read, public)

    return verify


def _bare(load: Callable[[bytes], object], data: bytes, public: PublicKey) -> Callable[[], object]:
    """The bare work of a verifier; the library's function raises if the signature is wrong."""
    read = _checked(data)
    text, signature, sha256 = read.signed_text, read.signature, hashlib.sha256
    if public.algorithm == "ed25519":
        check_ed25519 = VerifyKey(public.spki()[-32:]).verify

        def bare_ed25519() -> None:
            load(data)
            sha256(text).digest()
            check_ed25519(text, signature)

        return bare_ed25519
    key, padding, algorithm = load_der_public_key(public.spki()), PKCS1v15(), SHA256()
    if not isinstance(key, RSAPublicKey):
        raise TypeError(public.algorithm)
    check_rsa = key.verify

    def bare_rsa() -> None:
        load(data)
        sha256(text).digest()
        check_rsa(signature, text, padding, algorithm)

    return bare_rsa


def dkimpy(message: bytes, record: bytes) -> Callable[[], object]:
    """The verification of a mail by dkimpy, with its key record passed in."""

    def key_record(_name: bytes, timeout: int = 5) -> bytes:  # noqa: ARG001
        return record

    def verify() -> None:
        if not dkim.verify(message, dnsfunc=key_record):
            raise AssertionError("dkimpy refuses its own signature")

    return verify


KNOWN: Final = (
    KnownMiss(
        "ours : bare",
        ("RSA-2048, many members, spaced",),
        "white space needs the slower parser, and RSA is checked so fast that this shows.",
    ),
    KnownMiss(
        "dkimpy : ours",
        tuple(f"Ed25519, {kind.name}" for kind in KINDS),
        "both check Ed25519 with libsodium, and most of our time is that.",
    ),
)
BENCHMARK = Benchmark("verify", "A message, from bytes to verdict", NOTES, measure, known=KNOWN)
