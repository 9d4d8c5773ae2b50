"""Dead letters as an operator sees them: what each is, the queue it belongs to, and what discarding it means.

Every dead letter is a claim, a message of the courier's queues, or unreadable. Discarding decides it as the dead-letter
handler would, so that an accepted message never disappears without a reason.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from postroom.core.errors import NotNowError
from postroom.core.ijson import JsonValue
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.core.timestamps import write_timestamp
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.outbound.notification_messages import MailWaiting, WatchReplaced
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.queue_messages import QueueMessage, read_queue_message
from postroom.pipeline.claims import QueuedClaim
from postroom.pipeline.dead_letters import DeadLetterHandler
from postroom.pipeline.outbox_dead_letters import OutboxDeadLetterHandler
from postroom.pipeline.outcomes import ClaimOutcome

CLAIM: Final = "claim"
UNREADABLE: Final = "unreadable"
_MS_PER_HOUR: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class ReadDeadLetter:
    """A dead letter. `content`: None: it cannot be read. `size`: of its body, in bytes."""

    content: QueuedClaim | QueueMessage | None
    size: int

    @property
    def kind(self) -> str:
        """`claim`, `unreadable`, or the kind of a message of the courier's queues, such as `outgoing`."""
        if self.content is None:
            return UNREADABLE
        return CLAIM if isinstance(self.content, QueuedClaim) else self.content.kind

    @property
    def queue(self) -> str:
        """The queue that such a message belongs to, by its name in the template; empty: it cannot be read."""
        match self.content:
            case None:
                return ""
            case QueuedClaim():
                return "ClaimsQueue"
            case DiscardNotification() | DiscardSummaryDue():
                return "FeedbackQueue"
        return "CourierQueue"

    @property
    def about(self) -> str:
        """What it is about, in a few words."""
        match self.content:
            case None:
                return f"{self.size} bytes"
            case QueuedClaim(claim=claim):
                return f"a message to {claim.mailbox}"
            case Outgoing(draft=draft):
                return f"{draft.subject} from {draft.sender} to {draft.receiver}"
            case DiscardNotification() | DiscardSummaryDue() as feedback:
                return f"Feedback from {feedback.receiver} to {feedback.sender}"
            case MailWaiting() as told:
                return f"mail in {told.mailbox}"
            case WatchReplaced() as replaced:
                return f"a session that waits for mail in {replaced.mailbox} no more"
            case told:
                return f"mail in {told.mailbox}, to target {told.target}"

    def since_ms(self, sent_at_ms: int) -> int:
        """When its message began its way. `sent_at_ms`: when the queue got it, which is the latest try."""
        match self.content:
            case QueuedClaim(claim=claim):
                return claim.received_at_ms
            case Outgoing(draft=draft):
                return draft.timestamp_ms
            case DiscardNotification(since_ms=since_ms):
                return since_ms
            case DiscardSummaryDue(hour=hour):
                return hour * _MS_PER_HOUR
        return sent_at_ms

    @property
    def members(self) -> Mapping[str, JsonValue]:
        """All of it, except what only programs need."""
        if self.content is None:
            return {}
        if not isinstance(self.content, QueuedClaim):
            return {**self.content.members, "tries": self.content.tries}
        queued, claim = self.content, self.content.claim
        waits: dict[str, JsonValue] = {"waits_for_key": queued.awaited_key} if queued.awaited_key else {}
        correlation, _ = claim.details.correlation_and_feedback(claim.envelope)
        return {
            "claim": claim.id,
            "protocol": claim.protocol,
            "mailbox": claim.mailbox,
            "received_at": write_timestamp(claim.received_at_ms),
            "source": claim.source,
            "correlation": correlation,
            "tries": queued.tries,
            **waits,
            "object": queued.pointer.name if queued.pointer else None,
            "envelope": claim.envelope,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OperatorsDeadLetters:
    """Reads dead letters, and discards them."""

    claims: DeadLetterHandler
    outbox: OutboxDeadLetterHandler

    def read(self, body: str, *, of_claims: bool) -> ReadDeadLetter:
        """A dead letter. `of_claims`: of the queues of claims; otherwise of the courier's.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        try:
            content = self.claims.read(body) if of_claims else read_queue_message(body)
        except (ValueError, KeyError):
            return ReadDeadLetter(None, len(body.encode()))
        return ReadDeadLetter(content, len(body.encode()))

    def with_envelope(self, dead_letter: ReadDeadLetter) -> ReadDeadLetter:
        """The same, with the envelope of a claim that is too large for its queue.

        It stays empty if the object is gone. Raises NotNowError(STORE_UNAVAILABLE).
        """
        queued = dead_letter.content
        if not isinstance(queued, QueuedClaim) or queued.pointer is None:
            return dead_letter
        return replace(dead_letter, content=self.claims.complete(queued))

    def discard(self, dead_letter: ReadDeadLetter) -> str:
        """Decide a dead letter, which may then be deleted; returns a sentence that says what is lost.

        Raises NotNowError(STORE_UNAVAILABLE): it is not decided, and must stay.
        """
        match dead_letter.content:
            case QueuedClaim() as queued:
                return self._discard_claim(queued)
            case Outgoing() as outgoing:
                return (
                    "given up: its owner finds it in the outbox as Undeliverable"
                    if self.outbox.give_up(outgoing)
                    else "nothing is lost: its state in the outbox does not depend on it"
                )
            case DiscardNotification() as feedback:
                return (
                    f"{feedback.sender} is not told that its message {feedback.correlation} was discarded "
                    f"({feedback.reason})"
                )
            case DiscardSummaryDue() as feedback:
                return f"{feedback.sender} does not get the summary of Feedback that was withheld"
            case None:
                return f"its {dead_letter.size} bytes, which this release cannot read, are deleted"
        return "nobody is notified; the mail itself is not affected"

    def _discard_claim(self, queued: QueuedClaim) -> str:
        outcome = self.claims.discard(queued)
        if not outcome.is_decided:
            raise NotNowError(outcome.reason or STORE_UNAVAILABLE, outcome.detail)
        if outcome.fate is ClaimOutcome.DUPLICATE:
            return "nothing is lost: its message was decided before"
        return f"its message is discarded as {outcome.reason}; its sender gets Feedback if it asked for it"
