"""What waits in a mailbox, as its owner is shown it: pages, single messages, conversations, how much there is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

import msgspec

from postroom.counter.cursors import read_cursor, write_cursor
from postroom.counter.shapes import Conversation, Conversations, Message, Status
from postroom.errors import TheirError
from postroom.nlweb.timestamp import write_timestamp
from postroom.reasons import Reason
from postroom.store.directory import Directory
from postroom.store.ids import id_of, row_of
from postroom.store.reader import Filed, Reader
from postroom.store.register import Register, Row
from postroom.store.segments import READ_BYTES

MOST_COUNTED: Final = 10_000
"""Rows that one request looks at to count what waits; they take some 600 read units."""
MAX_MESSAGE_BYTES: Final = 4_000_000
"""Of a message in JSON; of a larger one the envelope is fetched by itself, in parts."""

AT_ONCE: Final = 100
"""Messages that are held at once, where an answer is made of many; fewer, where they are large."""
NOTHING_WAITS: Final = Status(waiting=0, bytes=0, more=False, oldest=None, age_seconds=0)

_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Shown:
    """A page: each message in JSON. `cursor`: where it ends; `more`: whether there is more now."""

    messages: list[bytes]
    cursor: str
    more: bool


class Shelves:
    """Reads; writes nothing. `clock`: epoch seconds."""

    def __init__(self, reader: Reader, register: Register, directory: Directory, clock: Callable[[], float]) -> None:
        self._reader = reader
        self._register = register
        self._directory = directory
        self._clock = clock

    def page(self, mailbox: str, after: str, limit: int, max_bytes: int, conversation: str) -> Shown:
        """Messages after a cursor, at least one if there are any. Raises TheirError(CURSOR_INVALID), NotNowError."""
        place = read_cursor(mailbox, after)
        rows = self._waiting(mailbox, limit + 1, cursor=place, conversation=conversation)
        chosen: list[Row] = []
        size, more = 0, False
        for row in rows:
            size += _length(row)
            if len(chosen) == limit or (chosen and size > max_bytes):
                more = True
                break
            chosen.append(row)
        messages: list[bytes] = []
        size = 0
        for filed in self._reader.fetch_all(chosen):
            message = encoded(filed)
            size += len(message)
            # In JSON a line is a little shorter than in its segment, or up to twice as long.
            if messages and size > max_bytes:
                more = True
                break
            messages.append(message)
            place = filed.row.key.sk
        else:
            # What is gone meanwhile is passed over.
            place = chosen[-1].key.sk if chosen else place
        return Shown(messages, write_cursor(mailbox, place), more)

    def filed(self, mailbox: str, message_id: str) -> Filed:
        """One message that waits. Raises TheirError(MESSAGE_UNKNOWN), NotNowError(STORE_UNAVAILABLE)."""
        key = row_of(message_id, mailbox)
        row = self._register.find(key) if key else None
        found = self._reader.fetch(row) if row and row.waits(int(self._clock())) else None
        if found is None:
            raise TheirError(Reason.MESSAGE_UNKNOWN)
        return found

    def all_filed(self, mailbox: str, conversation: str = "") -> Iterator[Filed]:
        """All messages that wait, the oldest first. Raises NotNowError(STORE_UNAVAILABLE)."""
        chosen: list[Row] = []
        size = 0
        for row in self._waiting(mailbox, AT_ONCE, conversation=conversation):
            if chosen and (len(chosen) == AT_ONCE or size + _length(row) > READ_BYTES):
                yield from self._reader.fetch_all(chosen)
                chosen, size = [], 0
            chosen.append(row)
            size += _length(row)
        yield from self._reader.fetch_all(chosen)

    def status(self, mailbox: str) -> Status:
        """How much waits. Raises NotNowError(STORE_UNAVAILABLE)."""
        rows = self._waiting(mailbox, MOST_COUNTED + 1)
        counted = list(islice(rows, MOST_COUNTED))
        oldest = counted[0].key.received_at_ms if counted else None
        return Status(
            waiting=len(counted),
            bytes=sum(map(_length, counted)),
            more=next(rows, None) is not None,
            oldest=None if oldest is None else write_timestamp(oldest),
            age_seconds=0 if oldest is None else max(0, int(self._clock() - oldest / 1000)),
        )

    def conversations(self, mailbox: str) -> Conversations:
        """Whom messages that wait are exchanged with. Raises NotNowError(STORE_UNAVAILABLE)."""
        rows = self._waiting(mailbox, MOST_COUNTED + 1)
        by_partner: dict[str, list[Row]] = {}
        for row in islice(rows, MOST_COUNTED):
            by_partner.setdefault(row.conversation, []).append(row)
        return Conversations(
            [
                Conversation(partner, len(its), received_at(its[0]), received_at(its[-1]))
                for partner, its in by_partner.items()
            ],
            more=next(rows, None) is not None,
        )

    def _waiting(self, mailbox: str, wanted: int, *, cursor: str = "", conversation: str = "") -> Iterator[Row]:
        now, shards = int(self._clock()), self._directory.shards(mailbox)
        return self._reader.list(mailbox, shards, now=now, cursor=cursor, conversation=conversation, wanted=wanted)


def encoded(filed: Filed) -> bytes:
    """A message in JSON; without its envelope, if it is too large with it."""
    line, row = filed.line, filed.row
    message = Message(id_of(row.key), received_at(row), row.conversation, dict(line.receipt), line.envelope)
    data = _encode(message)
    if len(data) <= MAX_MESSAGE_BYTES:
        return data
    return _encode(msgspec.structs.replace(message, envelope=msgspec.UNSET))


def received_at(row: Row) -> str:
    """When the message came in at the door, RFC 3339."""
    return write_timestamp(row.key.received_at_ms)


def _length(row: Row) -> int:
    return row.place.length if row.place else 0
