"""The courier's Feedback: at most one for a discard, with limits for each domain and buffer."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from postroom.core.errors import NotNowError
from postroom.outbound.discards import DiscardNotification, DiscardSummaryDue
from postroom.outbound.envelope_sender import EnvelopeSender
from postroom.outbound.ports import Clock, Manifests, SendQueue
from postroom.protocols.nlweb.feedback import body_of, summary_of
from postroom.protocols.nlweb.reasons import CORRELATION_REUSED
from postroom.protocols.nlweb.sign import Draft
from postroom.protocols.nlweb.subjects import FEEDBACK
from postroom.storage.aws.queue import LONGEST_DELAY_SECONDS
from postroom.storage.layout import seen_key_nlweb
from postroom.storage.limits.feedback import HOUR_SECONDS, FeedbackLimits, SummaryIdentity
from postroom.storage.mail.feedback_log import FeedbackLog
from postroom.storage.mail.register import Register
from postroom.storage.mail.seen import Seen

FIRST_DELAY_SECONDS: Final = 10
DOMAINS_OF_A_BUFFER: Final = 10
"""A buffer may serve many domains, and receives at most as much Feedback as this many domains.

A domain names its buffer without asking it. The owner of a zone has any number of domains in it, and could otherwise
make us send Feedback to another host without limit.
"""
_GRACE_SECONDS: Final = 120
"""The wait after an hour's end, before it is summarised: workers' clocks differ by a minute at most."""
_log: Final = logging.getLogger(__name__)


class Delivery(StrEnum):
    """The result of one attempt at Feedback."""

    DELIVERED = "delivered"
    REFUSED = "refused"
    NOBODY = "nobody to tell"
    SILENT = "nothing to tell"
    SUMMARY = "summary"
    WITHHELD = "withheld"
    WAITING = "waiting"
    GIVEN_UP = "given up"


@dataclass(frozen=True, slots=True)
class CourierRules:
    """Limits of Feedback.

    `per_domain_and_hour`: to one sender's domain. `give_up_seconds`: how long one Feedback is tried.
    """

    per_domain_and_hour: int
    give_up_seconds: int


@dataclass(frozen=True, slots=True)
class FeedbackStorage:
    """The tables that Feedback is checked against, and recorded in."""

    seen: Seen
    register: Register
    told: FeedbackLog
    limits: FeedbackLimits


class Courier:
    """Sends Feedback. `new_uuid` makes Correlations, `jitter` returns 0 ≤ x < 1."""

    def __init__(
        self,
        *,
        storage: FeedbackStorage,
        manifests: Manifests,
        postman: EnvelopeSender,
        queue: SendQueue,
        rules: CourierRules,
        clock: Clock,
        new_uuid: Callable[[], str],
        jitter: Callable[[], float],
    ) -> None:
        self._storage = storage
        self._manifests = manifests
        self._postman = postman
        self._queue = queue
        self._rules = rules
        self._clock = clock
        self._new_uuid = new_uuid
        self._jitter = jitter

    def deliver(self, notice: DiscardNotification | DiscardSummaryDue) -> Delivery:
        """Send the Feedback, or requeue it for later. Raises NotNowError if that failed, too."""
        try:
            return self._tell(notice) if isinstance(notice, DiscardNotification) else self._sum_up(notice)
        except NotNowError as error:
            _log.warning("Feedback for %s waits: %s", notice.sender, error)
            if self._clock() * 1000 - _begun_ms(notice) > self._rules.give_up_seconds * 1000:
                return self._finish(notice, Delivery.GIVEN_UP)
            self._queue.send(notice.again().encode(), backoff(notice.tries, self._jitter()), group=notice.group)
            return Delivery.WAITING

    def _tell(self, notice: DiscardNotification) -> Delivery:
        if self._lives_elsewhere(notice):
            return Delivery.SILENT
        told = self._storage.told.find(notice.row)
        if told is not None and told.sent:
            return Delivery.SILENT
        if told is None:
            buffer = self._manifests.feedback_domain_of(notice.sender)
            if buffer is None:
                return Delivery.NOBODY
            if not self._take_share(notice):
                return Delivery.SUMMARY
            if not self._take_room(buffer):
                return self._finish(notice, Delivery.WITHHELD)
            told = self._storage.told.note(notice.row, buffer, self._new_uuid(), int(self._clock() * 1000))
            if told.sent:
                return Delivery.SILENT
        draft = Draft(
            sender=notice.receiver,
            receiver=told.buffer,
            subject=FEEDBACK,
            correlation=told.correlation,
            timestamp_ms=told.timestamp_ms,
            body=body_of(notice.sender, notice.correlation, notice.reason),
            dialect=notice.dialect,
        )
        return self._finish(notice, self._send(draft))

    def _lives_elsewhere(self, notice: DiscardNotification) -> bool:
        """Whether another claim with this key was accepted: then the sender gets no Feedback about this one.

        Otherwise a stranger who knows a Correlation could make us report an accepted message as discarded. The reason
        CORRELATION_REUSED is reported all the same: it is proven, and about another text.
        """
        key = seen_key_nlweb(notice.receiver, notice.sender, notice.correlation)
        known = self._storage.seen.find(key, now=int(self._clock()))
        if known is None or known.home == notice.row:
            return False
        if notice.reason == CORRELATION_REUSED and known.hash != notice.digest:
            return False
        if known.home is None:
            return True
        row = self._storage.register.find(known.home)
        return row is None or row.discarded is None

    def _take_share(self, notice: DiscardNotification) -> bool:
        """Count one Feedback of this hour; over the limit, it is left to the hour's summary."""
        hour = int(self._clock()) // HOUR_SECONDS
        if self._storage.limits.take(notice.sender, hour, self._rules.per_domain_and_hour):
            return True
        if self._storage.limits.withhold(notice.sender, hour, str(notice.reason)):
            due = DiscardSummaryDue(notice.receiver, notice.sender, hour, notice.dialect)
            self._queue.send(due.encode(), LONGEST_DELAY_SECONDS, group=due.group)
            self._storage.limits.asked(notice.sender, hour)
        self._storage.told.sent(notice.row, Delivery.SUMMARY)
        return False

    def _take_room(self, buffer: str) -> bool:
        """Count one Feedback to this buffer in this hour."""
        limit = DOMAINS_OF_A_BUFFER * max(
            1, self._rules.per_domain_and_hour
        )  # with a limit of 0, there are only summaries
        return self._storage.limits.take_room(buffer, int(self._clock()) // HOUR_SECONDS, limit)

    def _sum_up(self, due: DiscardSummaryDue) -> Delivery:
        ripe = (due.hour + 1) * HOUR_SECONDS + _GRACE_SECONDS
        if self._clock() < ripe:
            delay = min(LONGEST_DELAY_SECONDS, int(ripe - self._clock()) + 1)
            self._queue.send(due.encode(), delay, group=due.group)
            return Delivery.WAITING
        buffer = self._manifests.feedback_domain_of(due.sender)
        if buffer is None:
            return Delivery.NOBODY
        identity = SummaryIdentity(due.receiver, buffer, self._new_uuid(), int(self._clock() * 1000))
        summary = self._storage.limits.summary(due.sender, due.hour, identity)
        if summary.sent:
            return Delivery.SILENT
        if summary.identity == identity and not self._take_room(buffer):
            return self._finish(due, Delivery.WITHHELD)
        since_ms = due.hour * HOUR_SECONDS * 1000
        draft = Draft(
            sender=summary.identity.receiver,
            receiver=summary.identity.buffer,
            subject=FEEDBACK,
            correlation=summary.identity.correlation,
            timestamp_ms=summary.identity.timestamp_ms,
            body=summary_of(due.sender, since_ms, since_ms + HOUR_SECONDS * 1000, summary.codes),
            dialect=due.dialect,
        )
        return self._finish(due, self._send(draft))

    def _send(self, draft: Draft) -> Delivery:
        return Delivery.DELIVERED if self._postman.post(draft).taken else Delivery.REFUSED

    def _finish(self, notice: DiscardNotification | DiscardSummaryDue, outcome: Delivery) -> Delivery:
        if isinstance(notice, DiscardNotification):
            self._storage.told.sent(notice.row, outcome)
        else:
            self._storage.limits.sent(notice.sender, notice.hour, outcome)
        return outcome


def backoff(tries: int, jitter: float) -> int:
    """Seconds until the next attempt; 0 ≤ `jitter` < 1."""
    longest = min(FIRST_DELAY_SECONDS * 2 ** min(tries, 10), LONGEST_DELAY_SECONDS)
    return int(longest * (0.5 + 0.5 * jitter))


def _begun_ms(notice: DiscardNotification | DiscardSummaryDue) -> int:
    return notice.since_ms if isinstance(notice, DiscardNotification) else (notice.hour + 1) * HOUR_SECONDS * 1000
