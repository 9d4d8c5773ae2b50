"""Wrappers: a payload with its author's signature (6/PAYLOADS: Payload wrapper).

Two are in use. The text's, StatusProtocolMessage, does not say the type of its payload: whoever carries it does. The
one that clients of Status send, ApplicationMetadataMessage, says it. The signature is of the payload alone: who passes
a wrapper on can change its type, and add fields to it.
"""

from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from postroom.core.errors import TheirError
from postroom.core.reasons import TOO_LARGE
from postroom.protocols.status.enums import PayloadType
from postroom.protocols.status.proto.payloads_pb2 import ApplicationMetadataMessage, StatusProtocolMessage
from postroom.protocols.status.reasons import PAYLOAD_TYPE_UNKNOWN, WRAPPER_INVALID
from postroom.protocols.status.varints import fits_64_bits
from postroom.protocols.status.wire_types import is_strict

MAX_WRAPPER_BYTES: Final = 1_100_000
"""The longest wrapper. Sounds of 1 MiB are the largest payloads."""

_LEAST_BESIDE_LONG: Final = 13
"""Bytes beside payload and signature in a wrapper with a number of more than 64 bits: the payload's tag and length, the
number's tag, and its ten bytes. Others have fewer, and it need not be searched."""


class Wrapper(NamedTuple):
    """A wrapper as received. `type`: the number in it; 0: it is untyped, or says none.

    `data`: its bytes, from which IDs are made. `signature`: b"" where there is none.
    """

    data: bytes
    is_typed: bool
    type: int
    signature: bytes
    payload: bytes


def read_wrapper(data: bytes) -> Wrapper:
    """Read either form. Raises TheirError(TOO_LARGE or WRAPPER_INVALID).

    What has a payload as field 2 is a typed one. Unknown fields are ignored.
    """
    _check_size(data)
    # Each look at a field of bytes copies them.
    try:
        typed, untyped = ApplicationMetadataMessage.FromString(data), None
        payload = typed.payload
        if not payload:
            untyped = StatusProtocolMessage.FromString(data)
            payload = untyped.payload
    except DecodeError:
        raise TheirError(WRAPPER_INVALID, "the bytes are not protobuf") from None
    message = typed if untyped is None else untyped
    if not is_strict(message):
        raise TheirError(WRAPPER_INVALID, "a field of the wrapper has another wire type")
    signature = message.signature
    beside = len(data) - len(payload) - len(signature)
    if beside >= _LEAST_BESIDE_LONG and not fits_64_bits(data, message):
        raise TheirError(WRAPPER_INVALID, "a field of the wrapper has more than 64 bits")
    if not payload:
        raise TheirError(WRAPPER_INVALID, "the wrapper has no payload")
    return Wrapper(data, untyped is None, typed.type if untyped is None else 0, signature, payload)


def type_of(wrapper: Wrapper, named: int | None = None) -> int:
    """The type of a wrapper's payload. `named`: what the carrier says of an untyped one.

    Raises TheirError(PAYLOAD_TYPE_UNKNOWN).
    """
    found = wrapper.type if wrapper.is_typed else named
    if not found:
        raise TheirError(
            PAYLOAD_TYPE_UNKNOWN,
            "the wrapper's type is 0" if wrapper.is_typed else "an untyped wrapper needs the type beside it",
        )
    return found


def write_wrapper(payload: bytes, signature: bytes, type_: int, *, typed: bool = True) -> bytes:
    """Write a wrapper. `signature`: b"" for none.

    Raises TheirError(TOO_LARGE). Raises ValueError: a ChatMessageIdentity in a typed one, which has no number for it.
    """
    if typed and type_ == PayloadType.CHAT_MESSAGE_IDENTITY:
        raise ValueError("a typed wrapper has no number for CHAT_MESSAGE_IDENTITY: use an untyped one")
    if typed:
        data = ApplicationMetadataMessage(signature=signature, payload=payload, type=type_).SerializeToString()
    else:
        data = StatusProtocolMessage(signature=signature, payload=payload).SerializeToString()
    _check_size(data)
    return data


def _check_size(data: bytes) -> None:
    if len(data) > MAX_WRAPPER_BYTES:
        raise TheirError(TOO_LARGE, f"a wrapper has at most {MAX_WRAPPER_BYTES} bytes, this one has {len(data)}")
