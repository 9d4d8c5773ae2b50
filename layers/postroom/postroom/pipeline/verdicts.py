"""Verdicts on claims, in the same terms for every protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from postroom.core.reason import Reason
from postroom.outbound.discard_messages import FeedbackRequest
from postroom.pipeline.claims import Claim
from postroom.pipeline.silence import Silence
from postroom.storage.mail.outbox import Reported


@dataclass(frozen=True, slots=True)
class MessageIdentity:
    """The identity of a message, for `seen` (store protocol, Layout). `digest` is None if the key alone identifies it.

    `forget_at`: epoch seconds.
    """

    seen_key: str
    digest: str | None
    forget_at: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message is good. `text`: what the owner receives. `receipt`: how the message was verified.

    `conversation_alias`: names the conversation in objects, if its own name must not be in them; empty: it may.
    `forward_to`: the ARN that the message is forwarded to; empty: it is filed. `correlation`: for logs.
    `feedback_request`: whom to send Feedback to, if the message's home turns out to be discarded; None: nobody.
    `reported`: for Feedback, what it reports about a message of one of our domains.
    """

    identity: MessageIdentity
    conversation: str
    text: str
    receipt: Mapping[str, object]
    conversation_alias: str = ""
    forward_to: str = ""
    correlation: str = ""
    feedback_request: FeedbackRequest | None = None
    reported: Reported | None = None


@dataclass(frozen=True, slots=True)
class Discarded:
    """The message is rejected for good. `feedback_request`: whom to send Feedback to; None: nobody, or unreadable."""

    reason: Reason
    detail: str = ""
    correlation: str = ""
    feedback_request: FeedbackRequest | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """The message cannot be judged now. `silence`: the silent zone that it waits for; None: it is tried again soon."""

    reason: Reason
    detail: str
    silence: Silence | None = None


Verdict = Accepted | Discarded | Retry


class Judge(Protocol):
    """Judges the claims of one protocol. Has no side effects."""

    def judge(self, claim: Claim) -> Verdict:
        """The verdict on a claim."""
        ...


def given_up(claim: Claim, reason: Reason, detail: str) -> Discarded:
    """The discard of a claim that was never judged, with the Feedback that can be sent about it."""
    correlation, feedback_request = claim.details.correlation_and_feedback(claim.envelope)
    return Discarded(reason, detail, correlation, feedback_request)
