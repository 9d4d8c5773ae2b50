"""The check of an NLWeb message's sender: its key, the signature, and whether the owner blocks it."""

from dataclasses import dataclass

from postroom.core.errors import TheirError
from postroom.core.reasons import SENDER_NOT_WANTED
from postroom.crypto.rsa_ed25519 import KeyRules, PublicKey, public_key_from_spki
from postroom.pipeline.ports import DeploymentRules, SenderKey, SenderKeys
from postroom.protocols.nlweb.blocks import is_blocked
from postroom.protocols.nlweb.envelope import NlwebEnvelope
from postroom.protocols.nlweb.reasons import WALLET_UNKNOWN
from postroom.protocols.nlweb.verify import check_signature


@dataclass(frozen=True, slots=True)
class SignatureProof:
    """The key that verified a signature, and how the key was proven."""

    key: PublicKey
    evidence: object
    refetched: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SenderCheck:
    """Checks senders. Has no side effects."""

    keys: SenderKeys
    directory: DeploymentRules
    key_rules: KeyRules

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
                raise TheirError(SENDER_NOT_WANTED, f"{name} blocks {envelope.sender}")

    def _refetched(self, name: str, found: SenderKey) -> SenderKey | None:
        """The key as it is published now, if it differs from the cached one."""
        if not found.cached:
            return None
        again = self.keys.find(name, fresh=True)
        return None if again.key.fingerprint == found.key.fingerprint else again

    def _wallet_key(self, uuid: str) -> PublicKey:
        spki = self.directory.wallet(uuid)
        if spki is None:
            raise TheirError(WALLET_UNKNOWN, uuid)
        return public_key_from_spki(spki, self.key_rules)
