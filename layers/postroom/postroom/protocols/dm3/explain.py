"""Every check of a filed message, for people; a failed check does not stop the others.

A postmark does not name its delivery service: it is compared with those of the receiver's profile.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from postroom.core.errors import NotNowError, TheirError
from postroom.core.explanation import Check, Explanation
from postroom.core.ijson import MAX_DEPTH, JsonValue, parse
from postroom.core.reason import Kind, Reason
from postroom.core.shown_text import shown
from postroom.core.timestamps import write_timestamp
from postroom.crypto.x25519 import EncryptionKey
from postroom.protocols.dm3.envelope import (
    DeliveryInformation,
    Dm3Envelope,
    check_hashes,
    check_signature,
    message_hash,
    open_message,
    read_envelope,
)
from postroom.protocols.dm3.keys import PublicSigningKey, UserKeys
from postroom.protocols.dm3.message import Dm3Message, MessageMetadata
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.postmark import Postmark, check_postmark_hash, expected_hash, is_signed_by, read_postmark
from postroom.protocols.dm3.profile import ServiceProfile, UserProfile
from postroom.protocols.dm3.reasons import POSTMARK_INVALID
from postroom.protocols.dm3.sealing import open_sealed
from postroom.protocols.dm3.verify import check_message

_YEAR_9999_MS: Final = 253_370_764_800_000
SENDERS_PROFILE: Final = "sender's profile"
"""The only check that fails if nothing is wrong with a message but its sender is unverified."""
POSTMARK: Final = "postmark"
"""The check that the postmark is encrypted to the receiver and can be read."""
_HASHES: Final = ("encryptedMessageHash", "messageHash")


class ExplainedProfiles(Protocol):
    """The source of profiles.

    Both methods raise TheirError (PROFILE_UNKNOWN, …) or NotNowError(PROFILE_LOOKUP_FAILED).
    """

    def user(self, name: str) -> UserProfile:
        """The profile of a user."""
        ...

    def service(self, name: str) -> ServiceProfile:
        """The profile of a delivery service."""
        ...


@dataclass(slots=True)
class Opened(Explanation):
    """The checks that could be made, and the content of the envelope: None if it could not be opened or read.

    `message_hash`: lower-case hex SHA-256 of the encrypted message, by which a reply refers to it. `signing_key`: the
    sender's, with which the signatures were checked.
    """

    message: Dm3Message | None = None
    postmark: Postmark | None = None
    message_hash: str = ""
    signing_key: PublicSigningKey | None = None

    @property
    def reason(self) -> Reason | None:
        """The reason of the first check that failed for good; otherwise of the first that could not be made.

        A message that is known to be bad is bad, even if other checks could not be made.
        """
        failed = [check.reason for check in self.checks if check.reason is not None]
        return min(failed, key=lambda reason: reason.kind is Kind.RETRY, default=None)


def explain(data: bytes, keys: UserKeys, profiles: ExplainedProfiles, *, older: Sequence[EncryptionKey] = ()) -> Opened:
    """Open an envelope as it is filed (JSON text) with its receiver's keys, and check everything in it.

    `older`: previous keys of the receiver's profile, which are tried, too.
    """
    opened = Opened()
    opening = (keys.encryption, *older)
    value = opened.look(
        "json", "RFC 8259; RFC 7493", f"I-JSON: unique names, depth {MAX_DEPTH}", f"{len(data)} bytes",
        lambda: (parse(data, max_bytes=len(data)),),
    )  # fmt: skip
    if value is None:
        return opened
    envelope = opened.look(
        "envelope", 'dm3 §2.2.5, §2.2.6; decision "Versions"', "a sealed message with metadata of version 1.0",
        _members(value[0]), lambda: read_envelope(value[0]),
    )  # fmt: skip
    if envelope is None:
        return opened
    opened.message_hash = message_hash(envelope)
    opened.message = _open_message(opened, envelope, opening)
    opened.postmark = _open_postmark(opened, envelope, opening)
    names = _names(opened)
    if opened.message:
        _look_at_hashes(opened, envelope, opened.message)
    if names:
        _look_at_signatures(opened, envelope, names.sender, profiles)
    if opened.postmark:
        _look_at_postmark_hash(opened, envelope, opened.postmark)
        if names:
            _look_at_postmark_signature(opened, opened.postmark, names.to, profiles)
        if opened.message and opened.postmark.delivery:
            _look_at_delivery(opened, opened.postmark.delivery, opened.message.metadata)
        elif opened.message:
            _look_at_receiver(opened, opened.message.metadata.to, keys, profiles)
    return opened


def _names(opened: Opened) -> MessageMetadata | DeliveryInformation | None:
    """The sender and the receiver, from whichever part could be opened."""
    if opened.message:
        return opened.message.metadata
    return opened.postmark.delivery if opened.postmark else None


def _open_message(opened: Opened, envelope: Dm3Envelope, keys: Sequence[EncryptionKey]) -> Dm3Message | None:
    return opened.look(
        "message", 'dm3 §2.2.2 - §2.2.4; decisions "Encryption" and "Message types"',
        "sealed to your key, with what its type needs",
        f"{len(envelope.message)} characters, sealed", lambda: open_message(envelope, keys),
    )  # fmt: skip


def _open_postmark(opened: Opened, envelope: Dm3Envelope, keys: Sequence[EncryptionKey]) -> Postmark | None:
    def read() -> Postmark:
        if envelope.postmark is None:
            raise TheirError(POSTMARK_INVALID, "no delivery service has set one")
        return read_postmark(open_sealed(envelope.postmark, keys))

    return opened.look(
        POSTMARK, 'dm3 §2.2.8; decision "Postmarks"', "sealed to your key by the delivery service",
        "absent" if envelope.postmark is None else f"{len(envelope.postmark)} characters, sealed", read,
    )  # fmt: skip


def _look_at_hashes(opened: Opened, envelope: Dm3Envelope, message: Dm3Message) -> None:
    there = [name for name in _HASHES if name in envelope.metadata.extra]
    opened.look(
        "hashes in the metadata", 'decision "Versions"', "SHA-256 of what they name, where they are there",
        ", ".join(there) or "none", lambda: check_hashes(envelope, message),
    )  # fmt: skip


def _look_at_signatures(opened: Opened, envelope: Dm3Envelope, sender: str, profiles: ExplainedProfiles) -> None:
    profile = opened.look(
        SENDERS_PROFILE, 'dm3 §2.1.1; decision "Profiles"', "a profile of this name with a signing key",
        shown(sender), lambda: profiles.user(sender),
    )  # fmt: skip
    if profile is None:
        return
    key, message = profile.signing_key, opened.message
    opened.signing_key = key
    if message is not None:
        opened.look("message signature", 'dm3 §2.2.2; decision "Signatures"', f"a signature by {_named(key)}",
                  shown(message.signature), lambda: check_message(message, key))  # fmt: skip

    opened.look("envelope signature", 'dm3 §2.2.6; decision "Signatures"', f"a signature by {_named(key)}",
              shown(envelope.metadata.signature), lambda: check_signature(envelope, key))  # fmt: skip


def _look_at_postmark_hash(opened: Opened, envelope: Dm3Envelope, postmark: Postmark) -> None:
    opened.look(
        "postmark hash", 'dm3 §2.2.8; decision "Postmarks"', expected_hash(postmark, envelope),
        shown(postmark.message_hash), lambda: check_postmark_hash(postmark, envelope),
    )  # fmt: skip


def _look_at_postmark_signature(opened: Opened, postmark: Postmark, receiver: str, profiles: ExplainedProfiles) -> None:
    """Added by hand, because the delivery service is known only when its key was found."""
    name, section = "postmark signature", 'dm3 §2.2.8; decisions "Signatures" and "Postmarks"'
    expected = f"a signature by a delivery service of {shown(receiver)}"
    try:
        service = _postmarked_by(postmark, receiver, profiles)
    except (TheirError, NotNowError) as error:
        opened.checks.append(Check(name, False, error.detail or error.reason.sentence, expected, section, error.reason))
    else:
        saw = f"by {service}, of what came in at {shown_time(postmark.incoming_timestamp_ms)}"
        opened.checks.append(Check(name, True, saw, expected, section))


def _postmarked_by(postmark: Postmark, receiver: str, profiles: ExplainedProfiles) -> str:
    """The delivery service that signed. If one could not be asked, raises that error instead of "none signed"."""
    fault: TheirError | NotNowError | None = None
    for name in profiles.user(receiver).delivery_services:
        try:
            key = profiles.service(name).signing_key
        except (TheirError, NotNowError) as error:
            fault = fault or error
            continue
        if is_signed_by(postmark, key):
            return name
    raise fault or TheirError(POSTMARK_INVALID, "it is not signed by any of them")


def _look_at_delivery(opened: Opened, delivery: DeliveryInformation, metadata: MessageMetadata) -> None:
    def check() -> None:
        for member, stamped, written in (
            ("to", delivery.to, metadata.to),
            ("from", delivery.sender, metadata.sender),
        ):
            if normalize(stamped) != normalize(written):
                raise TheirError(POSTMARK_INVALID, f"{member} is another name")

    opened.look(
        "delivery information", "dm3 §2.2.8", f"as the message: {shown(metadata.sender)} to {shown(metadata.to)}",
        f"{shown(delivery.sender)} to {shown(delivery.to)}", check,
    )  # fmt: skip


def _look_at_receiver(opened: Opened, to: str, keys: UserKeys, profiles: ExplainedProfiles) -> None:
    """The reference's postmark has no names: this check prevents that somebody passes on a message for others."""

    def check() -> None:
        if profiles.user(to).encryption_key != keys.encryption.public:
            raise TheirError(POSTMARK_INVALID, "the profile of this name has another encryption key than yours")

    opened.look("receiver", 'decision "Postmarks"',
              "your name: the postmark, the reference's, has no delivery information",
              shown(to), check)  # fmt: skip


def _named(key: PublicSigningKey) -> str:
    return f"{key.algorithm} {key.fingerprint}"


def shown_time(epoch_ms: int) -> str:
    """RFC 3339, or the number itself if it has no such form: strangers may write any number."""
    return write_timestamp(epoch_ms) if epoch_ms < _YEAR_9999_MS else f"{epoch_ms} ms"


def _members(value: JsonValue) -> str:
    return shown(f"an object of {', '.join(value) or 'nothing'}") if isinstance(value, dict) else "no object"
