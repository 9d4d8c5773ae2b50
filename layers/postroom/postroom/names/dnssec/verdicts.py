"""The outcomes of a look-up. `why` is for people and safe to show: names, types, key tags and times."""

from dataclasses import dataclass, field
from typing import Literal

import dns.rdata

from postroom.core.reason import Reason
from postroom.names.dnssec.evidence import Evidence, Link


@dataclass(frozen=True)
class Secure:
    """The RRset asked for, proven from a trust anchor."""

    records: tuple[dns.rdata.Rdata, ...]
    ttl: int
    """Seconds: the least of all TTLs, original TTLs and times to a signature's end on the way."""
    evidence: Evidence


@dataclass(frozen=True)
class Absent:
    """Proven not to be there, by NSEC or NSEC3 records (RFC 4035 §5.4, RFC 5155 §8). What kind of absence it is
    the proof says, not the answer's rcode."""

    kind: Literal["nxdomain", "nodata"]
    ttl: int
    """Seconds: as for `Secure`, and no more than the SOA's minimum, if one was there (RFC 2308 §5)."""
    evidence: Evidence


@dataclass(frozen=True)
class Insecure:
    """The zone is not signed as far as an anchor reaches, and that is proven: there is no DS for it, or none we can
    check; or its operator or ours leave it out (opt-out, a negative trust anchor, too many iterations)."""

    why: str
    ttl: int
    """Seconds."""
    evidence: Evidence | None
    """What proves it; None where it is a setting of ours."""


@dataclass(frozen=True)
class Bogus:
    """Something is there and wrong, or a proof is not there where one is due (RFC 4033 §5)."""

    why: str
    chain: tuple[Link, ...] = field(default=(), compare=False)
    """As far as it was proven, when it broke."""
    is_certain: bool = field(default=False, compare=False)
    """It was found so at a second try, now or a moment ago."""


@dataclass(frozen=True)
class EndlessAlias:
    """Proven CNAMEs or DNAMEs that form a loop."""

    why: str


@dataclass(frozen=True)
class Indeterminate:
    """It could not be found out: nobody answered, or more work would be needed than a look-up may take.

    `reason`: KEY_LOOKUP_FAILED, or DNSSEC_TOO_COSTLY.
    """

    reason: Reason
    why: str


Verdict = Secure | Absent | Insecure | Bogus | EndlessAlias | Indeterminate
