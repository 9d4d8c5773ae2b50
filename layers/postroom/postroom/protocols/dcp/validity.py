"""Validity of requests: how long one counts, and when its stamp can be forgotten (DCP: Validity).

Times are seconds since the epoch.
"""

from dataclasses import dataclass
from typing import Final

from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.protocols.dcp.reasons import DCP_EXPIRED, DCP_TIME_TRAVEL, DCP_VALIDITY_INVALID

DEFAULT_SLOP_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Validity:
    """The validity of a request, as it was sent. `ttl`: seconds; None: the sender leaves it to the receiver."""

    time: float
    ttl: float | None
    stamp: str


@dataclass(frozen=True, slots=True)
class TtlLimits:
    """The ttl that a receiver grants, in seconds. `default`: for a request without one; None: the minimum."""

    min: float
    max: float
    default: float | None = None

    def granted(self, ttl: float | None) -> float:
        """The ttl that is granted to a request."""
        wanted = ttl if ttl is not None else self.default
        return self.min if wanted is None else max(self.min, min(wanted, self.max))


def read_validity(value: JsonValue) -> Validity:
    """The validity of a payload. Raises TheirError(DCP_VALIDITY_INVALID)."""
    if not isinstance(value, dict):
        raise TheirError(DCP_VALIDITY_INVALID, "payload.validity is missing or not an object")
    stamp, ttl = value.get("stamp"), value.get("ttl")
    if not isinstance(stamp, str) or not stamp:
        raise TheirError(DCP_VALIDITY_INVALID, "validity.stamp is missing, empty or not a string")
    return Validity(_seconds(value.get("time"), "time"), _seconds(ttl, "ttl") if "ttl" in value else None, stamp)


def check_validity(validity: Validity, limits: TtlLimits, slop: float, now: float) -> None:
    """Check that a request counts now; at both ends, equality passes. `slop`: the difference of clocks that is allowed.

    Raises TheirError: DCP_TIME_TRAVEL, DCP_EXPIRED.
    """
    if validity.time > now + slop:
        raise TheirError(DCP_TIME_TRAVEL, f"by {validity.time - now:g} s; at most {slop:g} s are allowed")
    ttl = limits.granted(validity.ttl)
    if now > validity.time + ttl + slop:
        raise TheirError(DCP_EXPIRED, f"its ttl is {ttl:g} s, and its time {now - validity.time:g} s ago")


def forget_at(validity: Validity, widest: TtlLimits, widest_slop: float) -> float:
    """When a stamp can be forgotten: whatever the settings may be until then, the request counts no more.

    `widest`: the least and the most that any setting can grant; `widest_slop`: the greatest slop.
    """
    return validity.time + widest.granted(validity.ttl) + widest_slop


def _seconds(value: JsonValue, name: str) -> float:
    """A number of seconds; `type`, because True is an int."""
    if type(value) is int or type(value) is float:
        return value
    raise TheirError(DCP_VALIDITY_INVALID, f"validity.{name} is {'missing' if value is None else 'not a number'}")
