"""The judge of NLWeb messages: the sender's key, the signature, the subject."""

from dataclasses import dataclass
from typing import Final

from postroom.core.errors import NotNowError, OurError, TheirError
from postroom.core.ijson import parse
from postroom.core.reason import Kind, Reason
from postroom.core.reasons import TOO_LATE
from postroom.core.timestamps import write_timestamp
from postroom.outbound.discard_messages import feedback_request_of
from postroom.outbound.ports import Clock
from postroom.pipeline.claim_details import NlwebDetails
from postroom.pipeline.claims import Claim
from postroom.pipeline.ports import DeploymentRules, MessagesOfOwners
from postroom.pipeline.retention_periods import RetentionPeriods
from postroom.pipeline.sender_check import SenderCheck, SignatureProof
from postroom.pipeline.silence import ZoneSilentError
from postroom.pipeline.verdicts import Accepted, Discarded, MessageIdentity, Retry, Verdict
from postroom.protocols.nlweb.envelope import NlwebEnvelope, read_envelope
from postroom.protocols.nlweb.feedback import ReceivedFeedback, conversation_about, read_feedback
from postroom.protocols.nlweb.reasons import FEEDBACK_NOT_KEPT, UNEXPECTED_SUBJECT
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.storage.layout import seen_key_nlweb
from postroom.storage.mail.outbox import Reported

_SHOWN: Final = 100
"""Characters of a Subject in a log line."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NlwebJudge:
    """Judges claims of NLWeb messages. Has no side effects."""

    senders: SenderCheck
    directory: DeploymentRules
    sent: MessagesOfOwners
    clock: Clock
    times: RetentionPeriods

    def judge(self, claim: Claim) -> Verdict:
        """The verdict on a claim. The inbox has compared the time window with its own clock already.

        Raises LookUpNeededError.
        """
        envelope: NlwebEnvelope | None = None
        try:
            data = claim.envelope.encode()
            envelope = read_envelope(parse(data, max_bytes=len(data)))
            if self.times.is_past_horizon(claim.received_at_ms, self.clock()):
                return _discarded(envelope, TOO_LATE, f"received at {write_timestamp(claim.received_at_ms)}")
            proof = self.senders.prove(envelope)
            self.senders.admit(envelope, claim.mailbox)
            rule = self._rule(claim, envelope)
            about = read_feedback(envelope.body) if rule.treatment is Treatment.FEEDBACK else None
            reported = self._reported(claim, envelope, about) if about else None
            receipt = self._receipt(claim, envelope, proof)
            if about and not about.sender and not reported:
                receipt["unassigned"] = True
            return Accepted(
                identity=self._identity(envelope),
                conversation=conversation_about(about.correlation) if about else envelope.sender,
                text=claim.envelope,
                receipt=receipt,
                forward_to=rule.target if rule.treatment is Treatment.FORWARD else "",
                correlation=envelope.correlation,
                feedback_request=feedback_request_of(envelope),
                reported=reported,
            )
        except TheirError as error:
            if error.reason.kind is Kind.REFUSAL:
                # The inbox accepted it. If we cannot read it now, that is our fault, not the sender's.
                raise OurError(f"claim {claim.id} is refused by the worker: {error.reason}") from error
            return _discarded(envelope, error.reason, error.detail)
        except ZoneSilentError as error:
            return Retry(error.reason, error.detail, error.silence)
        except NotNowError as error:
            return Retry(error.reason, error.detail)

    def _rule(self, claim: Claim, envelope: NlwebEnvelope) -> SubjectRule:
        assert isinstance(claim.details, NlwebDetails)  # noqa: S101 - claims of others are for other judges
        rule = claim.details.rule
        if rule is None:
            raise TheirError(UNEXPECTED_SUBJECT, f"no rule of {envelope.receiver} is for {envelope.subject[:_SHOWN]}")
        if rule.treatment is Treatment.FEEDBACK:
            kept_for = self.directory.domain(claim.mailbox)
            if kept_for is None or not kept_for.buffer:
                raise TheirError(FEEDBACK_NOT_KEPT, f"{claim.mailbox} has no buffer here")
        return rule

    def _reported(self, claim: Claim, envelope: NlwebEnvelope, about: ReceivedFeedback) -> Reported | None:
        """What a Feedback reports about a message of one of our domains; None: it is about none, or about several."""
        if about.correlation is None:
            return None
        mailbox = about.sender or self.sent.mailbox_of(about.correlation, envelope.sender)
        if mailbox is None:
            return None
        return Reported(mailbox, about.correlation, envelope.sender, about.code, about.reason, claim.received_at_ms)

    def _identity(self, envelope: NlwebEnvelope) -> MessageIdentity:
        return MessageIdentity(
            seen_key_nlweb(envelope.receiver, envelope.sender, envelope.correlation),
            envelope.claimed_hash,
            envelope.timestamp_ms // 1000 + self.times.max_age_seconds + self.times.retain_seconds,
        )

    def _receipt(self, claim: Claim, envelope: NlwebEnvelope, proof: SignatureProof) -> dict[str, object]:
        return {
            "claim": claim.id,
            "received_at_ms": claim.received_at_ms,
            "verified_at_ms": int(self.clock() * 1000),
            "protocol": claim.protocol,
            "dialect": envelope.dialect.schema,
            "source": claim.source,
            "selector": envelope.selector,
            "key_name": envelope.key_name,
            "key_algorithm": proof.key.algorithm,
            "key_fingerprint": proof.key.fingerprint,
            "key_refetched": proof.refetched,
            "evidence": proof.evidence,
        }


def _discarded(envelope: NlwebEnvelope | None, reason: Reason, detail: str = "") -> Discarded:
    if envelope is None:
        return Discarded(reason, detail)
    return Discarded(reason, detail, envelope.correlation, feedback_request_of(envelope))
