"""The check of a message's signature (dm3 §2.2.2)."""

from postroom.core.errors import TheirError
from postroom.protocols.dm3.dialect import verify_struct
from postroom.protocols.dm3.keys import PublicSigningKey
from postroom.protocols.dm3.message import Dm3Message
from postroom.protocols.dm3.reasons import SENDER_SIGNATURE_INVALID


def check_message(message: Dm3Message, key: PublicSigningKey) -> None:
    """Raises TheirError(SENDER_SIGNATURE_INVALID) if it is not signed by the key of its sender's profile."""
    if not verify_struct(message.unsigned(), message.signature, key):
        raise TheirError(SENDER_SIGNATURE_INVALID, "the message's signature is not by the sender's key")
