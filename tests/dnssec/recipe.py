"""What a zone of the ground is made of, as data. A tree is a list of recipes; delegations follow from their origins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import dns.dnssec
import dns.name
import dns.zone
from dns.dnssectypes import DSDigest
from tests.dnssec.keys import KSK, ZSK, Key, Keyring

from postroom.names.dns.records import DnskeyRecord, DsRecord


class Maker(StrEnum):
    """Whose tools sign a zone, and whose server serves it."""

    BIND = "BIND"
    KNOT = "Knot"


@dataclass(frozen=True)
class Denial:
    """How a zone proves absence: by NSEC, or by NSEC3 with these parameters."""

    label: str
    nsec3: bool = True
    salt_bytes: int = 0
    iterations: int = 0
    opt_out: bool = False


NSEC = Denial("nsec", nsec3=False)
NSEC3 = Denial("nsec3")
SALTED = Denial("salted", salt_bytes=4, iterations=5)
OPT_OUT = Denial("optout", opt_out=True)


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


class Signed(NamedTuple):
    """A zone after it was signed, to be changed. `keyring` holds the keys of all zones that BIND signs."""

    zone: dns.zone.Zone
    keyring: Keyring

    def name(self, text: str) -> dns.name.Name:
        """A full name, from one that may be relative to the zone."""
        return dns.name.from_text(text, self.zone.origin)


Change = Callable[[Signed], None]


@dataclass(frozen=True)
class Recipe:
    """A zone. `origin` is its full name; the zone above it is the nearest one in the list."""

    origin: str
    text: str = ""
    """Its records in master format, besides SOA, NS, keys and delegations."""
    maker: Maker = Maker.BIND
    denial: Denial = NSEC
    keys: tuple[Key, ...] = (KSK, ZSK)
    """Without keys it is not signed. Knot makes a key of its own, of the first one's algorithm."""
    days: tuple[int, int] = (-1, 30)
    """From when until when its signatures are valid, counted from now."""
    change: Change | None = None
    """What happens to it after it was signed."""
    ds: MakeDs = ds_of_each

    def at(self, origin: str, text: str) -> "Recipe":
        """The same at another place, with other records."""
        return replace(self, origin=origin, text=text)

    @property
    def name(self) -> dns.name.Name:
        """The origin."""
        return dns.name.from_text(self.origin)
