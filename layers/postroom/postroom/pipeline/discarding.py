"""Steps 5 and 6 of the store protocol: a discard marks the register row, then the courier is told."""

from postroom.core.reason import Reason
from postroom.core.reasons import SENDER_NOT_WANTED
from postroom.outbound.discard_messages import FeedbackRequest, discard_notification
from postroom.outbound.ports import Clock, SendQueue
from postroom.pipeline.claims import Claim
from postroom.pipeline.outcomes import ClaimOutcome, Outcome, listed_in
from postroom.pipeline.verdicts import Discarded
from postroom.storage.layout import RowKey
from postroom.storage.mail.head import Heads
from postroom.storage.mail.register import Register


class Discarding:
    """Records discards. `retain_seconds`: how long tombstones are kept."""

    def __init__(
        self, *, register: Register, heads: Heads, queue: SendQueue, retain_seconds: int, clock: Clock
    ) -> None:
        self._register = register
        self._heads = heads
        self._queue = queue
        self._retain_seconds = retain_seconds
        self._clock = clock

    def discard(self, claim: Claim, verdict: Discarded) -> Outcome:
        """Mark the register row, then tell the courier; a message that was filed before stays, and is shown.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        forget_at = claim.received_at_ms // 1000 + self._retain_seconds
        stands = self._register.discard(claim.row, verdict.reason, forget_at)
        reason = stands.discarded if stands else verdict.reason
        if reason is None:
            if stands and stands.live:
                self._heads.show(claim.row, int(self._clock() * 1000))
            return Outcome(
                claim,
                ClaimOutcome.DUPLICATE,
                correlation=verdict.correlation,
                row=claim.row,
                listed_in=listed_in(stands),
            )
        self.request_feedback(claim.row, reason, verdict.feedback_request)
        return Outcome(claim, ClaimOutcome.DISCARDED, reason, verdict.detail, verdict.correlation, claim.row)

    def request_feedback(self, row: RowKey, reason: Reason, feedback_request: FeedbackRequest | None) -> None:
        """Our half of step 6: send a message to the queue of Feedback."""
        # Blocked senders get no Feedback, no matter which claim meets the row.
        if feedback_request is not None and reason != SENDER_NOT_WANTED:
            notification = discard_notification(row, reason, feedback_request, int(self._clock() * 1000))
            self._queue.send(notification.encode(), group=notification.group)
