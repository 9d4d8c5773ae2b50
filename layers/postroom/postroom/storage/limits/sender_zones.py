"""Zones of senders: which domains proved a key, which zones are silent, and how many claims wait for them.

Rows of table `limits`: `proven#<domain>` and `zone#<zone>`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from postroom.net.aws_errors import ConditionFailedError
from postroom.storage.aws.attributes import TTL, Item, Number, primary_key
from postroom.storage.aws.table import DynamoTable
from postroom.storage.limits import waiting_periods

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_FAILED, _DUE = Number("failed"), Number("due")
_SILENT: Final = Number("silent")
_COUNT: Final = re.compile(r"w(\d+)")
"""The attribute with the count of a period."""


@dataclass(frozen=True, slots=True)
class DomainProof:
    """Until when a domain counts as proven (0: it does not), and since when its look-ups fail (None: they do not).

    Epoch seconds.
    """

    until: int = 0
    silent_since: int | None = None


@dataclass(frozen=True, slots=True)
class ZoneState:
    """What is known of a zone none of whose keys was proven.

    `failed`: how many look-ups in a row of time did not get an answer; 0: none. `due`: when it is asked again, epoch
    seconds; None: it has answered since. `counts`: by period (storage/limits/waiting_periods.py), the claims that
    waited for it, or for a zone below it.
    """

    failed: int = 0
    due: int | None = None
    counts: Mapping[int, int] = field(default_factory=dict)

    @property
    def is_silent(self) -> bool:
        """Whether the last look-up got no answer."""
        return self.due is not None

    def waiting(self, now: float) -> int:
        """The claims that wait for it, or for a zone below it."""
        return waiting_periods.waiting(self.counts, now)


class SenderZones:
    """The rows. `period_seconds`: how long a claim waits at most, and a silence is remembered.

    All methods raise NotNowError(STORE_UNAVAILABLE). Times are epoch seconds.
    """

    def __init__(self, dynamodb: "DynamoDBClient", table: str, period_seconds: int) -> None:
        self._table = DynamoTable(dynamodb, table)
        self._period = period_seconds

    def proof(self, domain: str) -> DomainProof:
        """What is known of a domain's keys."""
        row = self._table.get(_proven(domain))
        return DomainProof(TTL.read(row), _SILENT.find(row)) if row else DomainProof()

    def prove(self, domain: str, until: int) -> None:
        """Record that a key of the domain was proven, and that it is not silent."""
        self._table.update(_proven(domain), f"SET {TTL} = :until REMOVE {_SILENT}", {":until": TTL.encode(until)})

    def fall_silent(self, domain: str, now: int) -> None:
        """Record that a look-up of a proven domain failed, unless an earlier one did."""
        condition = f"attribute_exists({TTL}) AND attribute_not_exists({_SILENT})"
        self._table.update(_proven(domain), f"SET {_SILENT} = :now", {":now": _SILENT.encode(now)}, condition)

    def read(self, zone: str) -> ZoneState:
        """The state of a zone."""
        return _state(self._table.get(_zone(zone)) or {})

    def silence(self, zone: str, known: ZoneState, now: int, due: int) -> tuple[ZoneState, bool]:
        """Count a look-up that failed, or is about to be made, unless the state is no longer the `known` one.

        The state that is then current, and whether it is ours.
        """
        before = f"attribute_not_exists({_FAILED})" if known.failed == 0 else f"{_FAILED} = :known"
        values = {
            ":failed": _FAILED.encode(known.failed + 1),
            ":due": _DUE.encode(due),
            ":now": _DUE.encode(now),
            ":ttl": TTL.encode(due + self._period),
        }
        if known.failed:
            values[":known"] = _FAILED.encode(known.failed)
        try:
            row = self._table.change(
                _zone(zone),
                f"SET {_FAILED} = :failed, {_DUE} = :due, {TTL} = :ttl",
                values,
                f"{before} AND (attribute_not_exists({_DUE}) OR {_DUE} <= :now)",
                returned="ALL_NEW",
            )
        except ConditionFailedError as refused:
            return _state(refused.item), False
        return _state(row), True

    def put_off(self, zone: str, known: ZoneState, failed: int, due: int) -> None:
        """Ask the zone again at another time than was counted, unless it was asked since. `failed`: the new count."""
        values = {
            ":known": _FAILED.encode(known.failed),
            ":failed": _FAILED.encode(failed),
            ":due": _DUE.encode(due),
            ":ttl": TTL.encode(due + self._period),
        }
        self._table.update(
            _zone(zone),
            f"SET {_FAILED} = :failed, {_DUE} = :due, {TTL} = :ttl",
            values,
            f"{_FAILED} = :known AND attribute_exists({_DUE})",
        )

    def answered(self, zone: str) -> None:
        """Record that a zone which was silent has answered. How often it failed is remembered for a period."""
        self._table.update(_zone(zone), f"REMOVE {_DUE}", condition=f"attribute_exists({_DUE})")

    def count(self, zone: str, period: int, claims: int, now: int) -> None:
        """Count claims that wait in a period for a zone, or for a zone below it. One write, without a condition.

        The counts that nobody reads any more are removed.
        """
        count = _count_of(period)
        unread = ", ".join(str(_count_of(each)) for each in waiting_periods.unread(now))
        values = {":claims": count.encode(claims), ":ttl": TTL.encode(now + 2 * self._period)}
        self._table.update(_zone(zone), f"ADD {count} :claims SET {TTL} = :ttl REMOVE {unread}", values)


def _state(row: Item) -> ZoneState:
    counts = {int(found[1]): Number(name).read(row) for name in row if (found := _COUNT.fullmatch(name))}
    return ZoneState(_FAILED.find(row) or 0, _DUE.find(row), counts)


def _count_of(period: int) -> Number:
    return Number(f"w{period}")


def _proven(domain: str) -> Item:
    return primary_key(f"proven#{domain}")


def _zone(zone: str) -> Item:
    return primary_key(f"zone#{zone}")
