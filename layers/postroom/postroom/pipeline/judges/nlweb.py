"""The judge of NLWeb messages: the sender's key, the signature, the subject."""

from dataclasses import dataclass

from postroom.core.errors import NotNowError, OurError, TheirError
from postroom.core.ijson import parse
from postroom.core.reason import Kind, Reason
from postroom.core.reasons import SENDER_NOT_WANTED, TOO_LATE
from postroom.crypto.rsa_ed25519 import KeyRules, PublicKey, public_key_from_spki
from postroom.outbound.discard_messages import feedback_request_of
from postroom.outbound.ports import Clock
from postroom.pipeline.claim_details import NlwebDetails
from postroom.pipeline.claims import Claim
from postroom.pipeline.ports import DeploymentRules, SenderKey, SenderKeys
from postroom.pipeline.retention_periods import RetentionPeriods
from postroom.pipeline.silent_zones import ZoneSilentError
from postroom.pipeline.verdicts import Accepted, Discarded, MessageIdentity, Retry, Verdict
from postroom.protocols.nlweb.blocks import is_blocked
from postroom.protocols.nlweb.envelope import NlwebEnvelope, read_envelope
from postroom.protocols.nlweb.feedback import conversation_about, read_feedback
from postroom.protocols.nlweb.reasons import FEEDBACK_NOT_KEPT, UNEXPECTED_SUBJECT, WALLET_UNKNOWN
from postroom.protocols.nlweb.subjects import SubjectRule, Treatment
from postroom.protocols.nlweb.verify import check_signature
from postroom.storage.layout import seen_key_nlweb
from postroom.storage.mail.outbox import Reported


@dataclass(frozen=True, slots=True)
class SignatureProof:
    """The key that verified a signature, and how the key was proven."""

    key: PublicKey
    evidence: object
    refetched: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NlwebJudge:
    """Judges claims of NLWeb messages. Has no side effects."""

    keys: SenderKeys
    directory: DeploymentRules
    clock: Clock
    key_rules: KeyRules
    times: RetentionPeriods

    def judge(self, claim: Claim) -> Verdict:
        """The verdict on a claim. The inbox has compared the time window with its own clock already."""
        envelope: NlwebEnvelope | None = None
        try:
            data = claim.envelope.encode()
            envelope = read_envelope(parse(data, max_bytes=len(data)))
            if self.times.is_past_horizon(claim.received_at_ms, self.clock()):
                return _discarded(envelope, TOO_LATE)
            proof = self.prove(envelope)
            self.admit(envelope, claim.mailbox)
            rule = self._rule(claim, envelope)
            return Accepted(
                identity=self._identity(envelope),
                conversation=conversation_of(envelope, rule),
                text=claim.envelope,
                receipt=self._receipt(claim, envelope, proof),
                forward_to=rule.target if rule.treatment is Treatment.FORWARD else "",
                correlation=envelope.correlation,
                feedback_request=feedback_request_of(envelope),
                reported=_reported(claim, envelope, rule),
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

    def prove(self, envelope: NlwebEnvelope) -> SignatureProof:
        """Verify the signature with the sender's key. If a cached key fails, the key is fetched again and tried once
        more.

        Raises TheirError (a discard) or NotNowError (KEY_LOOKUP_FAILED, DNSSEC_TOO_COSTLY).
        """
        name = envelope.key_name
        if name is None:
            key = self._wallet_key(envelope.sender)
            check_signature(envelope, key)
            return SignatureProof(key, "pre-shared", refetched=False)
        found = self.keys.find(name)
        try:
            check_signature(envelope, found.key)
        except TheirError:
            again = self._refetched(name, found)
            if again is None:
                raise
            check_signature(envelope, again.key)
            return SignatureProof(again.key, again.evidence, refetched=True)
        return SignatureProof(found.key, found.evidence, refetched=False)

    def admit(self, envelope: NlwebEnvelope, mailbox: str) -> None:
        """Admit a proven sender, unless the owner of the receiving domain or of the mailbox blocks it.

        Raises TheirError(SENDER_NOT_WANTED) or NotNowError(STORE_UNAVAILABLE).
        """
        for name in (envelope.receiver, mailbox):
            if is_blocked(envelope.sender, self.directory.mailbox(name).blocks):
                raise TheirError(SENDER_NOT_WANTED)

    def _refetched(self, name: str, found: SenderKey) -> SenderKey | None:
        """The key as it is published now, if it differs from the cached one."""
        if not found.cached:
            return None
        again = self.keys.find(name, fresh=True)
        return None if again.key.fingerprint == found.key.fingerprint else again

    def _wallet_key(self, uuid: str) -> PublicKey:
        spki = self.directory.wallet(uuid)
        if spki is None:
            raise TheirError(WALLET_UNKNOWN)
        return public_key_from_spki(spki, self.key_rules)

    def _rule(self, claim: Claim, envelope: NlwebEnvelope) -> SubjectRule:
        assert isinstance(claim.details, NlwebDetails)  # noqa: S101 - claims of others are for other judges
        rule = claim.details.rule
        if rule is None:
            raise TheirError(UNEXPECTED_SUBJECT)
        if rule.treatment is Treatment.FEEDBACK:
            about = self.directory.domain(read_feedback(envelope.body).sender)
            if about is None or not about.buffer:
                raise TheirError(FEEDBACK_NOT_KEPT)
        return rule

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


def conversation_of(envelope: NlwebEnvelope, rule: SubjectRule) -> str:
    """The conversation of a filed message: with its sender, or, for Feedback, about the message that it reports on."""
    if rule.treatment is Treatment.FEEDBACK:
        return conversation_about(read_feedback(envelope.body).correlation)
    return envelope.sender


def _reported(claim: Claim, envelope: NlwebEnvelope, rule: SubjectRule) -> Reported | None:
    if rule.treatment is not Treatment.FEEDBACK:
        return None
    about = read_feedback(envelope.body)
    if about.correlation is None:
        return None
    return Reported(about.sender, about.correlation, envelope.sender, about.code, about.reason, claim.received_at_ms)


def _discarded(envelope: NlwebEnvelope | None, reason: Reason, detail: str = "") -> Discarded:
    if envelope is None:
        return Discarded(reason, detail)
    return Discarded(reason, detail, envelope.correlation, feedback_request_of(envelope))
