"""Envelopes (dm3 §2.2.5 - §2.2.7): an encrypted message, and what a delivery service needs to deliver it.

The metadata keep exactly the members that they were read from, because the sender's signature covers them. An object
checks itself when it is created.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from postroom.core.canonical import NotCanonicalError, stringify
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.core.reason import Reason
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.dialect import (
    ENCRYPTED_MESSAGE_HASH,
    MESSAGE_HASH,
    VERSIONS,
    WRITTEN_VERSION,
    encrypted_message_hash,
    encrypted_message_hash_fits,
    plain_message_hash_fits,
    postmark_hash,
    sign_struct,
    verify_struct,
    wrong_signature,
)
from postroom.protocols.dm3.keys import PrivateSigningKey, PublicSigningKey
from postroom.protocols.dm3.members import check_optional_text, check_text, members_of, take
from postroom.protocols.dm3.message import Dm3Message, read_message
from postroom.protocols.dm3.reasons import (
    ENCRYPTION_SCHEME_UNKNOWN,
    ENVELOPE_INVALID,
    MESSAGE_INVALID,
)
from postroom.protocols.dm3.sealing import SCHEME, open_sealed, seal

_INVALID: Final = ENVELOPE_INVALID


@dataclass(frozen=True, slots=True)
class DeliveryInformation:
    """The sender and the receiver, for the delivery service (dm3 §2.2.7). Raises TheirError(ENVELOPE_INVALID).

    `to`, `sender`: names as received, not normalised.
    """

    to: str
    sender: str
    delivery_instruction: str | None = None
    extra: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the form."""
        check_text(self.to, "deliveryInformation.to", _INVALID)
        check_text(self.sender, "deliveryInformation.from", _INVALID)
        check_optional_text(self.delivery_instruction, "deliveryInformation.deliveryInstruction", _INVALID)

    def as_json(self) -> dict[str, JsonValue]:
        """The delivery information as it is encrypted, and as the postmark copies it."""
        members: dict[str, JsonValue] = {**self.extra, "to": self.to, "from": self.sender}
        if self.delivery_instruction is not None:
            members["deliveryInstruction"] = self.delivery_instruction
        return members


@dataclass(frozen=True, slots=True)
class EnvelopeMetadata:
    """The sender's signed statements about the envelope (dm3 §2.2.6).

    `delivery_information`: encrypted to the delivery service. Raises TheirError: ENCRYPTION_SCHEME_UNKNOWN, otherwise
    ENVELOPE_INVALID.
    """

    version: str
    encryption_scheme: str | None
    delivery_information: str
    signature: str
    extra: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the form."""
        check_text(self.version, "metadata.version", _INVALID)
        if self.version not in VERSIONS:
            raise TheirError(_INVALID, f"metadata.version is none of {', '.join(sorted(VERSIONS))}")
        if self.encryption_scheme is not None:
            check_text(self.encryption_scheme, "metadata.encryptionScheme", _INVALID)
            if self.encryption_scheme != SCHEME:
                raise TheirError(ENCRYPTION_SCHEME_UNKNOWN, f"metadata.encryptionScheme is not {SCHEME}")
        check_text(self.delivery_information, "metadata.deliveryInformation", _INVALID)
        check_text(self.signature, "metadata.signature", _INVALID)

    def unsigned(self) -> dict[str, JsonValue]:
        """The signed members: all but the signature."""
        return _unsigned(self.version, self.encryption_scheme, self.delivery_information, self.extra)

    def as_json(self) -> dict[str, JsonValue]:
        """The metadata as members of the envelope."""
        return {**self.unsigned(), "signature": self.signature}


@dataclass(frozen=True, slots=True)
class Dm3Envelope:
    """An encrypted message with its metadata (dm3 §2.2.5). `message`, `postmark`: encrypted to the receiver.

    Raises TheirError(ENVELOPE_INVALID).
    """

    message: str
    metadata: EnvelopeMetadata
    postmark: str | None = None
    extra: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the form."""
        check_text(self.message, "message", _INVALID)
        if not isinstance(self.metadata, EnvelopeMetadata):
            raise TheirError(_INVALID, "metadata must be an EnvelopeMetadata")
        check_optional_text(self.postmark, "postmark", _INVALID)

    def as_json(self) -> dict[str, JsonValue]:
        """The envelope as it is submitted or filed."""
        members: dict[str, JsonValue] = {**self.extra, "message": self.message, "metadata": self.metadata.as_json()}
        if self.postmark is not None:
            members["postmark"] = self.postmark
        return members

    def encode(self) -> str:
        """The envelope as JSON text. Raises TheirError(ENVELOPE_INVALID) if `extra` has none."""
        try:
            return stringify(self.as_json()).decode()
        except NotCanonicalError as error:
            raise _not_canonical(error) from None


def read_envelope(value: JsonValue) -> Dm3Envelope:
    """The envelope in a parsed value. Raises TheirError: ENCRYPTION_SCHEME_UNKNOWN, otherwise ENVELOPE_INVALID."""
    members = members_of(value, "the envelope", _INVALID)
    return Dm3Envelope(
        message=take(members, "message", _INVALID),
        metadata=read_metadata(members.pop("metadata", None)),
        postmark=take(members, "postmark", _INVALID),
        extra=members,
    )


def read_metadata(value: JsonValue) -> EnvelopeMetadata:
    """The envelope's metadata in a parsed value. Raises as `read_envelope` does."""
    metadata = members_of(value, "metadata", _INVALID)
    return EnvelopeMetadata(
        version=take(metadata, "version", _INVALID),
        encryption_scheme=take(metadata, "encryptionScheme", _INVALID),
        delivery_information=take(metadata, "deliveryInformation", _INVALID),
        signature=take(metadata, "signature", _INVALID),
        extra=metadata,
    )


def read_submitted(value: JsonValue) -> Dm3Envelope:
    """The envelope as submitted by its sender; a postmark in it is ignored, because no delivery service made it.

    Raises as `read_envelope` does.
    """
    if isinstance(value, dict):
        value = {name: member for name, member in value.items() if name != "postmark"}
    return read_envelope(value)


def read_delivery(value: JsonValue) -> DeliveryInformation:
    """The delivery information in a parsed value. Raises TheirError(ENVELOPE_INVALID)."""
    members = members_of(value, "deliveryInformation", _INVALID)
    return DeliveryInformation(
        to=take(members, "to", _INVALID),
        sender=take(members, "from", _INVALID),
        delivery_instruction=take(members, "deliveryInstruction", _INVALID),
        extra=members,
    )


def write_envelope(
    message: Dm3Message,
    *,
    delivery: DeliveryInformation,
    receiver_key: bytes,
    service_key: bytes,
    signing: PrivateSigningKey,
    extra: Mapping[str, JsonValue] | None = None,
    sealed_message: str | None = None,
    seal_to: Callable[[bytes, bytes], str] = seal,
) -> Dm3Envelope:
    """Encrypt a message to its receiver, the delivery information to the delivery service, and sign the metadata.

    `receiver_key`, `service_key`: public encryption keys of 32 bytes. `extra`: further metadata. `sealed_message`: the
    message as it was encrypted for another delivery service, so that a receiver of two copies can see that they are one
    message. `seal_to(plaintext, key)`: a different function only in tests. The metadata contain the hash of the
    encrypted message, so that nobody can put another message under them. Raises TheirError: PROFILE_INVALID (a key that
    cannot be encrypted to), ENVELOPE_INVALID.
    """
    sealed = sealed_message or seal_to(message.encode(), receiver_key)
    try:
        sealed_delivery = seal_to(stringify(delivery.as_json()), service_key)
        further = {ENCRYPTED_MESSAGE_HASH: encrypted_message_hash(sealed), **(extra or {})}
        metadata = _unsigned(WRITTEN_VERSION, SCHEME, sealed_delivery, further)
        signature = sign_struct(metadata, signing)
    except NotCanonicalError as error:
        raise _not_canonical(error) from None
    return Dm3Envelope(sealed, EnvelopeMetadata(WRITTEN_VERSION, SCHEME, sealed_delivery, signature, further))


def open_delivery(envelope: Dm3Envelope, keys: Sequence[EncryptionKey]) -> DeliveryInformation:
    """Open the delivery information; `keys`: all current encryption keys of the delivery service.

    Raises TheirError: SEALED_VALUE_INVALID, or ENVELOPE_INVALID for its content.
    """
    return read_delivery(_parse(open_sealed(envelope.metadata.delivery_information, keys), _INVALID))


def open_message(envelope: Dm3Envelope, keys: Sequence[EncryptionKey]) -> Dm3Message:
    """Open the message for the receiver.

    Raises TheirError: SEALED_VALUE_INVALID, or MESSAGE_INVALID for its content.
    """
    return read_message(_parse(open_sealed(envelope.message, keys), MESSAGE_INVALID))


def open_text(envelope: str, keys: Sequence[EncryptionKey]) -> Dm3Message:
    """Open the message in an envelope as it was received. Its signature is not checked.

    Raises TheirError as `parse`, `read_envelope` and `open_message` do.
    """
    data = envelope.encode()
    return open_message(read_envelope(parse(data, max_bytes=len(data))), keys)


def check_envelope(envelope: Dm3Envelope, key: PublicSigningKey) -> None:
    """Check that the metadata are signed by the key of the sender's profile, and that they belong to the message.

    Raises TheirError: SENDER_SIGNATURE_INVALID, or ENVELOPE_INVALID as `check_hashes` does.
    """
    check_signature(envelope, key)
    check_hashes(envelope)


def check_signature(envelope: Dm3Envelope, key: PublicSigningKey) -> None:
    """Check that the metadata are signed by this key. Raises TheirError(SENDER_SIGNATURE_INVALID)."""
    metadata = envelope.metadata
    if not verify_struct(metadata.unsigned(), metadata.signature, key):
        raise wrong_signature("metadata.signature", metadata.signature, key)


def check_hashes(envelope: Dm3Envelope, message: Dm3Message | None = None) -> None:
    """Check the hashes of the message that the reference adds to the metadata, if present (decision "Versions").

    One is of the encrypted message; the other of the message itself, which is needed for it. The text has neither, so
    its envelopes need not bind the message to the metadata. Raises TheirError(ENVELOPE_INVALID).
    """
    extra = envelope.metadata.extra
    if ENCRYPTED_MESSAGE_HASH in extra and not encrypted_message_hash_fits(
        extra[ENCRYPTED_MESSAGE_HASH], envelope.message
    ):
        raise TheirError(_INVALID, "metadata.encryptedMessageHash is not that of the sealed message")
    if MESSAGE_HASH in extra and message and not plain_message_hash_fits(extra[MESSAGE_HASH], message.as_json()):
        raise TheirError(_INVALID, "metadata.messageHash is not that of the message")


def message_hash(envelope: Dm3Envelope) -> str:
    """SHA-256 of the sealed message: lower-case hex (dm3 §2.2.8)."""
    return postmark_hash(envelope.message)


def _parse(data: bytes, reason: Reason) -> JsonValue:
    """Parse decrypted data, whose size is limited by that of the envelope. Raises TheirError with this reason."""
    try:
        return parse(data, max_bytes=len(data))
    except TheirError as error:
        raise TheirError(reason, f"the sealed value: {error.detail}") from None


def _unsigned(
    version: str, encryption_scheme: str | None, delivery_information: str, extra: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    members: dict[str, JsonValue] = {**extra, "version": version, "deliveryInformation": delivery_information}
    if encryption_scheme is not None:
        members["encryptionScheme"] = encryption_scheme
    return members


def _not_canonical(error: NotCanonicalError) -> TheirError:
    return TheirError(_INVALID, f"the envelope holds a value that has no canonical text: {error}")
