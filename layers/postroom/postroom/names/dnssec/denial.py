"""Common parts of NSEC and NSEC3: type bitmaps, and what a proof of absence says. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import dns.name
from dns.rdatatype import CNAME, DNAME, DS, NS, SOA, RdataType

_NXNAME: Final = RdataType.make(128)
Windows = Sequence[tuple[int, bytes]]
"""The type bitmap of an NSEC or NSEC3 record (RFC 4034 §4.1.2)."""


@dataclass(frozen=True)
class Denier:
    """A record that a proof of absence rests on: `owner` and `next` in text form."""

    rdtype: str
    owner: str
    next: str


@dataclass(frozen=True)
class Denial:
    """A proof that a name is not there (`no_name`), or that it is and has no such type.

    `opt_out`: only as far as unsigned delegations are let alone (RFC 5155 §6). `is_cut`: the name is delegated, so
    the missing type is DS, and what is below is not signed.
    """

    no_name: bool
    deniers: tuple[Denier, ...]
    opt_out: bool = False
    is_cut: bool = False


class Denials(Protocol):
    """The proven NSEC or NSEC3 records of one zone that came with an answer."""

    def absence(self, name: dns.name.Name, rdtype: RdataType) -> Denial | None:
        """The proof that there is no such type at `name`, or no such name; None where these records prove neither."""
        ...

    def no_closer(self, name: dns.name.Name, encloser: dns.name.Name) -> Denial | None:
        """The proof that a wildcard right below `encloser` may answer for `name` (RFC 4035 §5.3.4, RFC 5155 §8.8)."""
        ...


def lists(windows: Windows, rdtype: RdataType) -> bool:
    """Whether a type bitmap has this type."""
    number, offset = divmod(int(rdtype), 256)
    byte, bit = divmod(offset, 8)
    return any(window == number and byte < len(bits) and bits[byte] & (0x80 >> bit) for window, bits in windows)


def is_delegation(windows: Windows) -> bool:
    """Whether the bitmap is that of the zone above a cut: there are name servers, and no SOA (RFC 6840 §4.1, §4.4)."""
    return lists(windows, NS) and not lists(windows, SOA)


def ends_zone_below(windows: Windows) -> bool:
    """Whether names below the owner are somebody else's: of another zone, or a DNAME's (RFC 6840 §4.1)."""
    return is_delegation(windows) or lists(windows, DNAME)


def says_no_name(windows: Windows) -> bool:
    """Whether a bitmap at a name says that the name is not there (NXNAME, RFC 9824 §2)."""
    return lists(windows, _NXNAME)


def denies(windows: Windows, rdtype: RdataType, name: dns.name.Name) -> bool:
    """Whether a bitmap at `name` proves that there is no such type, nor an alias that leads to it (RFC 6840 §4.3).

    About DS only the zone above a cut can say that, about all else only the zone below (RFC 6840 §4.1).
    """
    if lists(windows, rdtype) or lists(windows, CNAME):
        return False
    if rdtype == DS:
        return not lists(windows, SOA) or name == dns.name.root
    return not is_delegation(windows)
