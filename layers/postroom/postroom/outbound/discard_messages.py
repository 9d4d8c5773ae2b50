"""Discards that need Feedback, and summaries of withheld Feedback: their form in the queue of Feedback."""

from abc import ABC
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Self

from postroom.core.ijson import JsonValue
from postroom.core.reason import Reason
from postroom.core.typed_members import Members
from postroom.outbound.queue_form import CourierMessage
from postroom.protocols.nlweb.envelope import NlwebEnvelope
from postroom.protocols.nlweb.feedback import is_due
from postroom.protocols.nlweb.schema import NLWEB, POLLYWEB, Dialect
from postroom.reasons import reason_of
from postroom.storage.layout import RowKey, feedback_group

_DIALECTS: Final = {dialect.authority: dialect for dialect in (NLWEB, POLLYWEB)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackTask(CourierMessage, ABC):
    """A message in the queue of Feedback. `failures`: the attempts that failed at the hosts of others.

    `postponed`: the attempts that were not made, because such a host had failed a moment ago.
    """

    failures: int = 0
    postponed: int = 0

    @property
    def is_due(self) -> bool:
        """Whether to try now: otherwise the message only passes through the queue, which delays it by 900 s at most.

        The tries 0, 1, 3, 7 and so on are made, or postponed: about eight in a day, because anybody can name the host
        that we connect to. An attempt that failed because of our own deployment does not count.
        """
        return self.tries + 1 >= 1 << (self.failures + self.postponed)

    def failed(self) -> Self:
        """The same message with one more failure at the hosts of others."""
        return replace(self, failures=self.failures + 1)

    def postpone(self) -> Self:
        """The same message with one more attempt that was not made."""
        return replace(self, postponed=self.postponed + 1)


@dataclass(frozen=True, slots=True)
class DiscardNotification(FeedbackTask):
    """A discard.

    `since_ms`: when the courier was first asked. `receiver`: our domain, in whose name the Feedback is sent.
    """

    row: RowKey
    reason: Reason
    receiver: str
    sender: str
    correlation: str
    digest: str
    dialect: Dialect
    since_ms: int

    kind: ClassVar = "discard"

    @classmethod
    def read(cls, members: Members) -> "DiscardNotification":
        """Read it from the members of a queue message. Raises ValueError."""
        return cls(
            RowKey(members.text("pk"), members.text("sk")),
            reason_of(members.text("reason")),
            members.text("receiver"),
            members.text("sender"),
            members.text("correlation"),
            members.text("hash"),
            _dialect(members),
            members.whole("since"),
            tries=members.whole("tries"),
            failures=_count(members, "failures"),
            postponed=_count(members, "postponed"),
        )

    @property
    def group(self) -> str:
        """Its message group in the queue of Feedback."""
        return feedback_group(self.sender)

    @property
    def members(self) -> dict[str, JsonValue]:
        """The members of this kind."""
        return {
            "pk": self.row.pk,
            "sk": self.row.sk,
            "reason": str(self.reason),
            "receiver": self.receiver,
            "sender": self.sender,
            "correlation": self.correlation,
            "hash": self.digest,
            "dialect": self.dialect.authority,
            "since": self.since_ms,
            "failures": self.failures,
            "postponed": self.postponed,
        }


@dataclass(frozen=True, slots=True)
class DiscardSummaryDue(FeedbackTask):
    """The summary of Feedback withheld from `sender` in `hour` (hours since the epoch)."""

    receiver: str
    sender: str
    hour: int
    dialect: Dialect

    kind: ClassVar = "summary"

    @classmethod
    def read(cls, members: Members) -> "DiscardSummaryDue":
        """Read it from the members of a queue message. Raises ValueError."""
        return cls(
            members.text("receiver"),
            members.text("sender"),
            members.whole("hour"),
            _dialect(members),
            tries=members.whole("tries"),
            failures=_count(members, "failures"),
            postponed=_count(members, "postponed"),
        )

    @property
    def group(self) -> str:
        """Its message group in the queue of Feedback."""
        return feedback_group(self.sender)

    @property
    def members(self) -> dict[str, JsonValue]:
        """The members of this kind."""
        return {
            "hour": self.hour,
            "receiver": self.receiver,
            "sender": self.sender,
            "dialect": self.dialect.authority,
            "failures": self.failures,
            "postponed": self.postponed,
        }


@dataclass(frozen=True, slots=True)
class FeedbackRequest:
    """What is needed of a message for Feedback about it, if it is discarded (NLWeb; dm3 has no Feedback)."""

    receiver: str
    sender: str
    correlation: str
    digest: str
    dialect: Dialect

    @classmethod
    def read(cls, members: Members) -> "FeedbackRequest":
        """Read it from its JSON form. Raises ValueError."""
        return cls(
            members.text("receiver"),
            members.text("sender"),
            members.text("correlation"),
            members.text("hash"),
            _dialect(members),
        )

    def as_json(self) -> dict[str, JsonValue]:
        """Its JSON form."""
        return {
            "receiver": self.receiver,
            "sender": self.sender,
            "correlation": self.correlation,
            "hash": self.digest,
            "dialect": self.dialect.authority,
        }


def feedback_request_of(envelope: NlwebEnvelope) -> FeedbackRequest | None:
    """What is needed for Feedback about the envelope; None: no Feedback is sent."""
    if not is_due(envelope.subject, envelope.sender):
        return None
    return FeedbackRequest(
        envelope.receiver, envelope.sender, envelope.correlation, envelope.claimed_hash, envelope.dialect
    )


def discard_notification(
    row: RowKey, reason: Reason, feedback_request: FeedbackRequest, since_ms: int
) -> DiscardNotification:
    """The queue message about a discard."""
    return DiscardNotification(
        row,
        reason,
        feedback_request.receiver,
        feedback_request.sender,
        feedback_request.correlation,
        feedback_request.digest,
        feedback_request.dialect,
        since_ms,
    )


def _count(members: Members, name: str) -> int:
    """Messages of the previous release do not have these counts."""
    return members.whole(name) if name in members else 0


def _dialect(members: Members) -> Dialect:
    authority = members.text("dialect")
    if authority not in _DIALECTS:
        raise ValueError(f"dialect must be one of {', '.join(_DIALECTS)}")
    return _DIALECTS[authority]
