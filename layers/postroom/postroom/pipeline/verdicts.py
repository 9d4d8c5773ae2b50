"""Verdicts on claims, in the same terms for every protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from postroom.core.reason import Reason
from postroom.outbound.discards import FeedbackRequest
from postroom.pipeline.claims import Claim
from postroom.storage.outbox import Reported


@dataclass(frozen=True, slots=True)
class MessageIdentity:
    """Who a message is, for `seen` (store protocol, Layout): `digest` is None where the key says all.

    `forget_at`: epoch seconds.
    """

    seen_key: str
    digest: str | None
    forget_at: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message is good. `text`: what its owner gets. `receipt`: how that was found out.

    `shelf`: stands for the conversation in objects, where its name must not stand in them; empty: it may.
    `forward_to`: the ARN it is handed on to instead of being filed; empty: it is filed. `correlation`: for logs.
    `telling`: who would be told, should the message's home turn out to be discarded; None: nobody. `reported`: what it
    says, being a Feedback, of a message of one of our domains.
    """

    identity: MessageIdentity
    conversation: str
    text: str
    receipt: Mapping[str, object]
    shelf: str = ""
    forward_to: str = ""
    correlation: str = ""
    telling: FeedbackRequest | None = None
    reported: Reported | None = None


@dataclass(frozen=True, slots=True)
class Discarded:
    """The message is not good, for good. `telling`: who is told; None: nobody, or it cannot even be read."""

    reason: Reason
    detail: str = ""
    correlation: str = ""
    telling: FeedbackRequest | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """It could not be found out now."""

    reason: Reason
    detail: str


Verdict = Accepted | Discarded | Retry


class Judge(Protocol):
    """Judges the claims of one protocol; changes nothing anywhere."""

    def judge(self, claim: Claim) -> Verdict:
        """The verdict on a claim."""
        ...


def given_up(claim: Claim, reason: Reason) -> Discarded:
    """The discard of a claim that was not judged, and whoever can be told of it."""
    correlation, telling = claim.details.told_of_discard(claim.envelope)
    return Discarded(reason, "", correlation, telling)
