"""The bare cost of a DNSSEC proof: its signature checks and digests, with everything else prepared beforehand."""

import hashlib
import struct
from collections.abc import Callable, Iterable
from functools import partial

import dns.message
import dns.rrset
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from dns.rdatatype import DNSKEY, RRSIG
from tests.names import signing

from postroom.names.dns import Question
from postroom.names.dns.records import RrsigRecord


def bare(zones: signing.Zones, questions: Iterable[Question]) -> Callable[[], object]:
    """A function that checks these answers, each of one record and one signature; it raises if a check fails."""
    checks: list[Callable[[], object]] = []
    for question in questions:
        answer = dns.message.from_wire(zones.wire(question)).answer
        records = next(it for it in answer if it.rdtype == question.rdtype)
        [signature] = next(it for it in answer if it.rdtype == RRSIG)
        if not isinstance(signature, RrsigRecord):
            raise TypeError(signature)
        checks.append(_check(zones.key(signature.signer), signature.signature, _signed(records, signature)))
        if question.rdtype == DNSKEY:
            [key] = records
            data = question.name.to_digestable() + key.to_digestable()
            checks.append(lambda data=data: hashlib.sha256(data).digest())

    def check_all() -> None:
        for check in checks:
            check()

    return check_all


def _check(key: signing.Key, signature: bytes, data: bytes) -> Callable[[], object]:
    match key.private.public_key():
        case Ed25519PublicKey() as public:
            return partial(public.verify, signature, data)
        case EllipticCurvePublicKey() as public:
            half = len(signature) // 2
            r, s = (int.from_bytes(part) for part in (signature[:half], signature[half:]))
            return partial(public.verify, encode_dss_signature(r, s), data, ECDSA(SHA256()))
        case RSAPublicKey() as public:
            return partial(public.verify, signature, data, PKCS1v15(), SHA256())
        case other:
            raise TypeError(other)


def _signed(records: dns.rrset.RRset, signature: RrsigRecord) -> bytes:
    """The bytes that a signature of one record covers (RFC 4034 §3.1.8.1)."""
    [record] = records
    data = record.to_digestable()
    head = records.name.to_digestable() + struct.pack(
        "!HHIH", records.rdtype, records.rdclass, signature.original_ttl, len(data)
    )
    return signature.replace(signature=b"").to_digestable() + head + data
