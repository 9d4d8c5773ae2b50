"""Common parts of NSEC and NSEC3: type bitmaps, and the result of a proof of absence. Pure."""

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
    """A record that a proof of absence is based on: `owner` and `next` in text form."""

    rdtype: str
    owner: str
    next: str


@dataclass(frozen=True)
class Denial:
    """A proof that a name does not exist (`no_name`), or that it exists without such a type.

    `opt_out`: unsigned delegations are not covered (RFC 5155 §6). `is_cut`: the name is delegated, so the missing type
    is DS, and everything below is not signed.
    """

    no_name: bool
    deniers: tuple[Denier, ...]
    opt_out: bool = False
    is_cut: bool = False


class Denials(Protocol):
    """The proven NSEC or NSEC3 records of one zone in an answer."""

    def absence(self, name: dns.name.Name, rdtype: RdataType) -> Denial | None:
        """The proof that `name` or its type does not exist; None if these records do not prove it."""
        ...

    def no_closer(self, name: dns.name.Name, encloser: dns.name.Name) -> Denial | None:
        """The proof that a wildcard directly below `encloser` may answer for `name` (RFC 4035 §5.3.4, 5155 §8.8)."""
        ...


def lists(windows: Windows, rdtype: RdataType) -> bool:
    """Whether a type bitmap has this type."""
    number, offset = divmod(int(rdtype), 256)
    byte, bit = divmod(offset, 8)
    return any(window == number and byte < len(bits) and bits[byte] & (0x80 >> bit) for window, bits in windows)


def is_delegation(windows: Windows) -> bool:
    """Whether the bitmap is from the zone above a cut: it has NS, and no SOA (RFC 6840 §4.1, §4.4)."""
    return lists(windows, NS) and not lists(windows, SOA)


def ends_zone_below(windows: Windows) -> bool:
    """Whether names below the owner are in another zone, or covered by a DNAME (RFC 6840 §4.1)."""
    return is_delegation(windows) or lists(windows, DNAME)


def says_no_name(windows: Windows) -> bool:
    """Whether a bitmap at a name says that the name does not exist (NXNAME, RFC 9824 §2)."""
    return lists(windows, _NXNAME)


def denies(windows: Windows, rdtype: RdataType, name: dns.name.Name) -> bool:
    """Whether a bitmap at `name` proves that there is no such type, and no alias that leads to it (RFC 6840 §4.3).

    For DS only the zone above a cut can prove this, for all other types only the zone below (RFC 6840 §4.1).
    """
    if lists(windows, rdtype) or lists(windows, CNAME):
        return False
    if rdtype == DS:
        return not lists(windows, SOA) or name == dns.name.root
    return not is_delegation(windows)
