"""The blocks of a CAR, the answer of a trustless gateway, each of them hashed.

CAR version 1 (ipld.io/specs/transport/car/carv1) as of the Trustless Gateway Specification, "CAR Responses": in any
order, with or without duplicates, and with others than were asked for.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Final

from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.errors import IpfsError
from postroom.names.ipfs.wire import read_varint

MAX_CAR_BYTES: Final = 196_608
"""A file of the largest size, what its blocks say beside it, and as much again that nobody needs."""
MAX_BLOCKS: Final = 64
"""Blocks of a CAR; and of a file with the directories above it, each as often as it is linked to."""

# The header is a map in DAG-CBOR, whose form is canonical. What stands between these, the roots, is not specified
# and "a client SHOULD ignore this field".
_HEADER_START: Final = b"\xa2\x65roots"
_HEADER_END: Final = b"\x67version\x01"


def read_blocks(car: bytes) -> dict[bytes, bytes]:
    """The blocks of a CAR, by their SHA-256.

    Blocks with CIDs of other kinds are passed over: nothing that is read here refers to one. Raises IpfsError for what
    is no CAR of version 1, or cut; for more than `MAX_CAR_BYTES` or `MAX_BLOCKS`; and for a block that does not hash to
    its CID.
    """
    if len(car) > MAX_CAR_BYTES:
        raise IpfsError(f"the CAR has {len(car):,} bytes; at most {MAX_CAR_BYTES:,} are read")
    sections = _sections(car)
    header = next(sections, b"")
    if not (header.startswith(_HEADER_START) and header.endswith(_HEADER_END)):
        raise IpfsError("the answer is no CAR of version 1" if car else "the answer is empty")
    blocks: dict[bytes, bytes] = {}
    for count, section in enumerate(sections):
        if count == MAX_BLOCKS:
            raise IpfsError(f"the CAR has more than {MAX_BLOCKS} blocks")
        try:
            cid, block = Cid.split(section)
        except ValueError:
            continue
        if sha256(block).digest() != cid.digest:
            raise IpfsError(f"a block does not hash to its CID, {cid}")
        blocks[cid.digest] = block
    return blocks


def _sections(car: bytes) -> Iterator[bytes]:
    """The header, and each CID with its block. Raises IpfsError."""
    at, end = 0, len(car)
    while at < end:
        try:
            length, start = read_varint(car, at)
        except ValueError as error:
            raise IpfsError(f"the CAR is cut, or is none: {error}") from None
        at = start + length
        if at > end:
            raise IpfsError("the CAR is cut, or is none: a section goes beyond its end")
        yield car[start:at]
