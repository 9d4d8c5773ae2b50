"""Cases as data: a question about a zone, and the expected verdicts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import dns.name
from dns.rdatatype import RdataType


class Status(StrEnum):
    """The verdict of a validator on an answer (RFC 4033 §5)."""

    SECURE = "secure"
    INSECURE = "insecure"
    BOGUS = "bogus"
    INDETERMINATE = "indeterminate"


class Gives(StrEnum):
    """What the answer holds, whatever it is worth; behind aliases, what stands at their end."""

    RECORDS = "records"
    NODATA = "no data"
    NXDOMAIN = "no such name"


class Peer(StrEnum):
    """The validator: another one, or ours."""

    UNBOUND = "unbound"
    DELV = "delv"
    OURS = "ours"


class Said(NamedTuple):
    """A verdict, and why it is that one, in the words of whoever gave it."""

    status: Status
    why: str = ""
    gives: Gives | None = None
    """None where that is not told."""


class Differs(NamedTuple):
    """A known difference of a validator, with its reason."""

    status: Status
    why: str


@dataclass(frozen=True)
class Case:
    """A question and the expected verdict."""

    zone: str
    """The origin of the zone whose making is tested."""
    title: str
    asked: str
    """A name, relative to the zone unless it ends in a dot; "@" is the zone itself."""
    rdtype: RdataType
    gives: Gives
    expected: Status
    why: str
    differs: Mapping[Peer, Differs] = field(default_factory=dict)

    @property
    def name(self) -> dns.name.Name:
        """The full name that is asked for."""
        return dns.name.from_text(self.asked, dns.name.from_text(self.zone))

    @property
    def zone_label(self) -> str:
        """The zone's name, without what is the same for all."""
        return self.zone.partition(".")[0]

    @property
    def label(self) -> str:
        """As in `bind-nsec: wildcard`."""
        return f"{self.zone_label}: {self.title}"

    def expected_of(self, peer: Peer) -> Status:
        """What this peer says."""
        return self.differs[peer].status if peer in self.differs else self.expected
