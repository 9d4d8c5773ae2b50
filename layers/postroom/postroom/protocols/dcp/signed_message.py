"""Signed messages: an owner, the owner's signature, and the body that is signed (DCP: Ethereum messages).

What is signed is not what was sent, but what JavaScript's JSON.stringify writes of the body that was read.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final

from postroom.core.canonical import NotCanonicalError, json_stringify, json_stringify_of_parsed
from postroom.core.errors import TheirError
from postroom.core.ijson import JsonValue, parse
from postroom.crypto.ethereum import Address, read_address
from postroom.crypto.ethereum_keys import EthereumKey, signer_of
from postroom.protocols.dcp.messages import REQUEST_BATCH
from postroom.protocols.dcp.reasons import DCP_BODY_INVALID, DCP_MESSAGE_INVALID, DCP_SIGNATURE_INVALID
from postroom.protocols.dcp.signature import read_signature, write_signature

MAX_BYTES: Final = 16 * 1024 * 1024
"""The largest message that is read, unless the caller sets another limit."""
MAX_MESSAGES: Final = 100
"""The longest batch, likewise."""


@dataclass(frozen=True, slots=True)
class SignedMessage:
    """A message whose signature was verified. `body`: its members in received order.

    `payload_texts`: what JSON.stringify writes of the payload of each of its requests; empty if it names no resource.
    """

    owner: Address
    body: Mapping[str, JsonValue]
    payload_texts: tuple[bytes, ...]


def read_signed_message(data: bytes, *, max_bytes: int = MAX_BYTES, max_messages: int = MAX_MESSAGES) -> SignedMessage:
    """Read a message, and verify its signature. A batch may have more than `max_messages`, but no payload texts then.

    Raises TheirError: TOO_LARGE, NOT_JSON, NOT_I_JSON, DCP_MESSAGE_INVALID, DCP_SIGNATURE_INVALID.
    """
    name, wire, body = read_frame(parse(data, max_bytes=max_bytes, half_pairs=True))
    owner, signature = read_owner(name), read_signature_of_message(wire)
    text, payload_texts = _texts(body, data, max_messages)
    if signer_of(signature, text) != owner:
        raise TheirError(DCP_SIGNATURE_INVALID, "nor with the higher s: that would be a second signature of one text")
    return SignedMessage(owner, body, payload_texts)


def _texts(body: dict[str, JsonValue], data: bytes, max_messages: int) -> tuple[bytes, tuple[bytes, ...]]:
    """The text of the body of a message, and those of the payloads in it that resources sign, too.

    Each is written once, because a stranger chooses how long that takes.
    """
    is_batch = body.get("type") == REQUEST_BATCH
    requests = body.get("payload") if is_batch else [body]
    if not isinstance(requests, list) or len(requests) > max_messages:
        return json_stringify_of_parsed(body), ()
    payloads = [_payload_with_resources(each) for each in requests]
    texts = tuple(json_stringify_of_parsed(each) if each else b"" for each in payloads)
    if not any(texts):
        return json_stringify_of_parsed(body), texts
    # It stands where the text of a payload will stand: nobody can write the hash of a message into the message.
    mark = hashlib.sha256(data).hexdigest()
    others: list[JsonValue] = [
        {**each, "payload": mark} if text and isinstance(each, dict) else each
        for each, text in zip(requests, texts, strict=True)
    ]
    rest = json_stringify_of_parsed({**body, "payload": others} if is_batch else others[0])
    pieces = rest.split(b'"%b"' % mark.encode())
    return b"".join(chain(*zip(pieces, [*filter(None, texts), b""], strict=True))), texts


def _payload_with_resources(request: JsonValue) -> dict[str, JsonValue] | None:
    payload = request.get("payload") if isinstance(request, dict) else None
    return payload if isinstance(payload, dict) and payload.get("allow") else None


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
