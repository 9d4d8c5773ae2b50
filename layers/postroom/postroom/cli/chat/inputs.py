"""The inputs of chat's commands: chat keys, types of payloads, times, media. An invalid one is a usage error."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from postroom.cli.dm3.inputs import load_user_keys
from postroom.cli.exits import UsageFault
from postroom.cli.inputs import open_input

if TYPE_CHECKING:
    from postroom.client.chat.prepared_media import PreparedMedia
    from postroom.protocols.status.author import AuthorKey
    from postroom.protocols.status.enums import PayloadType
    from postroom.protocols.status.keys import ChatKey
    from postroom.protocols.status.messages import StickerMessage

_PACK_LIMIT: Final = 1 << 31


def chat_key(option: str, text: str) -> "ChatKey":
    """The chat key of an option: 0x04…, or zQ3sh…. Raises UsageFault."""
    from postroom.protocols.status.keys import key_named

    try:
        return key_named(text)
    except ValueError as error:
        raise UsageFault(f"{option} is {text!r}: {error}") from None


def payload_type(name: str) -> "PayloadType":
    """The type of a payload by its name, in any case. Raises UsageFault."""
    from postroom.protocols.status.enums import type_named

    try:
        return type_named(name)
    except ValueError as error:
        raise UsageFault(f"--type is {name!r}: {error}") from None


def time_in_ms(option: str, given: int | None) -> int:
    """The time of an option in milliseconds since 1970; None: now. Raises UsageFault."""
    from postroom.protocols.status.fold import MAX_TIME_MS

    if given is None:
        return int(time.time() * 1000)
    if not 0 <= given < MAX_TIME_MS:
        raise UsageFault(f"{option} is {given}; it must be milliseconds since 1970, below 2^53")
    return given


def load_author_key(path: Path) -> "AuthorKey":
    """The key that signs chat messages: the signing key of a dm3 user, from its file. Raises UsageFault."""
    from postroom.protocols.status.author import AuthorKey

    key = load_user_keys(path).signing.ethereum_key
    if key is None:
        raise UsageFault(
            f"{path} has an Ed25519 signing key: it can sign messages of dm3, not of chats, which need secp256k1; "
            "`postroom dm3 keygen` makes such keys"
        )
    return AuthorKey.from_secret(key.secret)


def read_picture(name: str) -> "PreparedMedia":
    """The picture of a file, made ready to send. Raises OSError, UsageFault, SettingsError; TheirError: it is none."""
    from postroom.client.chat.pictures import MAX_FILE_BYTES, prepare_picture

    return prepare_picture(read_media(name, MAX_FILE_BYTES))


def read_profile_picture(name: str) -> "PreparedMedia":
    """The picture of a file, made ready to be one's profile picture. Raises as `read_picture` does."""
    from postroom.client.chat.pictures import MAX_FILE_BYTES, prepare_profile_picture

    return prepare_profile_picture(read_media(name, MAX_FILE_BYTES))


def read_sound(name: str) -> "PreparedMedia":
    """The sound of a file, made ready to send. Raises OSError, UsageFault; TheirError: it is none."""
    from postroom.client.chat.prepared_media import prepare_sound
    from postroom.protocols.status.media import MediaLimits

    return prepare_sound(read_media(name, MediaLimits().audio_bytes))


def read_media(name: str, max_bytes: int) -> bytes:
    """The bytes of a file. Of a larger one as many as are enough to refuse it, one more. Raises OSError, UsageFault."""
    with open_input(name) as source:
        return source.read(max_bytes + 1)


def sticker_named(text: str) -> "StickerMessage":
    """The sticker of HASH:PACK. Raises UsageFault."""
    from postroom.protocols.status.messages import StickerMessage

    hash_, colon, pack = text.rpartition(":")
    if not hash_ or not colon or not pack.isascii() or not pack.isdecimal() or int(pack) >= _PACK_LIMIT:
        raise UsageFault(f"--sticker is {text!r}; it must be a hash, a colon and the number of a pack, as e301…:3")
    return StickerMessage(hash_, int(pack))
