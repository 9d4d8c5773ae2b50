"""What may befall a zone after it was signed: each function makes a change to be put into a recipe."""

from collections.abc import Callable, Sequence

import dns.dnssec
import dns.name
import dns.rdata
import dns.rdataset
import dns.rdatatype
import dns.rrset
from dns.rdatatype import DNSKEY, RRSIG, RdataType
from tests.dnssec.keys import Key
from tests.dnssec.recipe import Change, Signed

from postroom.names.dns.records import DnskeyRecord, RrsigRecord

_TTL_SECONDS = 300
Edit = Callable[[RrsigRecord], Sequence[RrsigRecord]]


def signatures(owner: str, covers: RdataType, edit: Edit) -> Change:
    """Replace each signature over an RRset by those that `edit` makes of it."""

    def change(signed: Signed) -> None:
        name = signed.name(owner)
        edited = [new for old in _signatures(signed, name, covers) for new in edit(old)]
        if edited:
            _put(signed, name, edited)
        else:
            signed.zone.delete_rdataset(name, RRSIG, covers)

    return change


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


def moved(owner: str, to: str, rdtype: RdataType) -> Change:
    """An RRset and its signatures put in the place of another name's."""

    def change(signed: Signed) -> None:
        name, other = (signed.name(text) for text in (owner, to))
        for kind, covers in ((rdtype, dns.rdatatype.NONE), (RRSIG, rdtype)):
            rdataset = signed.zone.find_rdataset(name, kind, covers)
            _put(signed, other, list(rdataset))

    return change


def signed_by(owner: str, rdtype: RdataType, zone: str, key: Key, *, beside: bool = False) -> Change:
    """An RRset signed by the key of another zone, which names itself as signer.

    `beside` the right signature, which it comes before in canonical order, or in its place.
    """

    def change(signed: Signed) -> None:
        name = signed.name(owner)
        right = _signatures(signed, name, rdtype)
        pair = signed.keyring.pair(zone, key)
        records = dns.rrset.from_rdata_list(name, _TTL_SECONDS, list(signed.zone.find_rdataset(name, rdtype)))
        wrong = dns.dnssec.sign(
            records, pair.private, dns.name.from_text(zone), pair.record,
            inception=right[0].inception, expiration=right[0].expiration - 1,
        )  # fmt: skip
        _put(signed, name, [*(right if beside else ()), wrong])

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
