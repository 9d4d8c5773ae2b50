"""Making a message, signed by its sender (dm3 §2.2.2)."""

from collections.abc import Mapping, Sequence

from postroom.core.canonical import NotCanonicalError
from postroom.core.ijson import JsonValue
from postroom.protocols.dm3.dialect import sign_struct
from postroom.protocols.dm3.keys import PrivateSigningKey
from postroom.protocols.dm3.message import Attachment, Dm3Message, MessageMetadata, not_canonical, unsigned_members


def sign_message(
    message: str | None,
    metadata: MessageMetadata,
    key: PrivateSigningKey,
    *,
    attachments: Sequence[Attachment] | None = None,
    extra: Mapping[str, JsonValue] | None = None,
) -> Dm3Message:
    """Make a message, signed by its sender. Raises TheirError(MESSAGE_INVALID)."""
    enclosed = None if attachments is None else tuple(attachments)
    try:
        signature = sign_struct(unsigned_members(message, metadata, enclosed, extra or {}), key)
    except NotCanonicalError as error:
        raise not_canonical(error) from None
    return Dm3Message(message, metadata, signature, enclosed, extra or {})
