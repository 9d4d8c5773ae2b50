"""The lines of an object. Damaged lines are reported, and do not stop the run."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec
import orjson

from postroom.storage.aws.object_store import Place
from postroom.storage.layout import ROW_PREFIX, RowKey
from postroom.storage.mail.line_state import Copy
from postroom.storage.mail.segments import StoredLine

LONGEST_LINE: Final = 16 * 1024 * 1024
"""In bytes. The inbox accepts at most 5 MB, and longer lines are not held in memory."""
_PK: Final = re.compile(r".{1,500}#(0|[1-9][0-9]{0,3})")
_SK: Final = re.compile(rf"{ROW_PREFIX}[0-9]{{13}}#[^#]{{1,64}}")
"""No table accepts longer keys: reading such a key would end the run."""


class Damage(StrEnum):
    """The reason why a line cannot be read."""

    NOT_JSON = "NotJson"
    NOT_A_LINE = "NotALine"
    """It is JSON, but not a stored line."""
    TOO_LONG = "TooLong"
    ASTRAY = "Astray"
    """Its row points to another place in the same object."""


@dataclass(frozen=True, slots=True)
class Damaged:
    """A line that cannot be read, or must not be moved; `length` in bytes. `data`: the line, unless it is too long."""

    offset: int
    length: int
    damage: Damage
    data: bytes = b""


@dataclass(frozen=True, slots=True)
class Read:
    """A line as it was found. `moved`: as it is written into a chunk."""

    copy: Copy
    conversation: str
    moved: bytes


def raw_lines(pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes | int]]:
    """The offset of each line and its bytes, without the newline; for a line that is too long, its length."""
    offset, held, length = 0, bytearray(), 0
    for piece in pieces:
        begin = 0
        while (end := piece.find(b"\n", begin)) >= 0:
            held += piece[begin:end] if length <= LONGEST_LINE else b""
            length += end - begin
            yield offset, bytes(held) if length <= LONGEST_LINE else length
            offset += length + 1
            held.clear()
            begin, length = end + 1, 0
        length += len(piece) - begin
        if length <= LONGEST_LINE:
            held += piece[begin:]
        else:
            held.clear()
    if length:
        yield offset, bytes(held) if length <= LONGEST_LINE else length


def read_line(source: str, offset: int, data: bytes | int) -> Read | Damaged:
    """One of `raw_lines` of object `source`."""
    if isinstance(data, int):
        return Damaged(offset, data, Damage.TOO_LONG)
    try:
        if not data.isascii():
            data.decode()
        line = _decode(data)
        moved = _moved(line, data, source)
    except msgspec.ValidationError:
        return Damaged(offset, len(data), Damage.NOT_A_LINE, data)
    except (msgspec.DecodeError, orjson.JSONDecodeError, UnicodeDecodeError, RecursionError):
        return Damaged(offset, len(data), Damage.NOT_JSON, data)
    # Only the beginning of these two is checked: their text is JSON, and its content is not needed.
    whole = bytes(line.receipt).startswith(b"{") and bytes(line.envelope).startswith(b'"')
    if not (whole and _PK.fullmatch(line.pk) and _SK.fullmatch(line.sk)):
        return Damaged(offset, len(data), Damage.NOT_A_LINE, data)
    copy = Copy(RowKey(line.pk, line.sk), Place(source, offset, len(data)), line.src)
    return Read(copy, line.c, moved)


_RawLine = StoredLine[msgspec.Raw, msgspec.Raw]
_decode: Final = msgspec.json.Decoder(_RawLine).decode


def _moved(line: _RawLine, data: bytes, source: str) -> bytes:
    """The line unchanged, except for its source: members that a newer release added stay."""
    before, found, after = data.partition(b'"src":' + orjson.dumps(line.src))
    if found and before == b'{"pk":%b,"sk":%b,' % (orjson.dumps(line.pk), orjson.dumps(line.sk)):
        return b"".join((before, b'"src":', orjson.dumps(source), after))
    return orjson.dumps({**orjson.loads(data), "src": source})
