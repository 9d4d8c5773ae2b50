"""Messages between users (dm3 §2.2.2 - §2.2.4), and their reader. `sign.py` makes them.

An object keeps exactly the members that it was read from, also unknown ones, because the signature covers them. It
checks itself when it is created.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from postroom.core.canonical import NotCanonicalError, stringify
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.protocols.dm3.dialect import TYPE_ALIASES
from postroom.protocols.dm3.members import check_optional_text, check_text, check_timestamp, members_of, take
from postroom.protocols.dm3.reasons import MESSAGE_INVALID

MAX_MESSAGE_BYTES: Final = 20_000_000 - 1
"""The largest message as it is signed and encrypted: less than 20 MB (dm3 §2.2.4)."""

_INVALID: Final = MESSAGE_INVALID
_SCHEMES: Final = ("data:", "https:", "ipfs:")


class MessageType(StrEnum):
    """The purpose of a message (dm3 §2.2.3)."""

    NEW = "NEW"
    DELETE_REQUEST = "DELETE_REQUEST"
    EDIT = "EDIT"
    REPLY = "REPLY"
    REACTION = "REACTION"
    READ_RECEIPT = "READ_RECEIPT"
    RESEND_REQUEST = "RESEND_REQUEST"


_MEANINGS: Final[dict[str, MessageType]] = {
    **{str(member): member for member in MessageType},
    **{alias: MessageType(meant) for alias, meant in TYPE_ALIASES.items()},
}
NEEDS_REFERENCE: Final = frozenset(
    (
        MessageType.REPLY,
        MessageType.DELETE_REQUEST,
        MessageType.EDIT,
        MessageType.REACTION,
        MessageType.RESEND_REQUEST,
    )
)
NEEDS_NO_TEXT: Final = frozenset((MessageType.READ_RECEIPT, MessageType.DELETE_REQUEST, MessageType.RESEND_REQUEST))


@dataclass(frozen=True, slots=True)
class Attachment:
    """An attachment: a URI (data:, https:, ipfs:) as in the text, or the reference's object {name?, data}.

    See decision "Message types". Raises TheirError(MESSAGE_INVALID).
    """

    data: str
    name: str | None = None
    is_object: bool = False
    extra: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the form."""
        check_text(self.data, "an attachment", _INVALID)
        check_optional_text(self.name, "the name of an attachment", _INVALID)
        if self.is_object:
            return
        if self.name is not None or self.extra:
            raise TheirError(_INVALID, "an attachment that is a URI has no name; one that is an object may have")
        if not self.data[:6].lower().startswith(_SCHEMES):
            raise TheirError(_INVALID, f"an attachment is a URI, but of none of the schemes {', '.join(_SCHEMES)}")

    def as_json(self) -> JsonValue:
        """The attachment as a member of the message."""
        if not self.is_object:
            return self.data
        named: dict[str, JsonValue] = {} if self.name is None else {"name": self.name}
        return {**self.extra, **named, "data": self.data}


@dataclass(frozen=True, slots=True)
class MessageMetadata:
    """The sender, receiver, time and purpose of a message (dm3 §2.2.3). Raises TheirError(MESSAGE_INVALID).

    `to`, `sender`: names as received, not normalised. `timestamp_ms`: epoch milliseconds. `type_name`: the type as
    received, which may be an alias, or one that is not interpreted here; `type` is its meaning.
    """

    to: str
    sender: str
    timestamp_ms: int
    type_name: str = MessageType.NEW
    reference_message_hash: str | None = None
    reply_delivery_instruction: str | None = None
    extra: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the form."""
        check_text(self.to, "metadata.to", _INVALID)
        check_text(self.sender, "metadata.from", _INVALID)
        check_timestamp(self.timestamp_ms, "metadata.timestamp", _INVALID)
        check_text(self.type_name, "metadata.type", _INVALID)
        check_optional_text(self.reference_message_hash, "metadata.referenceMessageHash", _INVALID)
        check_optional_text(self.reply_delivery_instruction, "metadata.replyDeliveryInstruction", _INVALID)
        if self.type in NEEDS_REFERENCE and not self.reference_message_hash:
            raise TheirError(_INVALID, f"a message of type {self.type} needs metadata.referenceMessageHash")

    @property
    def type(self) -> MessageType:
        """The type, whatever its name was. A type that is not interpreted here is that of a new message."""
        return _MEANINGS.get(self.type_name, MessageType.NEW)

    def as_json(self) -> dict[str, JsonValue]:
        """The metadata as members of the message."""
        members: dict[str, JsonValue] = {
            **self.extra,
            "to": self.to,
            "from": self.sender,
            "timestamp": self.timestamp_ms,
            "type": str(self.type_name),
        }
        if self.reference_message_hash is not None:
            members["referenceMessageHash"] = self.reference_message_hash
        if self.reply_delivery_instruction is not None:
            members["replyDeliveryInstruction"] = self.reply_delivery_instruction
        return members


@dataclass(frozen=True, slots=True)
class Dm3Message:
    """A signed message (dm3 §2.2.2). `verify.py` checks the signature.

    `message`: the text, UTF-8 or Markdown; None if the type needs none. `attachments`: None if the member is absent.
    Raises TheirError(MESSAGE_INVALID), also if the whole message has 20 MB or more.
    """

    message: str | None
    metadata: MessageMetadata
    signature: str
    attachments: tuple[Attachment, ...] | None = None
    extra: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the form."""
        if not isinstance(self.metadata, MessageMetadata):
            raise TheirError(_INVALID, "metadata must be a MessageMetadata")
        needs_text = self.metadata.type not in NEEDS_NO_TEXT and self.metadata.type_name in _MEANINGS
        if self.message is not None or needs_text:
            check_text(self.message, "message", _INVALID, empty=True)
        check_text(self.signature, "signature", _INVALID)
        if self.attachments is not None and not (
            isinstance(self.attachments, tuple) and all(isinstance(one, Attachment) for one in self.attachments)
        ):
            raise TheirError(_INVALID, "attachments must be a tuple of Attachment")
        size = len(self.encode())
        if size > MAX_MESSAGE_BYTES:
            raise TheirError(_INVALID, f"the message takes {size} bytes; it must be less than 20 MB")

    def unsigned(self) -> dict[str, JsonValue]:
        """The signed members: all but the signature."""
        return unsigned_members(self.message, self.metadata, self.attachments, self.extra)

    def as_json(self) -> dict[str, JsonValue]:
        """The message as it is encrypted."""
        return {**self.unsigned(), "signature": self.signature}

    def encode(self) -> bytes:
        """The text that is encrypted: `stringify` of the message, in UTF-8."""
        try:
            return stringify(self.as_json())
        except NotCanonicalError as error:
            raise not_canonical(error) from None


def read_message(value: JsonValue) -> Dm3Message:
    """The message in a decrypted and parsed value. Raises TheirError(MESSAGE_INVALID)."""
    members = members_of(value, "the message", _INVALID)
    metadata = members_of(members.pop("metadata", None), "metadata", _INVALID)
    attachments = take(members, "attachments", _INVALID)
    if attachments is not None and not isinstance(attachments, list):
        raise TheirError(_INVALID, "attachments is not an array")
    return Dm3Message(
        message=take(members, "message", _INVALID),
        metadata=MessageMetadata(
            to=take(metadata, "to", _INVALID),
            sender=take(metadata, "from", _INVALID),
            timestamp_ms=take(metadata, "timestamp", _INVALID),
            type_name=take(metadata, "type", _INVALID),
            reference_message_hash=take(metadata, "referenceMessageHash", _INVALID),
            reply_delivery_instruction=take(metadata, "replyDeliveryInstruction", _INVALID),
            extra=metadata,
        ),
        signature=take(members, "signature", _INVALID),
        attachments=None if attachments is None else tuple(map(_read_attachment, attachments)),
        extra=members,
    )


def unsigned_members(
    message: str | None,
    metadata: MessageMetadata,
    attachments: tuple[Attachment, ...] | None,
    extra: Mapping[str, JsonValue],
) -> dict[str, JsonValue]:
    """The members that a message's signature covers."""
    members: dict[str, JsonValue] = {**extra, "metadata": metadata.as_json()}
    if message is not None:
        members["message"] = message
    if attachments is not None:
        members["attachments"] = [attachment.as_json() for attachment in attachments]
    return members


def _read_attachment(value: JsonValue) -> Attachment:
    if isinstance(value, str):
        return Attachment(value)
    members = members_of(value, "an attachment", _INVALID)
    return Attachment(take(members, "data", _INVALID), take(members, "name", _INVALID), True, members)


def not_canonical(error: NotCanonicalError) -> TheirError:
    """The refusal of a message that has no canonical text."""
    return TheirError(_INVALID, f"the message has no text that could be signed: {error}")
