"""Identities: what a user says of itself in a chat, when, and to whom (6/PAYLOADS: Chat Message Identity)."""

from collections.abc import Collection, Iterable
from typing import Final

from postroom.protocols.status.enums import ChatKind, ProfileImageSource, ProfileImageType
from postroom.protocols.status.messages import ChatMessageIdentity, ProfileImage
from postroom.protocols.status.sent_profile import SentProfile, profile_receivers_due, write_picture

IDENTITY_INTERVAL_MS: Final = 24 * 60 * 60 * 1000
"""After this time an identity is sent again in a channel; elsewhere never (6/PAYLOADS: Public Chat)."""


def identity_receivers_due(
    kind: ChatKind,
    receivers: Collection[str],
    *,
    has_written: bool,
    sent: Iterable[SentProfile],
    digest: bytes,
    now_ms: int,
) -> frozenset[str]:
    """Those of a chat who need the user's identity now that the user has sent a message there.

    Nobody does before the user's first ChatMessage in the chat (`has_written`): who only reads is not known to the
    others. `receivers`: all to whom the user's messages in this chat go. `sent`: identities sent in this chat. A
    change or the end of the interval is no reason by itself: to be looked at with each message that the user sends.
    """
    if not has_written:
        return frozenset()
    interval_ms = IDENTITY_INTERVAL_MS if kind is ChatKind.PUBLIC_GROUP else None
    return profile_receivers_due(receivers, sent, digest, now_ms, interval_ms=interval_ms)


def own_identity(clock: int, ens_name: str, display_name: str, picture: bytes | None) -> ChatMessageIdentity:
    """The user's identity. `picture`: PNG, JPEG, WebP or GIF, cleaned. Raises TheirError, as its types do."""
    image = None
    if picture is not None:
        image = ProfileImage(write_picture(picture), ProfileImageSource.RAW_PAYLOAD, ProfileImageType.RASTER_IMAGE_FILE)
    return ChatMessageIdentity(clock, ens_name, display_name, image)
