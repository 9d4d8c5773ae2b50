"""Postmarks: a delivery service certifies when it received a message, from whom, for whom (dm3 §2.2.8)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from postroom.core.canonical import NotCanonicalError, stringify
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.dialect import (
    REFERENCE_TIMESTAMP_MEMBER,
    TIMESTAMP_MEMBER,
    postmark_hash,
    reference_postmark_hash,
    sign_postmark,
    verify_postmark,
)
from postroom.protocols.dm3.envelope import DeliveryInformation, Dm3Envelope, read_delivery
from postroom.protocols.dm3.keys import PrivateSigningKey, PublicSigningKey
from postroom.protocols.dm3.members import check_text, check_timestamp, members_of, take
from postroom.protocols.dm3.reasons import ENVELOPE_INVALID, POSTMARK_INVALID
from postroom.protocols.dm3.sealing import seal

_INVALID: Final = POSTMARK_INVALID


@dataclass(frozen=True, slots=True)
class Postmark:
    """An opened postmark. `check_postmark` checks it. Raises TheirError(POSTMARK_INVALID).

    `incoming_timestamp_ms`: epoch milliseconds. `delivery`: None in the form of the reference (decision "Postmarks"),
    in which `is_reference` is true: that form also has another hash, and another name for the timestamp.
    """

    message_hash: str
    incoming_timestamp_ms: int
    delivery: DeliveryInformation | None
    signature: str
    is_reference: bool = False
    extra: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the form."""
        check_text(self.message_hash, "messageHash", _INVALID)
        check_timestamp(self.incoming_timestamp_ms, self.timestamp_member, _INVALID)
        check_text(self.signature, "signature", _INVALID)
        if self.delivery is None and not self.is_reference:
            raise TheirError(_INVALID, "deliveryInformation is missing")
        if self.delivery is not None and not isinstance(self.delivery, DeliveryInformation):
            raise TheirError(_INVALID, "deliveryInformation must be a DeliveryInformation")

    @property
    def timestamp_member(self) -> str:
        """The name of the timestamp in this postmark."""
        return REFERENCE_TIMESTAMP_MEMBER if self.is_reference else TIMESTAMP_MEMBER

    def unsigned(self) -> dict[str, JsonValue]:
        """The signed members: all but the signature."""
        members: dict[str, JsonValue] = {
            **self.extra,
            "messageHash": self.message_hash,
            self.timestamp_member: self.incoming_timestamp_ms,
        }
        if self.delivery is not None:
            members["deliveryInformation"] = self.delivery.as_json()
        return members

    def as_json(self) -> dict[str, JsonValue]:
        """The postmark as it is encrypted."""
        return {**self.unsigned(), "signature": self.signature}


def make_postmark(
    sealed_message: str,
    delivery: DeliveryInformation,
    received_at_ms: int,
    signing: PrivateSigningKey,
    receiver_key: bytes,
    *,
    ephemeral: EncryptionKey | None = None,
    nonce: bytes | None = None,
) -> str:
    """The postmark for an envelope's message, in the form of the text, encrypted to the receiver.

    `delivery`: as opened, from `read_delivery`. `received_at_ms`: epoch milliseconds. `receiver_key`: a public
    encryption key of 32 bytes. `ephemeral`, `nonce`: fixed in tests, as for `seal`. Raises TheirError(PROFILE_INVALID)
    if that key cannot be encrypted to.
    """
    members: dict[str, JsonValue] = {
        "messageHash": postmark_hash(sealed_message),
        TIMESTAMP_MEMBER: received_at_ms,
        "deliveryInformation": delivery.as_json(),
    }
    members["signature"] = sign_postmark(members, signing)
    return seal(stringify(members), receiver_key, ephemeral=ephemeral, nonce=nonce)


def check_certifiable(delivery: DeliveryInformation) -> None:
    """Check that a postmark with a copy of this delivery information can be read again by its receiver.

    It is nested one level deeper there. Raises TheirError(ENVELOPE_INVALID).
    """
    try:
        text = stringify({"deliveryInformation": delivery.as_json()})
        parse(text, max_bytes=len(text))
    except (NotCanonicalError, TheirError):
        raise TheirError(ENVELOPE_INVALID, "deliveryInformation nests too deeply") from None


def read_postmark(text: bytes) -> Postmark:
    """The postmark in a decrypted value, in the form of the text or of the reference.

    Raises TheirError(POSTMARK_INVALID).
    """
    try:
        value = parse(text, max_bytes=len(text))
    except TheirError as error:
        raise TheirError(_INVALID, error.detail) from None
    return read_parsed_postmark(value)


def read_parsed_postmark(value: JsonValue) -> Postmark:
    """The postmark in a parsed value. Raises TheirError(POSTMARK_INVALID)."""
    members = members_of(value, "the postmark", _INVALID)
    is_reference = REFERENCE_TIMESTAMP_MEMBER in members
    try:
        delivery = take(members, "deliveryInformation", _INVALID)
        delivery = None if delivery is None else read_delivery(delivery)
    except TheirError as error:
        raise TheirError(_INVALID, error.detail) from None
    return Postmark(
        message_hash=take(members, "messageHash", _INVALID),
        incoming_timestamp_ms=take(members, REFERENCE_TIMESTAMP_MEMBER if is_reference else TIMESTAMP_MEMBER, _INVALID),
        delivery=delivery,
        signature=take(members, "signature", _INVALID),
        is_reference=is_reference,
        extra=members,
    )


def check_postmark(postmark: Postmark, envelope: Dm3Envelope, key: PublicSigningKey) -> None:
    """Check that the postmark is signed by the delivery service and belongs to this envelope.

    The receiver compares its delivery information with the message's metadata, because names are equal if they are
    equal after normalisation. Raises TheirError(POSTMARK_INVALID).
    """
    if not is_signed_by(postmark, key):
        raise TheirError(_INVALID, "the postmark's signature is not by the delivery service's key")
    check_postmark_hash(postmark, envelope)


def is_signed_by(postmark: Postmark, key: PublicSigningKey) -> bool:
    """Whether the postmark is signed by this key."""
    return verify_postmark(postmark.unsigned(), postmark.signature, key)


def expected_hash(postmark: Postmark, envelope: Dm3Envelope) -> str:
    """The hash in a postmark of this form for this envelope's message."""
    return (reference_postmark_hash if postmark.is_reference else postmark_hash)(envelope.message)


def check_postmark_hash(postmark: Postmark, envelope: Dm3Envelope) -> None:
    """Check that the postmark belongs to this envelope. Raises TheirError(POSTMARK_INVALID)."""
    if postmark.message_hash != expected_hash(postmark, envelope):
        raise TheirError(_INVALID, "messageHash is not that of the envelope's message")
