"""Profiles that users and delivery services publish, and their URIs (dm3 §2.1).

A profile is read from a registry, so everybody who may write there vouches for it. The wallet's signature that the
reference wraps around a profile proves nothing more, and is ignored.
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from postroom.core.canonical import stringify
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.crypto.encodings import decode_base64
from postroom.protocols.dm3.dialect import DELIVERY_SERVICES, PROFILE_WRAPPER
from postroom.protocols.dm3.keys import PublicSigningKey
from postroom.protocols.dm3.names import normalize
from postroom.protocols.dm3.reasons import PROFILE_INVALID, PROFILE_URI_UNSUPPORTED
from postroom.protocols.dm3.sealing import seal

MAX_URI_BYTES: Final = 65_536
"""The longest profile URI. A profile with two keys and two delivery services has 300 bytes."""
MAX_URL_CHARACTERS: Final = 2048
MAX_SERVICES: Final = 8
"""Delivery services in a user's profile: a sender looks up and connects to each, until one accepts the message."""

_ENCRYPTION_KEY: Final = "publicEncryptionKey"
_SIGNING_KEY: Final = "publicSigningKey"
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*):(.*)", re.ASCII | re.IGNORECASE | re.DOTALL)
_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
# A host, and nothing that would have to be escaped (RFC 3986 §3); no user name and no password either.
_URL: Final = re.compile(r"https?://[^\s/?#@\\]+(?:[/?#][!-~]*)?", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UserProfile:
    """A user's profile (dm3 §2.1.1). `delivery_services`: names in the order of preference, at least one.

    `encryption_key`: X25519, 32 bytes. `extra`: members that the text does not name. Raises
    TheirError(PROFILE_INVALID).
    """

    encryption_key: bytes
    signing_key: PublicSigningKey
    delivery_services: tuple[str, ...]
    extra: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_encryption_key(self.encryption_key)
        if not self.delivery_services:
            raise _invalid(f"{DELIVERY_SERVICES[0]} is empty; at least one delivery service must be named")
        if len(self.delivery_services) > MAX_SERVICES:
            named = len(self.delivery_services)
            raise _invalid(f"{DELIVERY_SERVICES[0]} names {named} delivery services; at most {MAX_SERVICES} are taken")
        try:
            names = tuple(normalize(name) for name in self.delivery_services)
        except TheirError as error:
            raise _invalid(f"{DELIVERY_SERVICES[0]}: {error.detail}") from None
        object.__setattr__(self, "delivery_services", names)

    def as_json(self) -> dict[str, JsonValue]:
        """The profile in the form of the text."""
        return {
            **self.extra,
            **_keys_as_json(self.encryption_key, self.signing_key),
            DELIVERY_SERVICES[0]: list(self.delivery_services),
        }


@dataclass(frozen=True, slots=True)
class ServiceProfile:
    """A delivery service's profile (dm3 §2.1.2). `url`: where envelopes are posted, http or https.

    `encryption_key`: X25519, 32 bytes. `extra`: members that the text does not name. Raises
    TheirError(PROFILE_INVALID).
    """

    encryption_key: bytes
    signing_key: PublicSigningKey
    url: str
    extra: Mapping[str, JsonValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_encryption_key(self.encryption_key)
        if len(self.url) > MAX_URL_CHARACTERS or not _URL.fullmatch(self.url):
            raise _invalid(f"url is not an http or https URL of at most {MAX_URL_CHARACTERS} characters")

    def as_json(self) -> dict[str, JsonValue]:
        """The profile in the form of the text."""
        return {**self.extra, **_keys_as_json(self.encryption_key, self.signing_key), "url": self.url}


def read_user_profile(value: JsonValue) -> UserProfile:
    """Read a user's profile, bare or wrapped (decision "Profiles"). Raises TheirError(PROFILE_INVALID)."""
    members = _members(value)
    encryption_key, signing_key = _take_keys(members)
    written = next((name for name in DELIVERY_SERVICES if name in members), None)
    if written is None:
        raise _invalid(f"{DELIVERY_SERVICES[0]} is missing")
    services = members.pop(written)
    if not isinstance(services, list):
        raise _invalid(f"{written} is not an array of names")
    names = tuple(name for name in services if isinstance(name, str))
    if len(names) != len(services):
        raise _invalid(f"{written} holds what is not a string; expected names")
    return UserProfile(encryption_key, signing_key, names, members)


def read_service_profile(value: JsonValue) -> ServiceProfile:
    """Read a delivery service's profile, bare or wrapped. Raises TheirError(PROFILE_INVALID)."""
    members = _members(value)
    encryption_key, signing_key = _take_keys(members)
    return ServiceProfile(encryption_key, signing_key, _take_string(members, "url"), members)


def profile_of_uri(uri: str) -> JsonValue:
    """The JSON in a `data:` URI: plain, percent-encoded or in base64, with parameters (decision "Profiles").

    Raises TheirError: PROFILE_URI_UNSUPPORTED for https: and ipfs:, which lead elsewhere;
    PROFILE_INVALID for anything else that is not JSON in such a URI.
    """
    if len(uri) > MAX_URI_BYTES:
        raise _invalid(f"the URI has more than {MAX_URI_BYTES} characters")
    found = _SCHEME.fullmatch(uri)
    if found is None:
        raise _invalid("it is not a URI; expected data:application/json,…")
    scheme = found[1].lower()
    if scheme in ("https", "ipfs"):
        raise TheirError(PROFILE_URI_UNSUPPORTED, f"it is published under {scheme}:, which is not read here")
    if scheme != "data":
        raise _invalid("the URI's scheme is none of data, https and ipfs")
    header, comma, text = found[2].partition(",")
    if not comma:
        raise _invalid("the data: URI has no comma, after which the JSON would stand")
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise _invalid("the URI holds half a surrogate pair") from None
    if not _says_base64(header):
        return _json_of_text(data)
    try:
        return _json(decode_base64(_unescaped(data).decode("ascii")))
    except ValueError:
        raise _invalid("the data: URI is not standard base64 on one line, as it says") from None


def profile_of_document(document: bytes) -> JsonValue:
    """The JSON in a document that a URI leads to. Raises TheirError(PROFILE_INVALID)."""
    if len(document) > MAX_URI_BYTES:
        raise _invalid(f"the document has more than {MAX_URI_BYTES} bytes")
    try:
        return parse(document, max_bytes=MAX_URI_BYTES)
    except TheirError as error:
        raise _invalid(f"the document cannot be read: {error.detail}") from None


def data_uri(value: JsonValue) -> str:
    """The URI to publish a profile under, in the form of the reference, which reads no percent-encoding."""
    return f"data:application/json,{stringify(value).decode()}"


def ascii_data_uri(value: JsonValue) -> str:
    """The same in ASCII, for records of DNS."""
    return f"data:application/json,{json.dumps(value, separators=(',', ':'))}"


def _says_base64(header: str) -> bool:
    """Whether the part before the comma (RFC 2397) says that base64 follows."""
    media_type, *parameters = (part.strip().lower() for part in header.split(";"))
    if media_type != "application/json":
        raise _invalid("the data: URI's media type is not application/json")
    is_base64 = bool(parameters) and parameters[-1] == "base64"
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "charset" and value.strip('"') not in ("utf-8", "utf8"):
            raise _invalid("the data: URI's charset is not utf-8")
    return is_base64


def _json_of_text(data: bytes) -> JsonValue:
    """JSON as it is, or percent-encoded.

    In this order: the reference writes and reads it as it is, where a "%41" within a string is three characters.
    Percent-encoded text is not JSON before it is decoded, because its quotation marks are encoded.
    """
    try:
        return _json(data)
    except TheirError:
        decoded = _unescaped(data)
        if decoded == data:
            raise
    return _json(decoded)


def _json(data: bytes) -> JsonValue:
    try:
        return parse(data, max_bytes=MAX_URI_BYTES)
    except TheirError as error:
        raise _invalid(f"the URI carries no JSON: {error.detail}") from None


def _unescaped(data: bytes) -> bytes:
    return _ESCAPE.sub(lambda found: bytes.fromhex(found[1].decode()), data)


def _members(value: JsonValue) -> dict[str, JsonValue]:
    if isinstance(value, dict) and _SIGNING_KEY not in value and PROFILE_WRAPPER in value:
        value = value[PROFILE_WRAPPER]
    if not isinstance(value, dict):
        raise _invalid("it is not a JSON object")
    return dict(value)


def _take_string(members: dict[str, JsonValue], name: str) -> str:
    value = members.pop(name, None)
    if not isinstance(value, str):
        raise _invalid(f"{name} is missing or not a string")
    return value


def _take_keys(members: dict[str, JsonValue]) -> tuple[bytes, PublicSigningKey]:
    encryption_key, signing_key = (_take_string(members, name) for name in (_ENCRYPTION_KEY, _SIGNING_KEY))
    try:
        return decode_base64(encryption_key), PublicSigningKey.parse(signing_key)
    except ValueError:
        raise _invalid(f"{_ENCRYPTION_KEY} is not standard base64 on one line") from None


def _keys_as_json(encryption_key: bytes, signing_key: PublicSigningKey) -> dict[str, JsonValue]:
    return {_ENCRYPTION_KEY: b64encode(encryption_key).decode(), _SIGNING_KEY: signing_key.encode()}


def _check_encryption_key(key: bytes) -> None:
    # Tried, because a key of small order looks like any other: this must not be found out after a message was accepted.
    try:
        seal(b"", key)
    except TheirError as error:
        raise _invalid(f"{_ENCRYPTION_KEY}: {error.detail}") from None


def _invalid(detail: str) -> TheirError:
    return TheirError(PROFILE_INVALID, detail)
