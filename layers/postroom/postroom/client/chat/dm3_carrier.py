"""The encoding of a wrapper in a dm3 message, and the chat keys of dm3 names and messages.

The wrapper is one more encoding of the message's text (dm3 §2.2.2), so clients that know nothing of Status show the
text. What the sender knows of the names of a group's members is another attachment: keys are not addresses, and
whoever answers a group needs them. The signature of the dm3 message covers both.
"""

from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Final

import coincurve
import orjson

from postroom.client.chat.carried_wrapper import CarriedWrapper, read_names
from postroom.core.canonical import stringify
from postroom.core.errors import TheirError
from postroom.core.ijson import parse
from postroom.crypto.encodings import decode_base64
from postroom.protocols.dm3.dialect import verify_struct
from postroom.protocols.dm3.keys import PublicSigningKey
from postroom.protocols.dm3.message import Dm3Message, MessageType
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.profile import UserProfile
from postroom.protocols.dm3.stored import StoredEnvelope
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.keys import ChatKey, chat_key_of
from postroom.protocols.status.messages import (
    ChatMessage,
    DeleteMessage,
    EditMessage,
    EmojiReaction,
    MembershipUpdateMessage,
    StatusMessage,
)
from postroom.protocols.status.verify import NO_CHAT_KEY

_KNOWN_KEYS: Final = 1000
_PROTOBUF: Final = "application/protobuf"
_TYPED: Final = "status.ApplicationMetadataMessage"
_UNTYPED: Final = "status.StatusProtocolMessage"
_NAMES: Final = "application/vnd.postroom.chat-names+json"


def encodings(carried: CarriedWrapper) -> tuple[str, ...]:
    """The attachments of a dm3 message that carry a wrapper, and names of a group's members if there are any."""
    type_, names = carried.type, carried.names
    form = f"message={_TYPED}" if type_ is None else f"message={_UNTYPED};payload={PayloadType(type_).name}"
    wrapper = _data_uri(f"{_PROTOBUF};{form}", carried.wrapper)
    return (wrapper, _data_uri(_NAMES, orjson.dumps(names))) if names else (wrapper,)


def find_wrapper(message: Dm3Message) -> CarriedWrapper | None:
    """The first wrapper that a dm3 message carries; None: it carries none that can be read."""
    found: tuple[bytes, int | None] | None = None
    names: dict[ChatKey, str] = {}
    for attachment in message.attachments or ():
        parts = _read_data_uri(attachment.data)
        if parts is None:
            continue
        media_type, parameters, data = parts
        if media_type == _PROTOBUF and found is None:
            found = _read_wrapper(parameters, data)
        elif media_type == _NAMES and not names:
            names = _read_names(data)
    return CarriedWrapper(*found, names) if found else None


def carrier_key(entry: StoredEnvelope, likely: ChatKey = NO_CHAT_KEY) -> ChatKey:
    """The secp256k1 key that signed a dm3 message whose sender was verified; NO_CHAT_KEY: there is none.

    Archives of earlier releases do not have it. Then it is found: two keys fit a signature of 64 bytes, and the sender
    has signed the envelope, too, which only one of them fits. `likely`: a key that the sender's earlier messages have
    proven; to verify the signature with it is quicker.
    """
    if entry.unverified:
        return NO_CHAT_KEY
    if entry.signing_key:
        return _stored_key(entry.signing_key)
    try:
        signature = decode_base64(entry.message.signature)
        text = stringify(entry.message.unsigned())
    except ValueError:
        return NO_CHAT_KEY
    if len(signature) != 64:
        return NO_CHAT_KEY
    if likely and _signing_key(likely).verify(signature, text):
        return likely
    digest = sha256(text).digest()
    for recovery_id in (b"\x00", b"\x01"):
        try:
            key = coincurve.PublicKey.from_signature_and_message(signature + recovery_id, digest, hasher=None)
        except ValueError:
            continue
        found = chat_key_of(key.format(compressed=False))
        if verify_struct(entry.metadata.unsigned(), entry.metadata.signature, _signing_key(found)):
            return found
    return NO_CHAT_KEY


@lru_cache(_KNOWN_KEYS)
def _stored_key(text: str) -> ChatKey:
    try:
        return _chat_key_of(PublicSigningKey.parse(text)) or NO_CHAT_KEY
    except TheirError:
        return NO_CHAT_KEY


@lru_cache(_KNOWN_KEYS)
def _signing_key(key: ChatKey) -> PublicSigningKey:
    return PublicSigningKey.from_bytes(bytes.fromhex(key[2:]))


def chat_key_at(profile: UserProfile) -> ChatKey | None:
    """The chat key of a dm3 name; None: its profile's signing key is Ed25519, which signs no chats."""
    return _chat_key_of(profile.signing_key)


def _chat_key_of(key: PublicSigningKey) -> ChatKey | None:
    return chat_key_of(decode_base64(key.encode())) if key.algorithm == "secp256k1" else None


def dm3_type(message: StatusMessage, *, has_reference: bool) -> MessageType:
    """The type of the dm3 message that carries a payload. `has_reference`: it names the message that it is about.

    An archive that stores a DELETE_REQUEST removes the message that it names.
    """
    inner = message.carried if isinstance(message, MembershipUpdateMessage) else message
    if not has_reference:
        return MessageType.NEW
    match inner:
        case ChatMessage():
            return MessageType.REPLY if inner.response_to else MessageType.NEW
        case EmojiReaction():
            return MessageType.NEW if inner.retracted else MessageType.REACTION
        case EditMessage():
            return MessageType.EDIT
        case DeleteMessage():
            return MessageType.DELETE_REQUEST
    return MessageType.NEW


def _data_uri(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(data).decode()}"


def _read_data_uri(uri: str) -> tuple[str, dict[str, str], bytes] | None:
    """The media type in lower case, its parameters and the data of a `data:` URI in base64; None: it is none."""
    head, comma, data = uri.partition(",")
    media_type, *parameters = head[5:].split(";")
    if head[:5].lower() != "data:" or not comma or not parameters or parameters.pop().lower() != "base64":
        return None
    if media_type.lower() not in (_PROTOBUF, _NAMES):
        return None
    try:
        decoded = decode_base64(data)
    except ValueError:
        return None
    pairs = (parameter.partition("=") for parameter in parameters)
    return media_type.lower(), {name.lower(): value for name, _, value in pairs}, decoded


def _read_wrapper(parameters: Mapping[str, str], data: bytes) -> tuple[bytes, int | None] | None:
    form = parameters.get("message")
    if form == _TYPED:
        return data, None
    if form == _UNTYPED:
        return data, PayloadType.__members__.get(parameters.get("payload", ""))
    return None


def _read_names(data: bytes) -> dict[ChatKey, str]:
    """The names in an attachment, normalised. What is no such thing is left out."""
    try:
        return read_names(parse(data, max_bytes=len(data)), normalize)
    except TheirError:
        return {}
