"""Segments: the lines of one batch as one object (store protocol, step 3). A line names its row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from operator import itemgetter
from typing import Final, Generic, TypeVar

import orjson

from postroom.storage.aws.object_store import Place
from postroom.storage.layout import RowKey

R = TypeVar("R")
E = TypeVar("E")


@dataclass  # neither frozen nor with slots: so orjson writes it as fast as a dict
class StoredLine(Generic[R, E]):
    """A line as it is stored: a JSON object of these members, in this order. A newer release may append others.

    `pk`, `sk`: its row. `src`: the object that the row pointed to before; None: it is the first. `c`: its conversation.
    `receipt` is an object, `envelope` a string; copying a line leaves both unchanged.
    """

    pk: str
    sk: str
    src: str | None
    c: str
    receipt: R
    envelope: E


_members: Final = itemgetter(*(member.name for member in fields(StoredLine)))


@dataclass(frozen=True, slots=True)
class Line:
    """One filed message: its row, its conversation, the envelope as received, and the receipt of its verification."""

    row: RowKey
    conversation: str
    envelope: str
    receipt: Mapping[str, object]

    def encode(self) -> bytes:
        """The line as stored, without its newline."""
        return orjson.dumps(
            StoredLine(self.row.pk, self.row.sk, None, self.conversation, dict(self.receipt), self.envelope)
        )


def decode_line(data: bytes) -> Line:
    """The line in one byte range of an object. Raises ValueError, KeyError or TypeError if there is none."""
    pk, sk, _, conversation, receipt, envelope = _members(orjson.loads(data))
    return Line(RowKey(pk, sk), conversation, envelope, receipt)


def lay_out(lines: Sequence[Line], name: str) -> tuple[bytes, list[Place]]:
    """The bytes of a segment (JSON Lines), and the place of each line in it."""
    return lay_out_encoded([line.encode() for line in lines], name)


def lay_out_encoded(lines: Iterable[bytes], name: str) -> tuple[bytes, list[Place]]:
    """The same, for lines that are already encoded."""
    places, parts, offset = [], [], 0
    for data in lines:
        places.append(Place(name, offset, len(data)))
        parts.append(data + b"\n")
        offset += len(data) + 1
    return b"".join(parts), places
