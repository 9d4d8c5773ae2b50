"""The waiting queue: claims whose sender's zone is silent, hidden in it until the zone is asked again.

A claim is in this queue for days, and is received about once for each look-up of its zone. It is never judged here:
when the zone answers, or its horizon has passed, it is sent to the retry queue.
"""

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Final

import orjson

from postroom.core.errors import NotNowError, TheirError
from postroom.core.side_by_side import side_by_side
from postroom.core.typed_members import Members
from postroom.net.aws_errors import stack_of
from postroom.outbound.ports import Clock, SendQueue
from postroom.pipeline.ports import HideQueue
from postroom.pipeline.retention_periods import RetentionPeriods
from postroom.pipeline.silent_zones import LONGEST_SECONDS, PatientKeys, ZoneSilentError

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WaitingClaims:
    """Looks up the zones that claims wait for. `jitter` returns 0 ≤ x < 1."""

    keys: PatientKeys
    waiting: HideQueue
    retry: SendQueue
    times: RetentionPeriods
    clock: Clock
    jitter: Callable[[], float]
    pool: Executor

    def look_again(self, records: Sequence[WaitingRecord]) -> list[str]:
        """Send on the claims that need not wait any longer. Returns the ids of the messages that stay."""
        hidden = side_by_side(self.pool, self._hidden, records)
        seconds = {
            record.receipt: seconds for record, seconds in zip(records, hidden, strict=True) if seconds is not None
        }
        stay = {receipt: hidden for receipt, hidden in seconds.items() if hidden}
        if stay:
            try:
                self.waiting.hide(stay)
            except Exception as error:
                # They come again after the queue's own visibility time-out. The others were sent on, and are done.
                _log.error("%s waiting claims were not hidden", len(stay), exc_info=stack_of(error))
        return [record.message_id for record in records if seconds.get(record.receipt) != 0]

    def _hidden(self, record: WaitingRecord) -> int | None:
        """How long a claim is hidden; 0: it was sent on; None: it cannot be read, or sent on."""
        try:
            members = Members(orjson.loads(record.body), "a message of the waiting queue")
            seconds = self._seconds_to_wait(members.text("key"), members.whole("received_at_ms"))
            if not seconds:
                self.retry.send(record.body, group=record.group)
        except Exception as error:
            # It comes again after the queue's own visibility time-out, and in the end is a dead letter.
            _log.error("message %s stays in the waiting queue", record.message_id, exc_info=stack_of(error))
            return None
        return seconds

    def _seconds_to_wait(self, key_name: str, received_at_ms: int) -> int:
        """How long the claim is hidden; 0: it is to be judged."""
        now = self.clock()
        if self.times.is_past_horizon(received_at_ms, now):
            return 0
        due = self.keys.silent_until(key_name)
        if due is None:
            try:
                self.keys.find(key_name)
            except TheirError:
                return 0
            except ZoneSilentError as silent:
                due = silent.silence.due
            except NotNowError:
                return UNKNOWN_SECONDS
            else:
                return 0
        left = min(max(due - int(now), 0), LONGEST_SECONDS)
        return 1 + left + int(self.jitter() * min(SPREAD_SECONDS, left))
