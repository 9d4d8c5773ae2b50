"""Senders whose names are in DNS, with records of dm3 that are good or bad. All profiles have the keys of SENDER."""

from collections.abc import Iterator
from functools import cache
from itertools import count
from typing import NamedTuple

from tests.functions.bad_dm3 import SENDER, profile
from tests.functions.bad_requests import MARK

from postroom.core.reason import Reason
from postroom.local.zones import Mode
from postroom.names.publishing import text_record
from postroom.names.registry import PROFILE_KEY
from postroom.protocols.dm3.profile import data_uri
from postroom.protocols.dm3.reasons import (
    PROFILE_INVALID,
    PROFILE_LOOKUP_FAILED,
    PROFILE_NOT_PROVEN,
    PROFILE_UNKNOWN,
)


class NameInDns(NamedTuple):
    """A zone and what is in it. `reason`: None if the sender is verified."""

    what: str
    zone: str
    mode: Mode
    reason: Reason | None


@cache
def names_in_dns() -> dict[str, NameInDns]:
    """All of them, by the names of the senders."""
    return {_name(place): made for place, made in enumerate(_each())}


def _name(place: int) -> str:
    return f"{MARK}-{place}.example"


def _each() -> Iterator[NameInDns]:
    good, places = data_uri(profile(SENDER)), count()

    def owner() -> str:
        """That of the records of the next name."""
        return f"_dm3.{_name(next(places))}."

    def record(text: str) -> str:
        return text_record(_name(next(places)), PROFILE_KEY, text)

    signed = Mode.SIGNED
    yield NameInDns("a record", record(good), signed, None)
    yield NameInDns("a record of 4 kB", record(_padded(4000)), signed, None)
    yield NameInDns("a record of 16 kB", record(_padded(16_000)), signed, PROFILE_LOOKUP_FAILED)
    two = record(good)
    yield NameInDns("two records of one key", f"{two}\n{two.replace('data:', 'data:x')}", signed, PROFILE_INVALID)
    yield NameInDns("an empty text", record(""), signed, PROFILE_UNKNOWN)
    yield NameInDns("a text that is not UTF-8", record("ABC").replace("ABC", "\\255"), signed, PROFILE_INVALID)
    alias = owner()
    yield NameInDns("an alias that leads back to itself", f"{alias} CNAME {alias}", signed, PROFILE_INVALID)
    yield NameInDns("records of something else", f'{owner()} TXT "v=spf1 -all"', signed, PROFILE_UNKNOWN)
    yield NameInDns("no record", f"other.{owner()} TXT x", signed, PROFILE_UNKNOWN)
    yield NameInDns("a zone whose signatures are wrong", record(good), Mode.BOGUS, PROFILE_NOT_PROVEN)
    yield NameInDns("a zone without DNSSEC", record(good), Mode.UNSIGNED, PROFILE_UNKNOWN)


def _padded(length: int) -> str:
    """A profile that takes so many characters, and some more."""
    return data_uri({**profile(SENDER), "note": "x" * length})
