"""The waiting messages of a mailbox, for its owner: pages, single messages, conversations, status."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Final

import msgspec

from postroom.api.reasons import CONTENT_UNAVAILABLE, MESSAGE_UNKNOWN, MESSAGE_UNREADABLE
from postroom.api.schemas import Conversation, Conversations, Message, Status
from postroom.core.errors import NotNowError, TheirError
from postroom.core.timestamps import write_timestamp
from postroom.http.cursors import read_cursor, write_cursor
from postroom.http.fetching import Fetching, log_unreadable, reading_contents
from postroom.storage.aws.object_store import READ_BYTES
from postroom.storage.directory.domains import Directory
from postroom.storage.layout import RowKey
from postroom.storage.mail.ids import id_of, row_of
from postroom.storage.mail.reader import Filed, PassedOver, Reader, Unreadable
from postroom.storage.mail.register import Register, Row

MOST_COUNTED: Final = 10_000
"""Rows that one request reads to count messages; they take some 600 read units."""
READING_SECONDS: Final = 5.0
"""How long one request reads tombstones, or rows of other conversations, before it ends with what it has: some 300,000,
by the 3,000 read units a second of a partition. A request that has waited for 20 s has no more time than this."""
MAX_MESSAGE_BYTES: Final = 4_000_000
"""The largest size of a message in JSON; the envelope of a larger one is fetched separately, in parts."""

AT_ONCE: Final = 100
"""Messages that are held at once, if an answer is made of many; fewer, if they are large."""
MOST_WATCHED: Final = 100
"""The most messages behind a cursor that a waiting request watches: each look reads their rows, at most five read
units, and one more for each gap among them."""
NOTHING_WAITS: Final = Status(waiting=0, bytes=0, more=False, oldest=None, age_seconds=0)

_encode: Final = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page: each message in JSON. `cursor`: where it ends; `more`: whether there are more messages now.

    `unreadable`: ids of messages that belong to the page and cannot be read.
    """

    messages: list[bytes]
    cursor: str
    more: bool
    unreadable: list[str]

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show, and no further page."""
        return not (self.messages or self.unreadable or self.more)


ANOTHER_PASS: Final = ListedPage([], "", more=True, unreadable=[])
"""There is a message behind the cursor: the next page is the first of a new pass."""


@dataclass(frozen=True, slots=True, eq=False)
class MessageListing:
    """Reads messages. `clock`: epoch seconds. Fetching ends at `until` at the latest."""

    reader: Reader
    fetching: Fetching
    register: Register
    directory: Directory
    clock: Callable[[], float]

    def page(
        self, mailbox: str, after: str, limit: int, max_bytes: int, partner: frozenset[str], until: float
    ) -> ListedPage:
        """Messages after a cursor; fewer than requested, and perhaps none although there are more, if it takes long.

        `partner`: the names under which the messages of one conversation may be filed; empty: all conversations. Raises
        TheirError(CURSOR_INVALID), NotNowError.
        """
        place = read_cursor(mailbox, after)
        rows = self._waiting(mailbox, limit + 1, cursor=place, partner=partner)
        chosen: list[Row] = []
        size, more, passed = 0, False, ""
        for row in rows:
            if isinstance(row, PassedOver):
                more, passed = True, row.sk
                break
            size += _length(row)
            if len(chosen) == limit or (chosen and size > max_bytes):
                more = True
                break
            chosen.append(row)
        messages: list[bytes] = []
        unreadable: list[str] = []
        size = done = 0
        for row, found in zip(chosen, self.fetching.fetch(chosen, until), strict=False):
            if isinstance(found, Unreadable):
                unreadable.append(id_of(row.key))
            elif found is not None:
                message = encoded(found)
                size += len(message)
                # A line in JSON is between a little shorter and twice as long as in its segment.
                if messages and size > max_bytes:
                    break
                messages.append(message)
            # Messages that are gone meanwhile are skipped.
            place, done = row.key.sk, done + 1
        if done == len(chosen):
            place = passed or place
        return ListedPage(messages, write_cursor(mailbox, place), more or done < len(chosen), unreadable)

    def behind(self, mailbox: str, after: str, partner: frozenset[str]) -> frozenset[RowKey] | None:
        """The messages up to a cursor; None: more than are watched. Raises as `page` does."""
        place = read_cursor(mailbox, after)
        if not place:
            return frozenset()
        found = set()
        for row in self._waiting(mailbox, MOST_WATCHED + 1, partner=partner):
            if isinstance(row, PassedOver):
                if row.sk >= place:
                    break
                return None
            if row.key.sk > place:
                break
            found.add(row.key)
            if len(found) > MOST_WATCHED:
                return None
        return frozenset(found)

    def came_behind(self, mailbox: str, after: str, partner: frozenset[str], stays: frozenset[RowKey]) -> bool:
        """Whether there are more than `stays` messages up to a cursor. Raises as `page` does."""
        now = self.behind(mailbox, after, partner)
        return now is None or bool(now - stays)

    def filed(self, mailbox: str, message_id: str) -> Filed:
        """One message of the mailbox.

        Raises TheirError(MESSAGE_UNKNOWN), NotNowError: STORE_UNAVAILABLE; MESSAGE_UNREADABLE, CONTENT_UNAVAILABLE: it
        is there.
        """
        key = row_of(message_id, mailbox)
        row = self.register.find(key) if key else None
        found = None
        if row and row.waits(int(self.clock())):
            with reading_contents():
                found = self.reader.fetch(row)
        if found is None:
            raise TheirError(MESSAGE_UNKNOWN)
        if isinstance(found, Unreadable):
            log_unreadable(found)
            raise NotNowError(MESSAGE_UNREADABLE)
        return found

    def all_filed(self, mailbox: str, until: float, partners: Collection[str] | None = None) -> Iterator[Filed]:
        """All messages of the mailbox, the oldest first, without those that cannot be read; `partners`: only with
        these.

        Raises NotNowError: STORE_UNAVAILABLE; CONTENT_UNAVAILABLE, also if not all could be read in time.
        """
        chosen: list[Row] = []
        size = 0
        for row in self._walk(mailbox, AT_ONCE):
            if isinstance(row, PassedOver):
                # So they are not lost if the time ends among what is passed over.
                yield from self._readable(chosen, until)
                chosen, size = [], 0
                if self.clock() > until:
                    raise _not_in_time()
                continue
            if partners is not None and row.conversation not in partners:
                continue
            if chosen and (len(chosen) == AT_ONCE or size + _length(row) > READ_BYTES):
                yield from self._readable(chosen, until)
                chosen, size = [], 0
            chosen.append(row)
            size += _length(row)
        yield from self._readable(chosen, until)

    def status(self, mailbox: str) -> Status:
        """The number and size of the messages. Raises NotNowError(STORE_UNAVAILABLE)."""
        counted, more = self._counted(mailbox)
        oldest = counted[0].key.received_at_ms if counted else None
        return Status(
            waiting=len(counted),
            bytes=sum(map(_length, counted)),
            more=more,
            oldest=None if oldest is None else write_timestamp(oldest),
            age_seconds=0 if oldest is None else max(0, int(self.clock() - oldest / 1000)),
        )

    def conversations(self, mailbox: str) -> Conversations:
        """The partners of the messages in the mailbox. Raises NotNowError(STORE_UNAVAILABLE)."""
        counted, more = self._counted(mailbox)
        by_partner: dict[str, list[Row]] = {}
        for row in counted:
            by_partner.setdefault(row.conversation, []).append(row)
        return Conversations(
            [
                Conversation(partner, len(its), received_at(its[0]), received_at(its[-1]))
                for partner, its in by_partner.items()
            ],
            more=more,
        )

    def _readable(self, rows: list[Row], until: float) -> Iterator[Filed]:
        found = self.fetching.fetch(rows, until)
        yield from (each for each in found if isinstance(each, Filed))
        if len(found) < len(rows):
            raise _not_in_time()

    def _counted(self, mailbox: str) -> tuple[list[Row], bool]:
        """The first messages, and whether there may be more."""
        waiting = self._waiting(mailbox, MOST_COUNTED + 1)
        counted: list[Row] = []
        for row in waiting:
            if isinstance(row, PassedOver) or len(counted) == MOST_COUNTED:
                return counted, True
            counted.append(row)
        return counted, False

    def _waiting(
        self, mailbox: str, wanted: int, *, cursor: str = "", partner: frozenset[str] = frozenset()
    ) -> Iterator[Row | PassedOver]:
        """The messages' rows; the last one is a place instead, if the time for reading ends there."""
        until = self.clock() + READING_SECONDS
        for row in self._walk(mailbox, wanted, cursor=cursor, partner=partner):
            if not isinstance(row, PassedOver):
                yield row
            elif self.clock() >= until:
                yield row
                return

    def _walk(
        self, mailbox: str, wanted: int, *, cursor: str = "", partner: frozenset[str] = frozenset()
    ) -> Iterator[Row | PassedOver]:
        now, shards = int(self.clock()), self.directory.shards(mailbox)
        return self.reader.walk(mailbox, shards, now=now, cursor=cursor, conversations=partner, wanted=wanted)


def encoded(filed: Filed) -> bytes:
    """A message in JSON; without its envelope, if that makes it too large."""
    line, row = filed.line, filed.row
    message = Message(id_of(row.key), received_at(row), row.conversation, dict(line.receipt), line.envelope)
    data = _encode(message)
    if len(data) <= MAX_MESSAGE_BYTES:
        return data
    return _encode(msgspec.structs.replace(message, envelope=msgspec.UNSET))


def received_at(row: Row) -> str:
    """When the inbox received the message, RFC 3339."""
    return write_timestamp(row.key.received_at_ms)


def _not_in_time() -> NotNowError:
    return NotNowError(CONTENT_UNAVAILABLE, "not all messages could be read in time")


def _length(row: Row) -> int:
    return row.place.length if row.place else 0
