"""The check of a signature over an RRset, by a set of keys. Pure, over `dns.dnssecalgs`.

`dns.dnssec.validate` is not used: it checks neither who may sign for a name nor wildcards, does not limit how much work
a stranger can cause, and compares times as if they never wrapped around.
"""

import hashlib
import hmac
import struct
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import cryptography.exceptions
import dns.dnssecalgs
import dns.exception
import dns.name
from dns.dnssectypes import Algorithm, DSDigest
from dns.rdataclass import IN
from dns.rdtypes.dnskeybase import Flag

from postroom.names.dns.records import DnskeyRecord, DsRecord, RrsigRecord
from postroom.names.dnssec.budget import Budget, Exceeded
from postroom.names.dnssec.policy import Policy
from postroom.names.dnssec.rrsets import Broken, Signed

MAX_SIGNATURES: Final = 4
"""Signatures tried for each RRset: even a roll-over of key and algorithm at once needs no more."""

MAX_KEYS_PER_TAG: Final = 2
"""Keys tried for each algorithm and key tag.

Two keys may share a tag by chance; more do so on purpose (KeyTrap, CVE-2023-50387).
"""

MAX_KEY_BYTES: Final = 521
MAX_EXPONENT_BYTES: Final = 8
"""The longest exponent of a key that is tried: an RSA modulus has at most 4,096 bits (RFC 3110 §2), the usual exponent
is 65537."""

Keys = Mapping[tuple[int, int], Sequence[DnskeyRecord]]
"""A zone's usable keys by (algorithm, key tag); tags may collide (RFC 4034 Appendix B)."""

_RSA: Final = (Algorithm.RSASHA1, Algorithm.RSASHA1NSEC3SHA1, Algorithm.RSASHA256, Algorithm.RSASHA512)
_COSTS: Final = {Algorithm.ECDSAP384SHA384: 4, Algorithm.ED448: 4}
"""The cost of a check, if it takes as long as several others."""
_DIGESTS: Final = {DSDigest.SHA1: hashlib.sha1, DSDigest.SHA256: hashlib.sha256, DSDigest.SHA384: hashlib.sha384}
_TIMES: Final = 2**32
"""Times wrap around (RFC 4034 §3.1.5)."""


def usable_keys(keys: Iterable[object], policy: Policy) -> Keys:
    """Keys that may sign zone data: zone flag, protocol 3, not revoked, a known algorithm (RFC 4034 §2.1)."""
    by_tag: dict[tuple[int, int], list[DnskeyRecord]] = {}
    for key in keys:
        if (
            isinstance(key, DnskeyRecord)
            and key.flags & Flag.ZONE
            and not key.flags & Flag.REVOKE
            and key.protocol == 3
            and policy.knows(key.algorithm)
        ):
            by_tag.setdefault((key.algorithm, key.key_id()), []).append(key)
    return by_tag


def usable_digests(records: Iterable[object], policy: Policy) -> list[DsRecord]:
    """The DS records whose algorithm and digest type we can check (RFC 4035 §5.2)."""
    known = [ds for ds in records if isinstance(ds, DsRecord) and policy.knows(ds.algorithm)]
    types = policy.digests({int(ds.digest_type) for ds in known})
    return [ds for ds in known if ds.digest_type in types]


def vouched_for(
    zone: dns.name.Name, keys: Keys, digests: Iterable[DsRecord], budget: Budget
) -> dict[DnskeyRecord, DsRecord]:
    """The keys that a DS record names by digest, each with that DS. Raises `Broken` if there is none, `Exceeded`."""
    entries: dict[DnskeyRecord, DsRecord] = {}
    crowded = False
    for ds in digests:
        same_tag = keys.get((ds.algorithm, ds.key_tag), ())
        crowded |= len(same_tag) > MAX_KEYS_PER_TAG
        for key in same_tag[:MAX_KEYS_PER_TAG]:
            if _is_costly(key):
                crowded = True
                continue
            budget.check()
            if hmac.compare_digest(_digest(zone, key, ds.digest_type), ds.digest):
                entries.setdefault(key, ds)
    if entries:
        return entries
    if crowded:
        why = f"more than {MAX_KEYS_PER_TAG} keys share a tag, or one of them is too long"
        raise Exceeded(f"{zone}: {why}, and none that was tried matches its DS")
    raise Broken(f"no DNSKEY of {zone} matches its DS")


def _digest(zone: dns.name.Name, key: DnskeyRecord, digest_type: int) -> bytes:
    """The digest of a zone's key, for a DS record (RFC 4034 §5.1.4)."""
    return _DIGESTS[DSDigest(digest_type)](zone.to_digestable() + key.to_digestable()).digest()


def find_signature(
    signed: Signed, signer: dns.name.Name, keys: Keys, now: float, policy: Policy, budget: Budget
) -> tuple[RrsigRecord, DnskeyRecord]:
    """The first valid signature by `signer` over an RRset at `now`, and its key.

    The caller has checked that `signer` may sign for the owner, and proves what `is_expanded` of the signature
    requires. Raises `Broken`, or `Exceeded` if not all could be tried.
    """
    found, crowded = "no signature of a known algorithm is there", ""
    known = [it for it in signed.signatures if it.signer == signer and policy.knows(it.algorithm)]
    if len(known) > MAX_SIGNATURES:
        crowded = f"more than {MAX_SIGNATURES} signatures"
    for signature in known[:MAX_SIGNATURES]:
        found = _obstacle(signed.name, signature, now, policy)
        if found:
            continue
        found = f"its zone has no trusted key {signature.key_tag}, which is said to have signed it"
        same_tag = keys.get((signature.algorithm, signature.key_tag), ())
        if len(same_tag) > MAX_KEYS_PER_TAG:
            crowded = f"more than {MAX_KEYS_PER_TAG} keys share the tag {signature.key_tag}"
        for key in same_tag[:MAX_KEYS_PER_TAG]:
            if _is_costly(key):
                crowded = (
                    f"key {signature.key_tag} has more than {MAX_KEY_BYTES} bytes, "
                    f"or {MAX_EXPONENT_BYTES} in its exponent"
                )
                continue
            found = f"the signature by key {signature.key_tag} does not hold"
            budget.check(_COSTS.get(Algorithm(key.algorithm), 1))
            if _holds(signed, signature, key):
                return signature, key
    if crowded:
        raise Exceeded(f"{signed.what}: {crowded}, and none that was tried holds")
    raise Broken(f"{signed.what}: {found}")


def _is_costly(key: DnskeyRecord) -> bool:
    """Whether a check takes a hundred times as long as with the keys that zones use."""
    is_rsa = key.algorithm in _RSA
    # The first byte is the exponent's length; 0: it has 256 bytes or more (RFC 3110 §2).
    return len(key.key) > MAX_KEY_BYTES or (is_rsa and not 0 < int.from_bytes(key.key[:1]) <= MAX_EXPONENT_BYTES)


def is_expanded(owner: dns.name.Name, signature: RrsigRecord) -> bool:
    """Whether the RRset at `owner` was made from a wildcard, which requires a proof that no closer name exists."""
    return signature.labels < _labels(owner)


def seconds_left(signature: RrsigRecord, now: float, policy: Policy) -> int:
    """Seconds until the signature expires."""
    return _since(signature.expiration + policy.skew_seconds, int(now))


def _labels(owner: dns.name.Name) -> int:
    """The number of labels as a signature counts them: without the root and a leading `*` (RFC 4034 §3.1.3)."""
    return len(owner) - 1 - owner.is_wild()


def _since(time: int, earlier: int) -> int:
    """Seconds from `earlier` to `time`, negative if it comes later, by serial number arithmetic (RFC 1982 §3.2)."""
    return (time - earlier + _TIMES // 2) % _TIMES - _TIMES // 2


def _obstacle(owner: dns.name.Name, signature: RrsigRecord, now: float, policy: Policy) -> str:
    """The reason why this signature must not be used, before any arithmetic (RFC 4035 §5.3.1); empty: none."""
    if signature.labels > _labels(owner):
        return f"the signature is for a name of {signature.labels} labels"
    if _since(signature.inception - policy.skew_seconds, int(now)) > 0:
        return f"the signature is not valid before {_moment(signature.inception)}"
    if seconds_left(signature, now, policy) < 0:
        return f"the signature expired at {_moment(signature.expiration)}"
    return ""


def _holds(signed: Signed, signature: RrsigRecord, key: DnskeyRecord) -> bool:
    try:
        algorithm = dns.dnssecalgs.get_algorithm_cls_from_dnskey(key)
        algorithm.public_cls.from_dnskey(key).verify(signature.signature, _signed_bytes(signed, signature))
    # Keys and signatures are hostile bytes; if the library cannot read them, the signature is not valid.
    except (cryptography.exceptions.InvalidSignature, dns.exception.DNSException, ValueError, TypeError, struct.error):
        return False
    return True


def _signed_bytes(signed: Signed, signature: RrsigRecord) -> bytes:
    """The signed bytes (RFC 4034 §3.1.8.1): the signature's own fields, and the RRset in canonical form (§6)."""
    owner = signed.name
    if is_expanded(owner, signature):
        owner = dns.name.from_text("*", owner.split(signature.labels + 1)[1])
    head = owner.to_digestable() + struct.pack("!HHI", signed.rdtype, IN, signature.original_ttl)
    fields = struct.pack(
        "!HBBIIIH",
        signature.type_covered,
        signature.algorithm,
        signature.labels,
        signature.original_ttl,
        signature.expiration,
        signature.inception,
        signature.key_tag,
    )
    body = b"".join(head + struct.pack("!H", len(rdata)) + rdata for rdata in signed.canonical)
    return fields + signature.signer.to_digestable() + body


def _moment(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
