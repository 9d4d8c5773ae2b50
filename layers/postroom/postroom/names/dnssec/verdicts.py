"""How a chain walk can end. `why` is for people and safe to show: names, types, key tags and times."""

from dataclasses import dataclass
from typing import Literal

import dns.rdata

from postroom.names.dnssec.evidence import Evidence


@dataclass(frozen=True)
class Secure:
    """The RRset asked for, proven from a trust anchor."""

    records: tuple[dns.rdata.Rdata, ...]
    ttl: int
    """Seconds: the least of all TTLs, original TTLs and times to a signature's end on the way."""
    evidence: Evidence


@dataclass(frozen=True)
class Absent:
    """Nothing there, said under a proven SOA.

    The SOA's signature is checked; that its zone's NSEC or NSEC3 records deny the name is not checked yet, so
    somebody between the resolver and us could still hide a record.
    """

    kind: Literal["nxdomain", "nodata"]
    ttl: int
    """Seconds: as for `Secure`, and no more than the SOA's minimum (RFC 2308 §5)."""
    evidence: Evidence


@dataclass(frozen=True)
class Insecure:
    """The zone is not signed as far as an anchor reaches: no DS was given for it, or none we can check.

    That a missing DS is proven missing is not checked yet; nothing is accepted on this verdict.
    """

    why: str


@dataclass(frozen=True)
class Bogus:
    """Something is there and wrong, or a signature is not there where one is due (RFC 4033 §5)."""

    why: str


@dataclass(frozen=True)
class EndlessAlias:
    """Proven CNAMEs that form a loop, or more of them than are followed."""

    why: str


Verdict = Secure | Absent | Insecure | Bogus | EndlessAlias
