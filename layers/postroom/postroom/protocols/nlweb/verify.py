"""The verification of an envelope, from values alone: bytes, a key, a clock."""

from collections.abc import Callable

from postroom.core.errors import TheirError
from postroom.crypto.rsa_ed25519 import PublicKey
from postroom.protocols.nlweb.envelope import NlwebEnvelope, check_hash, check_receiver
from postroom.protocols.nlweb.reasons import SIGNATURE_INVALID
from postroom.protocols.nlweb.timestamp import TimestampWindow


def check_before_lookup(
    envelope: NlwebEnvelope, *, is_ours: Callable[[str], bool], received_at_ms: int, window: TimestampWindow
) -> None:
    """All checks of a message that need no look-up, after its shape, in the order of decision "Answers".

    Raises TheirError with a reason of kind refusal.
    """
    check_receiver(envelope, is_ours)
    window.check(envelope.timestamp_ms, received_at_ms)
    check_hash(envelope.claimed_hash, envelope.digest)


def check_signature(envelope: NlwebEnvelope, key: PublicKey) -> None:
    """Verify the signature. Raises TheirError(SIGNATURE_INVALID)."""
    if not key.verify(envelope.signature, envelope.signed_text, envelope.digest):
        # No name: a synchronous request is answered with it, and answers repeat nothing of the sender's.
        raise TheirError(SIGNATURE_INVALID, f"not by the sender's {key.algorithm} key {key.fingerprint}")
