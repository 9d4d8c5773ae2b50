"""The judge of dm3 messages: the checks that the inbox could not do, and the postmark."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from postroom.core.errors import NotNowError, OurError, TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.core.reason import Reason
from postroom.core.reasons import SIGNING_KEY_UNAVAILABLE, TOO_LATE
from postroom.core.timestamps import write_timestamp
from postroom.names.registrable_domains import registrable_domain
from postroom.outbound.ports import Clock
from postroom.pipeline.claim_details import Dm3Details
from postroom.pipeline.claims import Claim
from postroom.pipeline.look_ups import LookUps
from postroom.pipeline.ports import ProfileSource, ServiceKeySource
from postroom.pipeline.retention_periods import RetentionPeriods
from postroom.pipeline.verdicts import Accepted, MessageIdentity, Retry, Verdict, given_up
from postroom.protocols.dm3.envelope import (
    DeliveryInformation,
    Dm3Envelope,
    check_envelope,
    message_hash,
    open_delivery,
    read_submitted,
)
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.postmark import make_postmark
from postroom.protocols.dm3.reasons import SEALED_VALUE_INVALID
from postroom.storage.layout import conversation_alias, seen_key_dm3


def open_for_us(envelope: Dm3Envelope, keys: ServiceKeySource) -> DeliveryInformation:
    """Open the delivery information. If no cached key opens it, the keys are read again: a new key may not be cached
    yet.

    Raises TheirError (SEALED_VALUE_INVALID, ENVELOPE_INVALID) or NotNowError(SIGNING_KEY_UNAVAILABLE).
    """
    known = keys.get()
    try:
        return open_delivery(envelope, known.encryption)
    except TheirError as error:
        if error.reason != SEALED_VALUE_INVALID:
            raise
        now = keys.get(fresh=True)
        if now.encryption == known.encryption:
            raise
        return open_delivery(envelope, now.encryption)


@dataclass(frozen=True, slots=True)
class _Proof:
    """The key that verified the sender's signature, and how its profile was found; or the reason why none did.

    `evidence` None: the inbox of the release before verified it.
    """

    fingerprint: str = ""
    evidence: "Mapping[str, JsonValue] | None" = None
    reason: Reason | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dm3Judge:
    """Judges claims of dm3 messages. Has no side effects.

    `unverified_seconds`: how long the lookup of an unavailable sender's profile is retried, before the message is filed
    as unverified (its mailbox accepts unverified senders).
    """

    keys: ServiceKeySource
    profiles: ProfileSource
    look_ups: LookUps
    clock: Clock
    times: RetentionPeriods
    unverified_seconds: int

    def judge(self, claim: Claim) -> Verdict:
        """Accepted with a postmark, or Retry while keys or a profile are unavailable. Raises LookUpNeededError."""
        if self.times.is_past_horizon(claim.received_at_ms, self.clock()):
            return given_up(claim, TOO_LATE, f"received at {write_timestamp(claim.received_at_ms)}")
        details = claim.details
        assert isinstance(details, Dm3Details)  # noqa: S101 - claims of others are for other judges
        try:
            keys = self.keys.get()
            data = claim.envelope.encode()
            value = parse(data, max_bytes=len(data))
            envelope = read_submitted(value)
            delivery = open_for_us(envelope, self.keys)
            sender = normalize(delivery.sender)
            proof = _Proof(details.sender_key, details.evidence)
            if not proof.fingerprint:
                proof = self._prove(claim, envelope, sender)
        except TheirError as error:
            if error.reason == SEALED_VALUE_INVALID:
                # The inbox opened it, so its key is newer than those we know, or was removed too early.
                return Retry(SIGNING_KEY_UNAVAILABLE, error.detail)
            raise OurError(f"claim {claim.id} is refused by the worker: {error.reason}") from error
        except NotNowError as error:
            return Retry(error.reason, error.detail)
        postmark = make_postmark(envelope.message, delivery, claim.received_at_ms, keys.signing, details.receiver_key)
        return self._accept(claim, _with_postmark(value, postmark), message_hash(envelope), sender, proof)

    def _prove(self, claim: Claim, envelope: Dm3Envelope, sender: str) -> _Proof:
        # A look-up of a profile does not end with a pass.
        self.look_ups.check_unlimited()
        try:
            with self.look_ups.of(registrable_domain(sender), whatever_fails=True):
                found = self.profiles.find_user(sender)
            key = found.profile.signing_key
            check_envelope(envelope, key)
        except TheirError as error:
            return _Proof(reason=error.reason)
        except NotNowError as error:
            if self.clock() * 1000 - claim.received_at_ms < self.unverified_seconds * 1000:
                raise
            return _Proof(reason=error.reason)
        return _Proof(key.fingerprint, found.evidence)

    def _accept(
        self,
        claim: Claim,
        text: str,
        digest: str,
        sender: str,
        proof: _Proof,
    ) -> Accepted:
        return Accepted(
            identity=MessageIdentity(
                seen_key_dm3(claim.mailbox, sender, digest, verified=proof.reason is None),
                None,
                claim.received_at_ms // 1000 + self.times.retain_seconds,
            ),
            conversation=sender,
            # Objects contain no names of partners; only the index does.
            conversation_alias=conversation_alias(claim.mailbox, sender),
            text=text,
            receipt=self._receipt(claim, proof, digest),
        )

    def _receipt(self, claim: Claim, proof: _Proof, digest: str) -> Mapping[str, object]:
        return {
            "claim": claim.id,
            "received_at_ms": claim.received_at_ms,
            "verified_at_ms": int(self.clock() * 1000),
            "protocol": claim.protocol,
            "source": claim.source,
            "message_hash": digest,
            "key_fingerprint": proof.fingerprint or None,
            "evidence": proof.evidence,
            "unverified": str(proof.reason) if proof.reason else None,
        }


def _with_postmark(value: JsonValue, postmark: str) -> str:
    """The envelope as it came, with every number as it was written: the canonical text of some numbers cannot be read
    again."""
    assert isinstance(value, dict)  # noqa: S101 - an envelope was read from it
    return orjson.dumps({**value, "postmark": postmark}).decode()
