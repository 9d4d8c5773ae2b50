"""The courier's Feedback: at most one for a discard, with limits for each domain and buffer."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Final

from postroom.core.errors import NotNowError
from postroom.core.reasons import OUTBOUND_FAILED
from postroom.net.failing_addresses import FailedRecentlyError
from postroom.outbound.backoff import backoff
from postroom.outbound.delivery import Delivery
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
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

DOMAINS_OF_A_BUFFER: Final = 10
"""A buffer may serve many domains, and receives at most as much Feedback as this many domains.

A domain names its buffer without asking it. The owner of a zone has any number of domains in it, and could otherwise
make us send Feedback to another host without limit.
"""
MANIFEST_TRIES: Final = 4
"""Attempts to find a sender's buffer, without those that were postponed: then nobody is told, because whoever forges
mail may have made the host up."""
_GRACE_SECONDS: Final = 120
"""The wait after an hour's end, before it is summarised: workers' clocks differ by a minute at most."""
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FeedbackRules:
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
    feedback_log: FeedbackLog
    limits: FeedbackLimits


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeedbackSender:
    """Sends Feedback. `new_uuid` makes Correlations, `jitter` returns 0 ≤ x < 1."""

    storage: FeedbackStorage
    manifests: Manifests
    envelope_sender: EnvelopeSender
    queue: SendQueue
    rules: FeedbackRules
    clock: Clock
    new_uuid: Callable[[], str]
    jitter: Callable[[], float]

    def deliver(self, notification: DiscardNotification | DiscardSummaryDue) -> Delivery:
        """Send the Feedback, or requeue it for later. Raises NotNowError if that failed, too."""
        if not notification.is_due:
            return self._wait(notification)
        try:
            return (
                self._deliver(notification)
                if isinstance(notification, DiscardNotification)
                else self._sum_up(notification)
            )
        except FailedRecentlyError as error:
            _log.warning("Feedback for %s is postponed: %s", notification.sender, error)
            return self._wait(notification.postpone(), error.seconds)
        except NotNowError as error:
            _log.warning("Feedback for %s waits: %s", notification.sender, error)
            return self._wait(notification.failed() if error.reason == OUTBOUND_FAILED else notification)

    def _wait(self, notification: DiscardNotification | DiscardSummaryDue, at_least_seconds: float = 0) -> Delivery:
        if self.clock() * 1000 - _begun_ms(notification) > self.rules.give_up_seconds * 1000:
            return self._finish(notification, Delivery.GIVEN_UP)
        delay = max(backoff(notification.tries, self.jitter()), ceil(at_least_seconds))
        self.queue.send(notification.again().encode(), delay, group=notification.group)
        return Delivery.WAITING

    def _deliver(self, notification: DiscardNotification) -> Delivery:
        if self._lives_elsewhere(notification):
            return Delivery.SILENT
        record = self.storage.feedback_log.find(notification.row)
        if record is not None and record.sent:
            return Delivery.SILENT
        if record is None:
            buffer = self._buffer_of(notification)
            if isinstance(buffer, Delivery):
                return buffer
            if not self._take_share(notification):
                return Delivery.SUMMARY
            if not self._take_of_buffer(buffer):
                return self._finish(notification, Delivery.WITHHELD)
            record = self.storage.feedback_log.note(notification.row, buffer, self.new_uuid(), int(self.clock() * 1000))
            if record.sent:
                return Delivery.SILENT
        draft = Draft(
            sender=notification.receiver,
            receiver=record.buffer,
            subject=FEEDBACK,
            correlation=record.correlation,
            timestamp_ms=record.timestamp_ms,
            body=body_of(notification.sender, notification.correlation, notification.reason),
            dialect=notification.dialect,
        )
        return self._finish(notification, self._send(draft))

    def _buffer_of(self, notification: DiscardNotification | DiscardSummaryDue) -> str | Delivery:
        """The sender's buffer, or what becomes of the Feedback without one. Raises NotNowError."""
        try:
            return self.manifests.feedback_domain_of(notification.sender) or Delivery.NOBODY
        except FailedRecentlyError:
            raise
        except NotNowError as error:
            if error.reason != OUTBOUND_FAILED or notification.failures + 1 < MANIFEST_TRIES:
                raise
            return self._finish(notification, Delivery.UNREACHABLE)

    def _lives_elsewhere(self, notification: DiscardNotification) -> bool:
        """Whether another claim with this key was accepted: then the sender gets no Feedback about this one.

        Otherwise a stranger who knows a Correlation could make us report an accepted message as discarded. The reason
        CORRELATION_REUSED is reported all the same: it is proven, and about another text.
        """
        key = seen_key_nlweb(notification.receiver, notification.sender, notification.correlation)
        known = self.storage.seen.find(key, now=int(self.clock()))
        if known is None or known.home == notification.row:
            return False
        if notification.reason == CORRELATION_REUSED and known.hash != notification.digest:
            return False
        if known.home is None:
            return True
        row = self.storage.register.find(known.home)
        return row is None or row.discarded is None

    def _take_share(self, notification: DiscardNotification) -> bool:
        """Count one Feedback of this hour; over the limit, it is left to the hour's summary."""
        hour = int(self.clock()) // HOUR_SECONDS
        if self.storage.limits.take(notification.sender, hour, self.rules.per_domain_and_hour):
            return True
        if self.storage.limits.withhold(notification.sender, hour, str(notification.reason)):
            due = DiscardSummaryDue(notification.receiver, notification.sender, hour, notification.dialect)
            self.queue.send(due.encode(), LONGEST_DELAY_SECONDS, group=due.group)
            self.storage.limits.note_requested(notification.sender, hour)
        self.storage.feedback_log.sent(notification.row, Delivery.SUMMARY)
        return False

    def _take_of_buffer(self, buffer: str) -> bool:
        """Count one Feedback to this buffer in this hour."""
        limit = DOMAINS_OF_A_BUFFER * max(
            1, self.rules.per_domain_and_hour
        )  # with a limit of 0, there are only summaries
        return self.storage.limits.take_of_buffer(buffer, int(self.clock()) // HOUR_SECONDS, limit)

    def _sum_up(self, due: DiscardSummaryDue) -> Delivery:
        ripe = (due.hour + 1) * HOUR_SECONDS + _GRACE_SECONDS
        if self.clock() < ripe:
            delay = min(LONGEST_DELAY_SECONDS, int(ripe - self.clock()) + 1)
            self.queue.send(due.encode(), delay, group=due.group)
            return Delivery.WAITING
        buffer = self._buffer_of(due)
        if isinstance(buffer, Delivery):
            return buffer
        identity = SummaryIdentity(due.receiver, buffer, self.new_uuid(), int(self.clock() * 1000))
        summary = self.storage.limits.summary(due.sender, due.hour, identity)
        if summary.sent:
            return Delivery.SILENT
        if summary.identity == identity and not self._take_of_buffer(buffer):
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
        return Delivery.DELIVERED if self.envelope_sender.post(draft).taken else Delivery.REFUSED

    def _finish(self, notification: DiscardNotification | DiscardSummaryDue, outcome: Delivery) -> Delivery:
        if isinstance(notification, DiscardNotification):
            self.storage.feedback_log.sent(notification.row, outcome)
        else:
            self.storage.limits.sent(notification.sender, notification.hour, outcome)
        return outcome


def _begun_ms(notification: DiscardNotification | DiscardSummaryDue) -> int:
    return (
        notification.since_ms
        if isinstance(notification, DiscardNotification)
        else (notification.hour + 1) * HOUR_SECONDS * 1000
    )
