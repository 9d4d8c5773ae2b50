"""Functions for recipes that change a zone after it was signed."""

import time
from collections.abc import Callable, Sequence

import dns.dnssec
import dns.name
import dns.rdata
import dns.rdataset
import dns.rdatatype
import dns.rrset
from dns.rdatatype import DNSKEY, NSEC, NSEC3, RRSIG, RdataType
from tests.dnssec.keys import KSK, Key
from tests.dnssec.recipe import Change, Signed

from postroom.names.dns.records import DnskeyRecord, Nsec3Record, RrsigRecord

_TTL_SECONDS = 300
_DAY_SECONDS = 86_400
Edit = Callable[[RrsigRecord], Sequence[RrsigRecord]]


def together(*changes: Change) -> Change:
    """One after the other."""

    def change(signed: Signed) -> None:
        for one in changes:
            one(signed)

    return change


def signatures(owner: str, covers: RdataType, edit: Edit) -> Change:
    """Replace each signature over an RRset by those that `edit` makes of it."""
    return lambda signed: _edit(signed, signed.name(owner), covers, edit)


def every_signature(edit: Edit) -> Change:
    """Replace each signature of the zone, but those over its keys, by those that `edit` makes of it."""

    def change(signed: Signed) -> None:
        for name, rdataset in list(signed.zone.iterate_rdatasets(RRSIG)):
            if rdataset.covers != DNSKEY:
                _edit(signed, name, rdataset.covers, edit)

    return change


def _edit(signed: Signed, name: dns.name.Name, covers: RdataType, edit: Edit) -> None:
    edited = [new for old in _signatures(signed, name, covers) for new in edit(old)]
    if edited:
        _put(signed, name, edited)
    else:
        signed.zone.delete_rdataset(name, RRSIG, covers)


def dropped(_: RrsigRecord) -> list[RrsigRecord]:
    """Away."""
    return []


def flipped(signature: RrsigRecord) -> list[RrsigRecord]:
    """With one bit another."""
    bits = signature.signature
    return [_with(signature, bits[:-1] + bytes([bits[-1] ^ 1]))]


def behind_a_wrong_one(signature: RrsigRecord) -> list[RrsigRecord]:
    """Beside one of the same key that does not hold, and which comes first in canonical order."""
    return [_with(signature, bytes(len(signature.signature))), signature]


def before_a_wrong_one(signature: RrsigRecord) -> list[RrsigRecord]:
    """Beside one of the same key that does not hold, and which comes last in canonical order."""
    return [signature, _with(signature, b"\xff" * len(signature.signature))]


def _with(signature: RrsigRecord, bits: bytes) -> RrsigRecord:
    new = signature.replace(signature=bits)
    assert isinstance(new, RrsigRecord)
    return new


def without(*kinds: RdataType) -> Change:
    """No records of these types, and no signatures over them."""

    def change(signed: Signed) -> None:
        for name, rdataset in list(signed.zone.iterate_rdatasets()):
            if {rdataset.rdtype, rdataset.covers} & {*kinds}:
                signed.zone.delete_rdataset(name, rdataset.rdtype, rdataset.covers)

    return change


def without_signatures(*covered: RdataType) -> Change:
    """No signatures over records of these types."""

    def change(signed: Signed) -> None:
        for name, rdataset in list(signed.zone.iterate_rdatasets()):
            if rdataset.covers in covered:
                signed.zone.delete_rdataset(name, RRSIG, rdataset.covers)

    return change


def without_denier(owner: str) -> Change:
    """Nothing that speaks of this name: its own NSEC or NSEC3 is gone, or that which covers it."""

    def change(signed: Signed) -> None:
        name, rdtype = _denier(signed, signed.name(owner))
        for kind, covers in ((rdtype, dns.rdatatype.NONE), (RRSIG, rdtype)):
            signed.zone.delete_rdataset(name, kind, covers)

    return change


def denier_moved(owner: str, to: str) -> Change:
    """The NSEC or NSEC3 of a name put in the place of another name's."""

    def change(signed: Signed) -> None:
        (name, rdtype), (other, _) = (_denier(signed, signed.name(text)) for text in (owner, to))
        _move(signed, name, other, rdtype)

    return change


def _denier(signed: Signed, name: dns.name.Name) -> tuple[dns.name.Name, RdataType]:
    """Where the record stands that matches a name or covers it, and whether it is an NSEC or an NSEC3."""
    if owners := [owner for owner, _ in signed.zone.iterate_rdatasets(NSEC)]:
        return max(owner for owner in owners if owner <= name), NSEC
    hashed = {owner: record for owner, _, record in signed.zone.iterate_rdatas(NSEC3)}
    record = next(it for it in hashed.values() if isinstance(it, Nsec3Record))
    hashed_name = signed.name(dns.dnssec.nsec3_hash(name, record.salt, record.iterations, record.algorithm))
    # The last one covers what comes before the first.
    return max((owner for owner in hashed if owner <= hashed_name), default=max(hashed)), NSEC3


def moved(owner: str, to: str, rdtype: RdataType) -> Change:
    """An RRset and its signatures put in the place of another name's."""
    return lambda signed: _move(signed, signed.name(owner), signed.name(to), rdtype)


def _move(signed: Signed, owner: dns.name.Name, to: dns.name.Name, rdtype: RdataType) -> None:
    for kind, covers in ((rdtype, dns.rdatatype.NONE), (RRSIG, rdtype)):
        _put(signed, to, list(signed.zone.find_rdataset(owner, kind, covers)))


def lasting(owner: str, rdtype: RdataType, seconds: int) -> Change:
    """An RRset and its signatures of another TTL."""

    def change(signed: Signed) -> None:
        name = signed.name(owner)
        for kind, covers in ((rdtype, dns.rdatatype.NONE), (RRSIG, rdtype)):
            records = list(signed.zone.find_rdataset(name, kind, covers))
            signed.zone.replace_rdataset(name, dns.rdataset.from_rdata_list(seconds, records))

    return change


def signed_by(owner: str, rdtype: RdataType, zone: str, key: Key, *, beside: bool = False) -> Change:
    """An RRset signed by the key of a zone, which names that zone as signer.

    `beside` the right signature, which it comes before in canonical order, or in its place.
    """

    def change(signed: Signed) -> None:
        name, signer = signed.name(owner), signed.name(zone)
        pair = signed.keyring.pair(str(signer), key)
        records = dns.rrset.from_rdata_list(name, _TTL_SECONDS, list(signed.zone.find_rdataset(name, rdtype)))
        # It ends before the others do, which brings it before them.
        new = dns.dnssec.sign(
            records, pair.private, signer, pair.record, inception=time.time() - 3600, lifetime=_DAY_SECONDS
        )
        _put(signed, name, [*(_signatures(signed, name, rdtype) if beside else ()), new])

    return change


def withdrawn(*keys: Key) -> Change:
    """Keys of the zone that are not published, though they may have signed. Its KSK signs those that are."""

    def change(signed: Signed) -> None:
        apex = signed.name("@")
        gone = {signed.keyring.pair(str(apex), key).record for key in keys}
        _put(signed, apex, [key for key in signed.zone.find_rdataset(apex, DNSKEY) if key not in gone])
        signed_by("@", DNSKEY, "@", KSK)(signed)

    return change


def algorithm_said_to_be(number: int) -> Change:
    """Every key and every signature of the zone claims to be of another algorithm."""

    def change(signed: Signed) -> None:
        keys = signed.zone.find_rdataset(signed.name("@"), DNSKEY)
        said = {key: key.replace(algorithm=number) for key in keys if isinstance(key, DnskeyRecord)}
        tags = {old.key_id(): new.key_id() for old, new in said.items() if isinstance(new, DnskeyRecord)}
        for name, rdataset in list(signed.zone.iterate_rdatasets()):
            if rdataset.rdtype == DNSKEY:
                _put(signed, name, list(said.values()))
            if rdataset.rdtype == RRSIG:
                records = [record for record in rdataset if isinstance(record, RrsigRecord)]
                _put(signed, name, [old.replace(algorithm=number, key_tag=tags[old.key_tag]) for old in records])

    return change


def _signatures(signed: Signed, name: dns.name.Name, covers: RdataType) -> list[RrsigRecord]:
    return [record for record in signed.zone.find_rdataset(name, RRSIG, covers) if isinstance(record, RrsigRecord)]


def _put(signed: Signed, name: dns.name.Name, records: Sequence[dns.rdata.Rdata]) -> None:
    signed.zone.replace_rdataset(name, dns.rdataset.from_rdata_list(_TTL_SECONDS, records))
