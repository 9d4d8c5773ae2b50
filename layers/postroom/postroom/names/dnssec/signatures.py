"""Does this signature, by one of these keys, hold over this RRset now? Pure, over `dns.dnssec` primitives.

`dns.dnssec.validate` is not used: it asks neither who may sign for a name, nor about wildcards, nor how much
work a stranger makes us do.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

import dns.dnssec
import dns.exception
import dns.name
import dns.node
import dns.rdataset
import dns.rrset
from dns.dnssectypes import Algorithm, DSDigest
from dns.rdtypes.dnskeybase import Flag

from postroom.names.dns.records import DnskeyRecord, DsRecord, RrsigRecord

ALGORITHMS = frozenset(
    {
        Algorithm.RSASHA256,
        Algorithm.RSASHA512,
        Algorithm.ECDSAP256SHA256,
        Algorithm.ECDSAP384SHA384,
        Algorithm.ED25519,
        Algorithm.ED448,
    }
)
DIGESTS = frozenset({DSDigest.SHA256, DSDigest.SHA384})

MAX_SIGNATURES = 4
"""Tried per RRset: a roll-over of key and algorithm at once needs no more."""

MAX_KEYS_PER_TAG = 2
"""Tried per algorithm and key tag: two may share a tag by chance, more do so on purpose (KeyTrap, CVE-2023-50387)."""

MAX_RECORDS = 32
"""In an RRset: more records than a key record or a zone's keys ever need. Each is sorted, digested and encoded
for every check."""

MAX_CHECKS = 64
"""Signature and digest checks per walk. An honest walk of 8 aliases through 5 zones stays below; zones full of
signatures and digests that hold for nothing would need hundreds."""

Keys = Mapping[tuple[int, int], Sequence[DnskeyRecord]]
"""A zone's usable keys by (algorithm, key tag), a few of each; tags may collide (RFC 4034 Appendix B)."""


class Broken(Exception):  # noqa: N818 - a finding that becomes a verdict
    """No signature holds; the text says why."""


class Checks:
    """How many checks a walk has left."""

    def __init__(self, left: int = MAX_CHECKS) -> None:
        self._left = left

    def spend(self) -> None:
        """Count one check; raises `Broken` when there were too many."""
        if self._left <= 0:
            raise Broken(f"more than {MAX_CHECKS} signature checks would be needed")
        self._left -= 1


def usable_keys(keys: Iterable[object]) -> Keys:
    """Keys that may sign zone data: zone flag, protocol 3, not revoked, a known algorithm (RFC 4034 §2.1).

    Of those that share algorithm and tag, the first `MAX_KEYS_PER_TAG`.
    """
    by_tag: dict[tuple[int, int], list[DnskeyRecord]] = {}
    for key in keys:
        if (
            isinstance(key, DnskeyRecord)
            and key.flags & Flag.ZONE
            and not key.flags & Flag.REVOKE
            and key.protocol == 3
            and key.algorithm in ALGORITHMS
        ):
            same = by_tag.setdefault((key.algorithm, key.key_id()), [])
            if len(same) < MAX_KEYS_PER_TAG:
                same.append(key)
    return by_tag


def usable_digests(records: Iterable[object]) -> list[DsRecord]:
    """The DS records whose algorithm and digest type we can check (RFC 4035 §5.2)."""
    return [
        ds for ds in records if isinstance(ds, DsRecord) and ds.algorithm in ALGORITHMS and ds.digest_type in DIGESTS
    ]


def vouched_for(
    zone: dns.name.Name, keys: Keys, digests: Iterable[DsRecord], checks: Checks
) -> dict[DnskeyRecord, DsRecord]:
    """The keys that a DS record names by digest, each with that DS. Raises `Broken` when there is none."""
    entries: dict[DnskeyRecord, DsRecord] = {}
    for ds in digests:
        for key in keys.get((ds.algorithm, ds.key_tag), ()):
            checks.spend()
            if dns.dnssec.make_ds(zone, key, DSDigest(ds.digest_type), validating=True) == ds:
                entries.setdefault(key, ds)
    if not entries:
        raise Broken(f"no DNSKEY of {zone} matches its DS")
    return entries


def find_signature(
    records: dns.rrset.RRset, signatures: Iterable[RrsigRecord], keys: Keys, now: float, checks: Checks
) -> tuple[RrsigRecord, DnskeyRecord]:
    """The first signature that holds over `records` at `now`, and its key.

    The caller has seen to it that the signatures' signer may sign for the owner. Raises `Broken`.
    """
    what = f"{records.name} {records.rdtype.name}"
    found = "no signature of a known algorithm is there"
    candidates = [signature for signature in signatures if signature.algorithm in ALGORITHMS]
    for signature in candidates[:MAX_SIGNATURES]:
        found = _obstacle(records, signature, now)
        if found:
            continue
        found = f"its zone has no trusted key {signature.key_tag}, which is said to have signed it"
        for key in keys.get((signature.algorithm, signature.key_tag), ()):
            found = f"the signature by key {signature.key_tag} does not hold"
            checks.spend()
            if _holds(records, signature, key, now):
                return signature, key
    raise Broken(f"{what}: {found}")


def _obstacle(records: dns.rrset.RRset, signature: RrsigRecord, now: float) -> str:
    """What forbids to use this signature, before any arithmetic (RFC 4035 §5.3.1); empty if nothing does."""
    labels = len(records.name) - 1
    if signature.labels < labels:
        return "it comes from a wildcard, which needs a denial proof that is not checked yet"
    if signature.labels > labels:
        return f"the signature is for a name of {signature.labels} labels"
    if signature.inception > now:
        return f"the signature is not valid before {_moment(signature.inception)}"
    if signature.expiration < now:
        return f"the signature expired at {_moment(signature.expiration)}"
    return ""


def _holds(records: dns.rrset.RRset, signature: RrsigRecord, key: DnskeyRecord, now: float) -> bool:
    keys: dict[dns.name.Name, dns.node.Node | dns.rdataset.Rdataset] = {
        signature.signer: dns.rdataset.from_rdata(0, key)
    }
    try:
        dns.dnssec.validate_rrsig(records, signature, keys, now=now)
    # Keys and signatures are hostile bytes; what the primitives cannot read does not hold.
    except (dns.exception.DNSException, ValueError, TypeError):
        return False
    return True


def _moment(epoch: int) -> str:
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
