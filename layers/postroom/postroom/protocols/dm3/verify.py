"""The check of a message's signature (dm3 §2.2.2)."""

from postroom.protocols.dm3.dialect import verify_struct, wrong_signature
from postroom.protocols.dm3.keys import PublicSigningKey
from postroom.protocols.dm3.message import Dm3Message


def check_message(message: Dm3Message, key: PublicSigningKey) -> None:
    """Raises TheirError(SENDER_SIGNATURE_INVALID) if it is not signed by the key of its sender's profile."""
    if not verify_struct(message.unsigned(), message.signature, key):
        raise wrong_signature("the message's signature", message.signature, key)
