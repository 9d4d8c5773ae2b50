"""The verdicts of a look-up. `why` is for people and safe to show: names, types, key tags and times."""

from dataclasses import dataclass, field
from typing import Literal

import dns.rdata

from postroom.core.reason import Reason
from postroom.names.dnssec.evidence import Evidence, Link


@dataclass(frozen=True)
class Secure:
    """The RRset, proven from a trust anchor."""

    records: tuple[dns.rdata.Rdata, ...]
    ttl: int
    """Seconds: the smallest of all TTLs, original TTLs and times until a signature expires, in the whole chain."""
    evidence: Evidence


@dataclass(frozen=True)
class Absent:
    """The RRset is proven not to exist, by NSEC or NSEC3 records (RFC 4035 §5.4, RFC 5155 §8).

    The proof decides what does not exist, name or type; the answer's rcode does not.
    """

    kind: Literal["nxdomain", "nodata"]
    ttl: int
    """Seconds: as for `Secure`, and no more than the SOA's minimum, if there was one (RFC 2308 §5)."""
    evidence: Evidence


@dataclass(frozen=True)
class Insecure:
    """The zone is proven not to be signed below an anchor.

    It has no DS, or none that we can check; or its operator or ours excluded it (opt-out, a negative trust anchor, too
    many iterations).
    """

    why: str
    ttl: int
    """Seconds."""
    evidence: Evidence | None
    """The proof; None if a setting of ours is the reason."""


@dataclass(frozen=True)
class Bogus:
    """The answer is wrong, or a proof is missing (RFC 4033 §5)."""

    why: str
    chain: tuple[Link, ...] = field(default=(), compare=False)
    """The chain, as far as it was proven."""
    is_certain: bool = field(default=False, compare=False)
    """Whether a second attempt, now or a moment ago, had the same result."""


@dataclass(frozen=True)
class EndlessAlias:
    """Proven CNAMEs or DNAMEs that form a loop."""

    why: str


@dataclass(frozen=True)
class Indeterminate:
    """The verdict is unknown: no server answered, or a look-up would exceed its limits.

    `reason`: KEY_LOOKUP_FAILED, or DNSSEC_TOO_COSTLY.
    """

    reason: Reason
    why: str


Verdict = Secure | Absent | Insecure | Bogus | EndlessAlias | Indeterminate
