"""The waiting queue: claims whose sender's zone is silent, hidden in it until the zone is asked again.

A claim is in this queue for days, and is received about once for each look-up of its zone. It is never judged here:
when the zone answers, or its horizon has passed, it is sent to the retry queue.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final, NamedTuple

import orjson

from postroom.core.errors import NotNowError, TheirError
from postroom.core.side_by_side import side_by_side
from postroom.core.typed_members import Members
from postroom.net.aws_errors import stack_of
from postroom.outbound.ports import Clock, SendQueue
from postroom.pipeline.ports import HideQueue
from postroom.pipeline.retention_periods import RetentionPeriods
from postroom.pipeline.silence import Silence, ZoneSilentError
from postroom.pipeline.silent_zones import LONGEST_SECONDS, PatientKeys
from postroom.pipeline.waiting_counts import Wait, count_waits
from postroom.storage.limits.sender_zones import SenderZones

SPREAD_SECONDS: Final = 60
"""The claims of a zone return within so many seconds after the zone is due, not all at once."""
UNKNOWN_SECONDS: Final = 900
"""How long a claim is hidden if nothing can be said about its zone: our resolvers or the table are unavailable."""
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WaitingRecord:
    """A message of the waiting queue. `receipt`: of this delivery; `group`: as for `worker.Record`."""

    message_id: str
    body: str
    receipt: str
    group: str = ""


class _Rest(NamedTuple):
    """How long a claim is hidden (0: it is to be judged), and for which zone; None: nothing can be said about it."""

    seconds: int
    silence: Silence | None = None


_TO_BE_JUDGED: Final = _Rest(0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitingClaims:
    """Looks up the zones that claims wait for. `jitter` returns 0 ≤ x < 1."""

    keys: PatientKeys
    zones: SenderZones
    waiting: HideQueue
    retry: SendQueue
    times: RetentionPeriods
    clock: Clock
    jitter: Callable[[], float]
    pool: Executor

    def look_again(self, records: Sequence[WaitingRecord]) -> list[str]:
        """Send on the claims that need not wait any longer. Returns the ids of the messages that stay."""
        now = self.clock()
        found = side_by_side(self.pool, self._rest, records)
        rests = {record.receipt: rest for record, rest in zip(records, found, strict=True) if rest is not None}
        stay = {receipt: rest for receipt, rest in rests.items() if rest.seconds}
        if stay:
            try:
                self.waiting.hide({receipt: rest.seconds for receipt, rest in stay.items()})
                waits = [Wait(rest.silence, rest.seconds) for rest in stay.values() if rest.silence]
                count_waits(self.zones, self.pool, waits, now)
            except Exception as error:
                # They come again after the queue's own visibility time-out. The others were sent on, and are done.
                _log.error("%s waiting claims were not hidden, or counted", len(stay), exc_info=stack_of(error))
        return [record.message_id for record in records if rests.get(record.receipt) != _TO_BE_JUDGED]

    def _rest(self, record: WaitingRecord) -> _Rest | None:
        """What becomes of a claim. If it is to be judged, it was sent on; None: it cannot be read, or sent on."""
        try:
            members = Members(orjson.loads(record.body), "a message of the waiting queue")
            rest = self._look_up(members.text("key"), members.whole("received_at_ms"))
            if rest == _TO_BE_JUDGED:
                self.retry.send(record.body, group=record.group)
        except Exception as error:
            # It comes again after the queue's own visibility time-out, and in the end is a dead letter.
            _log.error("message %s stays in the waiting queue", record.message_id, exc_info=stack_of(error))
            return None
        return rest

    def _look_up(self, key_name: str, received_at_ms: int) -> _Rest:
        now = self.clock()
        if self.times.is_past_horizon(received_at_ms, now):
            return _TO_BE_JUDGED
        silence = self.keys.silence(key_name)
        if silence is None:
            try:
                self.keys.find(key_name)
            except TheirError:
                return _TO_BE_JUDGED
            except ZoneSilentError as silent:
                silence = silent.silence
                if silence.is_proven:
                    return _TO_BE_JUDGED
            except NotNowError:
                return _Rest(UNKNOWN_SECONDS)
            else:
                return _TO_BE_JUDGED
        left = min(max(silence.due - int(now), 0), LONGEST_SECONDS)
        return _Rest(1 + left + int(self.jitter() * min(SPREAD_SECONDS, left)), silence)
