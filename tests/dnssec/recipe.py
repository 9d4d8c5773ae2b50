"""The recipe of a zone, as data. A tree is a list of recipes; delegations follow from their origins."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import dns.name
import dns.zone
from tests.dnssec.ds import MakeDs, ds_of_each, no_ds
from tests.dnssec.keys import KSK, ZSK, Key, Keyring


class Maker(StrEnum):
    """The software that signs and serves a zone."""

    BIND = "BIND"
    KNOT = "Knot"
    KNOTD = "knotd"
    """Knot's server signs by itself what it serves, as it loads it."""


@dataclass(frozen=True)
class Denial:
    """How a zone proves absence: by NSEC, or by NSEC3 with these parameters."""

    label: str
    nsec3: bool = True
    salt_bytes: int = 0
    iterations: int = 0
    opt_out: bool = False
    compact: bool = False
    """An NSEC is made for each question, of a name that is not there as of one without records (RFC 9824)."""


NSEC = Denial("nsec", nsec3=False)
NSEC3 = Denial("nsec3")
SALTED = Denial("salted", salt_bytes=4, iterations=5)
OPT_OUT = Denial("optout", opt_out=True)
COMPACT = Denial("compact", nsec3=False, compact=True)


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
    """Without keys it is not signed. Knot makes keys of its own, of the first one's algorithm."""
    days: tuple[int, int] = (-1, 30)
    """From when until when its signatures are valid, counted from now."""
    change: Change | None = None
    """What happens to it after it was signed; but what knotd signs is out of our hands then."""
    ds: MakeDs = ds_of_each
    anchor: MakeDs = no_ds
    """What validators are told of its keys beforehand."""
    left_out: bool = False
    """Validators are told that it counts as unsigned: a negative trust anchor (RFC 7646)."""

    def at(self, origin: str, text: str) -> "Recipe":
        """The same at another place, with other records."""
        return replace(self, origin=origin, text=text)

    @property
    def name(self) -> dns.name.Name:
        """The origin."""
        return dns.name.from_text(self.origin)
