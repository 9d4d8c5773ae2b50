"""Checks of single fields that several messages have."""

from typing import Final

from pybase64 import b64decode

from postroom.core.ens_names import normalized_name
from postroom.core.errors import TheirError
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.ids import is_message_id
from postroom.protocols.status.reasons import (
    CHAT_INVALID,
    MEDIA_INVALID,
    MEDIA_TOO_LARGE,
    PAYLOAD_INVALID,
    TEXT_INVALID,
)
from postroom.protocols.status.white_space import is_blank

MAX_TEXT: Final = 4096
"""Code points of a text."""
MAX_PROFILE_PICTURE_BYTES: Final = 100_000

_TOO_LARGE: Final = f"a profile picture has at most {MAX_PROFILE_PICTURE_BYTES} bytes"
_MAGICS: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")
_OWN_KINDS: Final = (ChatKind.UNKNOWN_MESSAGE_TYPE, ChatKind.SYSTEM_MESSAGE_PRIVATE_GROUP)


def check_length(text: str) -> None:
    """Check that a text is not too long; white space counts. Raises TheirError(TEXT_INVALID)."""
    if len(text) > MAX_TEXT:
        raise TheirError(TEXT_INVALID, f"a text has at most {MAX_TEXT} characters, this one has {len(text)}")


def check_text(text: str) -> None:
    """Check that a text is not blank, nor too long. Raises TheirError(TEXT_INVALID)."""
    check_length(text)
    if is_blank(text):
        raise TheirError(TEXT_INVALID, "the text is blank")


def check_kind(kind: int, chat_id: str) -> None:
    """Check that a message says in which kind of chat it is, and in which chat. Raises TheirError."""
    if kind in _OWN_KINDS:
        raise TheirError(PAYLOAD_INVALID, f"message_type is {ChatKind(kind).name}")
    if not chat_id:
        raise TheirError(CHAT_INVALID, "chat_id is empty")
    # So that a message under another label, where that field is the ID of a message, is none (decision "Payloads").
    if is_message_id(chat_id):
        raise TheirError(CHAT_INVALID, "chat_id is the ID of a message")


def check_message_id(name: str, text: str) -> None:
    """Check the ID of another message. Raises TheirError(PAYLOAD_INVALID)."""
    if not is_message_id(text):
        raise TheirError(PAYLOAD_INVALID, f"{name} is not 0x and 64 hex digits in lower case")


def check_filled(name: str, text: str) -> None:
    """Check that a field is not blank. Raises TheirError(PAYLOAD_INVALID)."""
    if is_blank(text):
        raise TheirError(PAYLOAD_INVALID, f"{name} is blank")


def check_ens_name(name: str) -> None:
    """Check that a field is empty or a name with a dot that ENSIP-15 takes. Raises TheirError(PAYLOAD_INVALID)."""
    if not name:
        return
    if "." not in name:
        raise TheirError(PAYLOAD_INVALID, "ens_name has no dot")
    try:
        normalized_name(name)
    except ValueError as error:
        raise TheirError(PAYLOAD_INVALID, f"ens_name: {error}") from None


def picture_of(text: str) -> bytes:
    """The bytes of a profile picture: base64, bare or in a `data:` URI.

    Raises TheirError(PAYLOAD_INVALID): anything else, such as the address of a picture; TheirError(MEDIA_TOO_LARGE).
    """
    if len(text) > MAX_PROFILE_PICTURE_BYTES * 2:
        raise TheirError(MEDIA_TOO_LARGE, _TOO_LARGE)
    head, comma, rest = text.partition(",")
    if comma and not (head.startswith("data:") and head.endswith(";base64")):
        raise TheirError(PAYLOAD_INVALID, "a profile picture is base64, or a data: URI of base64")
    try:
        picture = b64decode(rest if comma else text, None, True)
    except ValueError:
        raise TheirError(PAYLOAD_INVALID, "a profile picture is base64, or a data: URI of base64") from None
    if len(picture) > MAX_PROFILE_PICTURE_BYTES:
        raise TheirError(MEDIA_TOO_LARGE, _TOO_LARGE)
    return picture


def check_picture(text: str) -> None:
    """Check that a field is empty or a picture that can be drawn, by its first bytes. Raises TheirError."""
    if not text:
        return
    picture = picture_of(text)
    if not picture.startswith(_MAGICS) and not (picture[:4] == b"RIFF" and picture[8:12] == b"WEBP"):
        raise TheirError(MEDIA_INVALID, "a profile picture is PNG, JPEG, WebP or GIF")
