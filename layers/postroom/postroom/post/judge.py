"""Claim → Verdict: the sender's key, the signature, the subject. The only place where a message is found good."""

from collections.abc import Mapping
from dataclasses import dataclass

from postroom.errors import NotNowError, OurError, TheirError
from postroom.ijson import parse
from postroom.nlweb.envelope import Envelope, read_envelope
from postroom.nlweb.feedback import conversation_about, read_feedback
from postroom.nlweb.keys import KeyRules, PublicKey, public_key_from_spki
from postroom.nlweb.subjects import SubjectRule, Treatment
from postroom.nlweb.verify import check_signature
from postroom.post.claims import Claim
from postroom.post.ports import Clock, Directory, SenderKey, SenderKeys
from postroom.post.times import Times
from postroom.reasons import Kind, Reason


@dataclass(frozen=True, slots=True)
class Accepted:
    """The message is good. `rule`: what is to be done with it. `receipt`: how that was found out."""

    envelope: Envelope
    rule: SubjectRule
    conversation: str
    receipt: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Discarded:
    """The message is not good, for good. `envelope` is None where it cannot even be read."""

    reason: Reason
    detail: str
    envelope: Envelope | None


@dataclass(frozen=True, slots=True)
class Retry:
    """It could not be found out now."""

    reason: Reason
    detail: str


Verdict = Accepted | Discarded | Retry


@dataclass(frozen=True, slots=True)
class Proof:
    """By which key a signature held."""

    key: PublicKey
    evidence: object
    refetched: bool


class Judge:
    """Judges claims; changes nothing anywhere."""

    def __init__(
        self,
        *,
        keys: SenderKeys,
        directory: Directory,
        clock: Clock,
        key_rules: KeyRules,
        times: Times,
    ) -> None:
        self._keys = keys
        self._directory = directory
        self._clock = clock
        self._key_rules = key_rules
        self._times = times

    def judge(self, claim: Claim) -> Verdict:
        """The verdict on a claim. Time windows were compared with the door's clock, at the door."""
        envelope: Envelope | None = None
        try:
            data = claim.envelope.encode()
            envelope = read_envelope(parse(data, max_bytes=len(data)))
            if self._times.is_past_horizon(claim.received_at_ms, self._clock()):
                return Discarded(Reason.TOO_LATE, "", envelope)
            proof = self.prove(envelope)
            rule = self._rule(claim, envelope)
            return Accepted(envelope, rule, conversation_of(envelope, rule), self._receipt(claim, envelope, proof))
        except TheirError as error:
            if error.reason.kind is Kind.REFUSAL:
                # The door took it in: that we cannot read it now is our fault, not its sender's.
                raise OurError(f"claim {claim.id} is refused by the worker: {error.reason}") from error
            return Discarded(error.reason, error.detail, envelope)
        except NotNowError as error:
            return Retry(error.reason, error.detail)

    def prove(self, envelope: Envelope) -> Proof:
        """Verify the signature with the sender's key; a cached key that fails is fetched once more first.

        Raises TheirError (a discard) or NotNowError(KEY_LOOKUP_FAILED).
        """
        name = envelope.key_name
        if name is None:
            key = self._wallet_key(envelope.sender)
            check_signature(envelope, key)
            return Proof(key, "pre-shared", refetched=False)
        found = self._keys.find(name)
        try:
            check_signature(envelope, found.key)
        except TheirError:
            again = self._refetched(name, found)
            if again is None:
                raise
            check_signature(envelope, again.key)
            return Proof(again.key, again.evidence, refetched=True)
        return Proof(found.key, found.evidence, refetched=False)

    def _refetched(self, name: str, found: SenderKey) -> SenderKey | None:
        """The key as it is published now, if that is another than the one in the cache."""
        if not found.cached:
            return None
        again = self._keys.find(name, fresh=True)
        return None if again.key.fingerprint == found.key.fingerprint else again

    def _wallet_key(self, uuid: str) -> PublicKey:
        spki = self._directory.wallet(uuid)
        if spki is None:
            raise TheirError(Reason.WALLET_UNKNOWN)
        return public_key_from_spki(spki, self._key_rules)

    def _rule(self, claim: Claim, envelope: Envelope) -> SubjectRule:
        rule = claim.rule
        if rule is None:
            raise TheirError(Reason.UNEXPECTED_SUBJECT)
        if rule.treatment is Treatment.FEEDBACK:
            about = self._directory.domain(read_feedback(envelope.body).sender)
            if about is None or not about.buffer:
                raise TheirError(Reason.FEEDBACK_NOT_KEPT)
        return rule

    def _receipt(self, claim: Claim, envelope: Envelope, proof: Proof) -> dict[str, object]:
        return {
            "claim": claim.id,
            "received_at_ms": claim.received_at_ms,
            "verified_at_ms": int(self._clock() * 1000),
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


def conversation_of(envelope: Envelope, rule: SubjectRule) -> str:
    """What a filed message belongs to: the talk with its sender; a Feedback: what it is about."""
    if rule.treatment is Treatment.FEEDBACK:
        return conversation_about(read_feedback(envelope.body).correlation)
    return envelope.sender
