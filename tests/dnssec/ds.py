"""Functions for recipes that make the DS records of a zone, correct ones and others."""

from collections.abc import Callable, Sequence

import dns.dnssec
import dns.name
import dns.rdata
import dns.rdataclass
from dns.dnssectypes import DSDigest
from dns.rdatatype import DS

from postroom.names.dns.records import DnskeyRecord, DsRecord

MakeDs = Callable[[dns.name.Name, Sequence[DnskeyRecord]], Sequence[DsRecord]]
"""The DS records of a zone, by its origin and those of its keys that should have one."""


def ds_of_each(zone: dns.name.Name, keys: Sequence[DnskeyRecord]) -> Sequence[DsRecord]:
    """As it should be: SHA-256 of each key."""
    return ds_by(DSDigest.SHA256)(zone, keys)


def ds_by(digest: DSDigest) -> MakeDs:
    """A DS of each key, by this digest."""
    return lambda zone, keys: [ds_of(zone, key, digest) for key in keys]


def ds_of(zone: dns.name.Name, key: DnskeyRecord, digest: DSDigest = DSDigest.SHA256) -> DsRecord:
    """The DS of a key, by any digest: some are not to be made any more."""
    return dns.dnssec.make_ds(zone, key, digest, policy=dns.dnssec.allow_all_policy)


def changed(ds: DsRecord) -> DsRecord:
    """With one bit of the digest another."""
    new = ds.replace(digest=bytes([ds.digest[0] ^ 1]) + ds.digest[1:])
    assert isinstance(new, DsRecord)
    return new


def no_ds(_zone: dns.name.Name, _keys: Sequence[DnskeyRecord]) -> list[DsRecord]:
    """None at all."""
    return []


def wrong_ds(zone: dns.name.Name, keys: Sequence[DnskeyRecord]) -> list[DsRecord]:
    """As it should be, but for one bit of each digest."""
    return [changed(ds) for ds in ds_of_each(zone, keys)]


def beside(*others: str) -> MakeDs:
    """The right DS and others."""
    return lambda zone, keys: [*ds_of_each(zone, keys), *map(_ds, others)]


def only(*texts: str) -> MakeDs:
    """These, whatever the keys."""
    return lambda _zone, _keys: [_ds(text) for text in texts]


def _ds(text: str) -> DsRecord:
    record = dns.rdata.from_text(dns.rdataclass.IN, DS, text)
    assert isinstance(record, DsRecord)
    return record


def wrong_by(digest: DSDigest) -> MakeDs:
    """A DS of each key, by this digest, but for one bit of it."""
    return lambda zone, keys: [changed(ds) for ds in ds_by(digest)(zone, keys)]


def both(one: MakeDs, other: MakeDs) -> MakeDs:
    """Those of the one and of the other."""
    return lambda zone, keys: [*one(zone, keys), *other(zone, keys)]


def said_to_be(algorithm: int) -> MakeDs:
    """The DS of keys that claim to be of another algorithm."""

    def make(zone: dns.name.Name, keys: Sequence[DnskeyRecord]) -> list[DsRecord]:
        said = [key.replace(algorithm=algorithm) for key in keys]
        return [ds_of(zone, key) for key in said if isinstance(key, DnskeyRecord)]

    return make
