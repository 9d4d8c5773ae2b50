"""The NLWeb envelope: its members, each with its own rule, and the text that is hashed and signed."""

import hashlib
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from postroom.core.canonical import NotCanonicalError, jcs, jcs_of_parsed
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.core.reasons import NOT_I_JSON
from postroom.crypto.encodings import decode_base64
from postroom.protocols.nlweb.names import is_uuid, read_correlation, read_receiver, read_selector, read_sender
from postroom.protocols.nlweb.reasons import HASH_MISMATCH, NOT_OURS, WRONG_SHAPE
from postroom.protocols.nlweb.schema import HANDSHAKE, Dialect, choose_dialect
from postroom.protocols.nlweb.timestamp import read_timestamp

JsonObject = Mapping[str, JsonValue]

MAX_SUBJECT: Final = 256
"""Characters. The methods in use have some 20; a Subject becomes a log field and a table key."""
MAX_SIGNATURE: Final = 1368
"""Characters of base64: an RSA signature of 8192 bits."""
_SHA256: Final = hashlib.sha256()
"""The hash of nothing, to be copied: for a new one, OpenSSL looks up its algorithm each time."""


class NlwebEnvelope(NamedTuple):
    """An envelope whose members all have the right form. `verify` checks whether it is authentic.

    `sender`: host name or wallet UUID. `receiver`: host name. `correlation`: a UUID as the sender wrote it.
    `timestamp_ms`: epoch milliseconds. `selector`: None if the sender is a wallet and named none. `claimed_hash`: the
    member Hash. `signed_text`: RFC 8785 of {Body, Header} as received; `digest`: its SHA-256.
    """

    dialect: Dialect
    sender: str
    receiver: str
    subject: str
    correlation: str
    timestamp_ms: int
    selector: str | None
    body: JsonValue
    claimed_hash: str
    signature: bytes
    signed_text: bytes
    digest: bytes

    @property
    def from_wallet(self) -> bool:
        """Whether the sender is a wallet, whose key was registered in advance (decision "Senders")."""
        return is_uuid(self.sender)

    @property
    def key_name(self) -> str | None:
        """The DNS name of the sender's key record; None for a wallet."""
        if self.from_wallet or self.selector is None:
            return None
        return self.dialect.key_name(self.sender, self.selector)


def read_envelope(value: JsonValue) -> NlwebEnvelope:
    """The envelope in a request body that was parsed by `ijson.parse`.

    Raises TheirError(UNSUPPORTED_VERSION) before it checks any other member, otherwise TheirError(WRONG_SHAPE).
    """
    envelope, header = read_frame(value)
    dialect = read_dialect(envelope, header)
    sender = read_sender(text_of(header, "From", "Header."))
    return NlwebEnvelope(
        dialect,
        sender,
        read_receiver(text_of(header, "To", "Header.")),
        read_subject(header),
        _correlation_of(header),
        read_timestamp(text_of(header, "Timestamp", "Header.")),
        read_key_selector(header, dialect, sender),
        envelope.get("Body"),
        text_of(envelope, "Hash"),
        read_signature(envelope),
        signed_text := signed_text_of(envelope, header, jcs_of_parsed),
        digest_of(signed_text),
    )


def _correlation_of(header: JsonObject) -> str:
    text = text_of(header, "Correlation", "Header.")
    read_correlation(text)
    return text


def read_frame(value: JsonValue) -> tuple[JsonObject, JsonObject]:
    """The envelope and its Header as objects. Raises TheirError(WRONG_SHAPE)."""
    if not isinstance(value, dict):
        raise TheirError(WRONG_SHAPE, "the envelope is not a JSON object")
    header = value.get("Header")
    if not isinstance(header, dict):
        raise TheirError(WRONG_SHAPE, "Header is missing, or is not a JSON object")
    return value, header


def read_dialect(envelope: JsonObject, header: JsonObject) -> Dialect:
    """The dialect, by the schema codes. Raises TheirError(UNSUPPORTED_VERSION | WRONG_SHAPE)."""
    handshake, schema = envelope.get(HANDSHAKE), header.get("Schema")
    if handshake is None and HANDSHAKE in envelope:
        raise TheirError(WRONG_SHAPE, f"{HANDSHAKE} is null")
    if schema is None and "Schema" in header:
        raise TheirError(WRONG_SHAPE, "Schema is null")
    return choose_dialect(handshake, schema)


def text_of(holder: JsonObject, member: str, prefix: str = "") -> str:
    """A member that must be a string. Raises TheirError(WRONG_SHAPE)."""
    value = holder.get(member)
    if not isinstance(value, str):
        raise TheirError(WRONG_SHAPE, f"{prefix}{member} is {'not a string' if member in holder else 'missing'}")
    return value


def read_subject(header: JsonObject) -> str:
    """Header.Subject: 1 to 256 printable characters. Raises TheirError(WRONG_SHAPE)."""
    subject = text_of(header, "Subject", "Header.")
    if 1 <= len(subject) <= MAX_SUBJECT and subject.isprintable():
        return subject
    raise TheirError(WRONG_SHAPE, f"Header.Subject is not 1 to {MAX_SUBJECT} printable characters")


def read_key_selector(header: JsonObject, dialect: Dialect, sender: str) -> str | None:
    """The selector of the sender's key, in the dialect's member.

    A wallet needs none. Raises TheirError(WRONG_SHAPE).
    """
    member = dialect.selector_member
    if member in header:
        return read_selector(text_of(header, member, "Header."), member)
    if dialect.default_selector is None and not is_uuid(sender):
        raise TheirError(WRONG_SHAPE, f"Header.{member} is missing")
    return dialect.default_selector


def read_signature(envelope: JsonObject) -> bytes:
    """Signature: standard base64 on one line, padded (decision "Signed text"). Raises TheirError(WRONG_SHAPE)."""
    text = text_of(envelope, "Signature")
    if 0 < len(text) <= MAX_SIGNATURE:
        try:
            return decode_base64(text)
        except ValueError:
            pass
    raise TheirError(WRONG_SHAPE, "Signature is not standard base64 on one line")


def signed_text_of(envelope: JsonObject, header: JsonObject, write: Callable[[JsonValue], bytes] = jcs) -> bytes:
    """RFC 8785 of the members Body and Header as received; an absent Body stays absent (decision "Signed text")."""
    content: dict[str, JsonValue] = {"Header": dict(header)}
    if "Body" in envelope:
        content["Body"] = envelope["Body"]
    try:
        return write(content)
    except NotCanonicalError as error:
        raise TheirError(NOT_I_JSON, "Body or Header holds a value that has no canonical form") from error


def digest_of(signed_text: bytes) -> bytes:
    """SHA-256 of a signed text, raw."""
    sha256 = _SHA256.copy()
    sha256.update(signed_text)
    return sha256.digest()


def hash_of(signed_text: bytes) -> str:
    """The Hash of an envelope: lower-case hex SHA-256 of its signed text."""
    return digest_of(signed_text).hex()


def check_hash(claimed: str, digest: bytes) -> None:
    """Check that the member Hash is the digest of the signed text. Raises TheirError(HASH_MISMATCH)."""
    # This is not a secret: everybody who has the text can compute its Hash.
    if claimed != digest.hex():
        raise TheirError(HASH_MISMATCH)


def check_receiver(envelope: NlwebEnvelope, is_ours: Callable[[str], bool]) -> None:
    """Receivers refuse envelopes not intended for them. Raises TheirError(NOT_OURS)."""
    if not is_ours(envelope.receiver):
        raise TheirError(NOT_OURS)
