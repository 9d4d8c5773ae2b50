"""The cut of lines into chunks of about 10 MB: by mailbox, conversation, time and id. Pure.

Small conversations share a chunk: one object each would cost a PUT per conversation.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from postroom.storage.keys import RowKey

FULL_BYTES: Final = 10_000_000
"""A chunk has no more, unless it is a single line."""
ENOUGH_BYTES: Final = 8_000_000
"""From here on a chunk ends where a conversation does."""


@dataclass(frozen=True, slots=True)
class ChunkLine:
    """A line on its way into a chunk. `data`: as it will stand there, its newline not included.

    `source`, `number`: the object that it was copied from, and which of its lines it was, from 0.
    """

    row: RowKey
    conversation: str
    source: str
    number: int
    data: bytes

    @property
    def order(self) -> tuple[str, str, str]:
        """Where it belongs among others: mailbox, conversation, then time and id, as rows are keyed by them."""
        return self.row.mailbox, self.conversation, self.row.sk


def cut(lines: Iterable[ChunkLine]) -> Iterator[list[ChunkLine]]:
    """The chunks of lines that come in order. It holds those of one chunk."""
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
