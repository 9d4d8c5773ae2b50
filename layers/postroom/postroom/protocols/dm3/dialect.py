"""The differences between the text of dm3 and its reference implementation, each with its decision.

We write what the text says, and read both. Two differences have the form of the reference elsewhere: encryption, about
which the text is silent (decision "Encryption", sealing.py), and the algorithm of a signature, which depends on the
length of the key (decision "Signatures", keys.py).
"""

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from postroom.core.canonical import NotCanonicalError, json_stringify, stringify
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue
from postroom.crypto.encodings import decode_base64
from postroom.crypto.ethereum import signed_text_digest
from postroom.protocols.dm3.keys import PrivateSigningKey, PublicSigningKey
from postroom.protocols.dm3.reasons import SENDER_SIGNATURE_INVALID

# --- decision "Versions" ----------------------------------------------------------------------------
WRITTEN_VERSION: Final = "1.0"
VERSIONS: Final = frozenset((WRITTEN_VERSION, "v1", "1"))
"""The text writes 1.0, the reference v1; all are the same."""

# --- decision "Postmarks": the timestamp -----------------------------------------------------------------
TIMESTAMP_MEMBER: Final = "incomingTimestamp"
REFERENCE_TIMESTAMP_MEMBER: Final = "incommingTimestamp"
"""The reference's spelling; a postmark in its form has no deliveryInformation."""

# --- decision "Profiles" ----------------------------------------------------------------------------------
PROFILE_WRAPPER: Final = "profile"
"""The reference publishes {profile, signature}, the text the profile itself."""
DELIVERY_SERVICES: Final = ("deliveryServices", "deliveryService")
"""The name in the text's definition, and that in its example."""

# --- decision "Message types" -------------------------------------------------------------------------------
TYPE_ALIASES: Final[Mapping[str, str]] = {"READ_OPENED": "READ_RECEIPT", "READ_RECEIVED": "READ_RECEIPT"}
"""The reference's names for a READ_RECEIPT: shown to the reader, and arrived."""


# --- decision "Signatures" -----------------------------------------------------------------------------------
def sign_struct(value: Mapping[str, JsonValue], key: PrivateSigningKey) -> str:
    """Sign a structure without its signature: base64. Raises NotCanonicalError if it has no `stringify`.

    The text: sign(sha256(stringify)), which is what ECDSA does. The reference: Ed25519 of `stringify` itself.
    """
    return b64encode(key.sign(stringify(dict(value)))).decode()


def verify_struct(value: Mapping[str, JsonValue], signature: str, key: PublicSigningKey) -> bool:
    """Whether this is the key's signature of the structure, which is given without it."""
    try:
        return key.verify(decode_base64(signature), stringify(dict(value)))
    except (NotCanonicalError, ValueError):
        return False  # a value without canonical text, which cannot have been signed; or invalid base64


def wrong_signature(what: str, signature: str, key: PublicSigningKey) -> TheirError:
    """The error for a signature that `verify_struct` does not accept. `what`: whose it is, such as `the message's`."""
    with suppress(ValueError):
        if key.has_higher_s(decode_base64(signature)):
            return TheirError(
                SENDER_SIGNATURE_INVALID,
                f"{what} has the higher of two possible values s; only the lower one is accepted (BIP 62)",
            )
    return TheirError(SENDER_SIGNATURE_INVALID, f"{what} is not by the sender's key")


def sign_postmark(value: Mapping[str, JsonValue], key: PrivateSigningKey) -> str:
    """Sign a postmark without its signature: base64. Raises NotCanonicalError.

    Like other structures; but Ed25519, as in the reference, signs the 0x-hex text of the SHA-256 of `stringify`.
    """
    return b64encode(key.sign(_postmark_text(value, key.public))).decode()


def verify_postmark(value: Mapping[str, JsonValue], signature: str, key: PublicSigningKey) -> bool:
    """Whether this is the key's signature of the postmark, which is given without it."""
    try:
        return key.verify(decode_base64(signature), _postmark_text(value, key))
    except (NotCanonicalError, ValueError):
        return False


def _postmark_text(value: Mapping[str, JsonValue], key: PublicSigningKey) -> bytes:
    text = stringify(dict(value))
    return text if key.algorithm == "secp256k1" else b"0x" + hashlib.sha256(text).hexdigest().encode()


# --- decision "Versions": hashes that one build or the other of the reference adds to the envelope's metadata --------
ENCRYPTED_MESSAGE_HASH: Final = "encryptedMessageHash"
"""We write it, too: the text allows further members, and the reference's delivery services require this one."""
MESSAGE_HASH: Final = "messageHash"


def encrypted_message_hash(sealed_message: str) -> str:
    """0x-hex SHA-256 of the sealed message as JSON quotes it."""
    return "0x" + hashlib.sha256(json_stringify(sealed_message)).hexdigest()


def encrypted_message_hash_fits(claimed: JsonValue, sealed_message: str) -> bool:
    """Whether metadata.encryptedMessageHash is SHA-256 of the sealed message as JSON quotes it."""
    return _is_hash(claimed, hashlib.sha256(json_stringify(sealed_message)))


def plain_message_hash_fits(claimed: JsonValue, message: Mapping[str, JsonValue]) -> bool:
    """Whether metadata.messageHash is SHA-256 of `stringify` of the message with its signature."""
    return _is_hash(claimed, hashlib.sha256(stringify(dict(message))))


# --- decision "Postmarks": the hash in a postmark --------------------------------------------------------------------
def postmark_hash(sealed_message: str) -> str:
    """The hash in the text's form: lower-case hex SHA-256 of the sealed message."""
    return hashlib.sha256(sealed_message.encode()).hexdigest()


def reference_postmark_hash(sealed_message: str) -> str:
    """The hash in the reference's form: 0x-hex Keccak-256 of the sealed message as JSON quotes it.

    It is prefixed as wallets do (ERC-191).
    """
    return "0x" + signed_text_digest(json_stringify(sealed_message)).hex()


# --- dm3 §2.2.3: what a referenceMessageHash is the hash of ---------------------------------------------------------
def read_reference(reference: str) -> str:
    """The hash of a reference, in lower case, without the 0x of the reference implementation."""
    return reference.lower().removeprefix("0x")


def reference_hashes(
    message_hash: str, metadata: Mapping[str, JsonValue], message: Mapping[str, JsonValue]
) -> tuple[str, ...]:
    """All hashes by which others may refer to a message, in the form of `read_reference`.

    The text says "the message hash", which elsewhere (§2.2.8) is that of the sealed message: `message_hash`. The
    reference's clients use the one in the envelope's `metadata`, or that of the message itself.
    """
    hashes = [message_hash, hashlib.sha256(stringify(dict(message))).hexdigest()]
    claimed = metadata.get(ENCRYPTED_MESSAGE_HASH)
    if isinstance(claimed, str):
        hashes.append(read_reference(claimed))
    return tuple(dict.fromkeys(hashes))


# --- decision "Containers": the keys of containers -------------------------------------------------------------------
def container_key(*parts: str) -> str:
    """0x and the lower-case hex SHA-256 of the joined parts: the text says sha256, the reference adds the 0x."""
    return "0x" + hashlib.sha256("".join(parts).encode()).hexdigest()


def _is_hash(claimed: JsonValue, digest: "hashlib._Hash") -> bool:
    return isinstance(claimed, str) and claimed.lower().removeprefix("0x") == digest.hexdigest()
