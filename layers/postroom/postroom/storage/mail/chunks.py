"""The division of sorted lines into chunks of about 10 MB: by mailbox, conversation, time and id. Pure.

Small conversations share a chunk, because one object each would cost a PUT per conversation.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from postroom.storage.layout import RowKey

FULL_BYTES: Final = 10_000_000
"""The largest size of a chunk, unless it is a single line."""
ENOUGH_BYTES: Final = 8_000_000
"""From this size on, a chunk ends at the end of a conversation."""


@dataclass(frozen=True, slots=True)
class ChunkLine:
    """A line to be put into a chunk. `data`: as it is written there, without its newline.

    `source`, `number`: the object that it was copied from, and the number of the line there, from 0.
    """

    row: RowKey
    conversation: str
    source: str
    number: int
    data: bytes

    @property
    def order(self) -> tuple[str, str, str]:
        """Its order among others: by mailbox, conversation, then time and id, as in the keys of rows."""
        return self.row.mailbox, self.conversation, self.row.sk


def cut(lines: Iterable[ChunkLine]) -> Iterator[list[ChunkLine]]:
    """Cut ordered lines into chunks. One chunk is held in memory."""
    chunk: list[ChunkLine] = []
    size = 0
    for line in lines:
        more = len(line.data) + 1
        if chunk and (size + more > FULL_BYTES or (size >= ENOUGH_BYTES and chunk[-1].order[:2] != line.order[:2])):
            yield chunk
            chunk, size = [], 0
        chunk.append(line)
        size += more
    if chunk:
        yield chunk
