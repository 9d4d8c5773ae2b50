"""Signed messages: an owner, the owner's signature, and the body that is signed (DCP: Ethereum messages).

What is signed is not what was sent, but what JavaScript's JSON.stringify writes of the body that was read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from postroom.core.canonical import NotCanonicalError, json_stringify, json_stringify_of_parsed
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.crypto.ethereum import Address, read_address
from postroom.crypto.ethereum_keys import EthereumKey, signer_of
from postroom.protocols.dcp.reasons import DCP_BODY_INVALID, DCP_MESSAGE_INVALID, DCP_SIGNATURE_INVALID
from postroom.protocols.dcp.signature import read_signature, write_signature

MAX_BYTES: Final = 16 * 1024 * 1024
"""The largest message that is read, unless the caller sets another limit."""


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """A message whose signature was verified. `body`: its members in received order."""

    owner: Address
    body: Mapping[str, JsonValue]


def read_signed_message(data: bytes, *, max_bytes: int = MAX_BYTES) -> SignedMessage:
    """Read a message, and verify its signature.

    Raises TheirError: TOO_LARGE, NOT_JSON, NOT_I_JSON, DCP_MESSAGE_INVALID, DCP_SIGNATURE_INVALID.
    """
    name, wire, body = read_frame(parse(data, max_bytes=max_bytes, half_pairs=True))
    owner, signature = read_owner(name), read_signature_of_message(wire)
    if signer_of(signature, json_stringify_of_parsed(body)) != owner:
        raise TheirError(DCP_SIGNATURE_INVALID, "nor with the higher s: that would be a second signature of one text")
    return SignedMessage(owner, body)


def read_frame(value: JsonValue) -> tuple[str, JsonValue, dict[str, JsonValue]]:
    """The owner, the signature and the body of a message, as they were sent. Raises TheirError(DCP_MESSAGE_INVALID)."""
    match value:
        case {"owner": str(name), "signature": wire, "body": dict(body)}:
            return name, wire, body
    raise TheirError(DCP_MESSAGE_INVALID, "a message has owner, a string, and signature and body, objects")


def read_owner(name: str) -> Address:
    """The address of an owner. Raises TheirError(DCP_MESSAGE_INVALID)."""
    try:
        return read_address(name)
    except ValueError as error:
        raise TheirError(DCP_MESSAGE_INVALID, f"owner: {error}") from None


def read_signature_of_message(wire: JsonValue) -> bytes:
    """The bytes of a message's signature, r ‖ s ‖ recovery id. Raises TheirError(DCP_MESSAGE_INVALID)."""
    signature = read_signature(wire)
    if signature is None:
        raise TheirError(
            DCP_MESSAGE_INVALID,
            "signature must have r and s, each a Buffer of 32 bytes, and v, 27 or 28, as an object or as its JSON",
        )
    return signature


def sign_body(body: Mapping[str, JsonValue], key: EthereumKey, *, hex_prefix: bool = False) -> bytes:
    """The signed message with a body. `hex_prefix`: the owner is written with 0x, as by the reference.

    Raises TheirError(DCP_BODY_INVALID) if JSON.stringify would write another value.
    """
    try:
        text = json_stringify(dict(body))
    except NotCanonicalError as error:
        raise TheirError(DCP_BODY_INVALID, str(error)) from None
    signature = json_stringify(write_signature(key.sign(text)))
    owner = f"0x{key.address}" if hex_prefix else key.address
    return b'{"owner":"%b","signature":%b,"body":%b}' % (owner.encode(), signature, text)
