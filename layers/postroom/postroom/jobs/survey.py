"""Compact 1 and 2: objects are read, and each of their lines is compared with its row."""

from collections.abc import Iterable, Iterator, Sequence, Set
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Final

from postroom.core.errors import OurError
from postroom.jobs.bucket import Bucket, BucketObject
from postroom.jobs.past_lines import PastLines, bits
from postroom.jobs.prefetch import prefetch
from postroom.jobs.quarantine import Quarantine
from postroom.jobs.reading import Damage, Damaged, Read, raw_lines, read_line
from postroom.jobs.registers import MOST_READ, Registers
from postroom.jobs.tally import Tally
from postroom.storage.layout import SEGMENTS, hour_of
from postroom.storage.mail.chunks import ChunkLine
from postroom.storage.mail.line_state import PAST, LineState, line_state_of
from postroom.storage.mail.object_schedule import should_rewrite
from postroom.storage.mail.register import Row

_GROUP_BYTES: Final = 1_000_000
"""The bytes of objects that are read together, so that one request looks up many rows."""
_AHEAD_BYTES: Final = 32_000_000
_AT_ONCE_BYTES: Final = 8_000_000
"""The bytes of lines that wait for their look-up."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The parameters of a comparison of lines with rows.

    `now`: when the run began, epoch milliseconds. `held`: mailboxes under legal hold.
    """

    now: int
    retain_seconds: int
    held: Set[str]


@dataclass(slots=True)
class _Looked:
    """What was found in one object so far; `kept_bytes`: as stored."""

    found: BucketObject
    kept: list[ChunkLine] = field(default_factory=list)
    kept_bytes: int = 0
    lines: int = 0
    past: list[int] = field(default_factory=list)
    damaged: list[Damaged] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Reads objects. `may_rewrite`: live lines may be moved; otherwise they stay.

    Raises NotNowError(STORE_UNAVAILABLE).
    """

    bucket: Bucket
    registers: Registers
    quarantine: Quarantine
    terms: Terms
    tally: Tally
    pool: Executor
    may_rewrite: bool = True

    def survey(self, objects: Iterable[BucketObject]) -> Iterator[ChunkLine | PastLines]:
        """The lines to be moved, and the evidence about each object."""
        for looked in prefetch(self.pool, self._look, _groups(objects), cost=_bytes, most=_AHEAD_BYTES):
            yield from looked

    def _look(self, group: Sequence[BucketObject]) -> "list[ChunkLine | PastLines]":
        seen: list[_Looked] = []
        waiting: list[tuple[_Looked, int, Read]] = []
        size = 0
        for found in group:
            looked = _Looked(found)
            for offset, data in self._raw(found):
                number, looked.lines = looked.lines, looked.lines + 1
                read = read_line(found.name, offset, data)
                if isinstance(read, Damaged):
                    looked.damaged.append(read)
                    continue
                waiting.append((looked, number, read))
                size += len(read.moved)
                if len(waiting) == MOST_READ or size > _AT_ONCE_BYTES:
                    self._judge(waiting)
                    waiting, size = [], 0
            if looked.lines:
                seen.append(looked)
        self._judge(waiting)
        return [each for looked in seen for each in self._lines_of(looked)]

    def _raw(self, found: BucketObject) -> Iterator[tuple[int, bytes | int]]:
        with self.tally.timed("read"):
            try:
                pieces = self.bucket.read(found.name)
            except KeyError:
                # Another run has deleted it since it was listed.
                self.tally.add("objects.gone")
                return
        self.tally.add("objects.read")
        yield from raw_lines(pieces)

    def _judge(self, waiting: "Sequence[tuple[_Looked, int, Read]]") -> None:
        if not waiting:
            return
        with self.tally.timed("look up"):
            rows = self.registers.find_all([read.copy.row for _, _, read in waiting])
        self.tally.add("lines.read", len(waiting))
        for looked, number, read in waiting:
            stand = self._stand(read, rows[read.copy.row])
            if stand is LineState.HERE:
                looked.kept.append(ChunkLine(read.copy.row, read.conversation, looked.found.name, number, read.moved))
                looked.kept_bytes += read.copy.place.length + 1
                continue
            self.tally.add(f"{'dropped' if stand in PAST else 'left'}.{stand}")
            if stand in PAST:
                looked.past.append(number)
            if stand is LineState.ASTRAY:
                place = read.copy.place
                looked.damaged.append(Damaged(place.offset, place.length, Damage.ASTRAY))

    def _stand(self, read: Read, row: Row | OurError | None) -> LineState:
        if isinstance(row, OurError):
            return LineState.UNKNOWN
        now = self.terms.now // 1000
        stand = line_state_of(read.copy, row, now=now, retain_seconds=self.terms.retain_seconds)
        # The bytes of a mailbox under legal hold stay, whatever happened to the message. A moved line has its bytes
        # elsewhere.
        held = stand in PAST and stand is not LineState.MOVED and read.copy.row.mailbox in self.terms.held
        return LineState.HELD if held else stand

    def _lines_of(self, looked: _Looked) -> Iterator[ChunkLine | PastLines]:
        found = looked.found
        if looked.damaged:
            self.quarantine.put(found.name, looked.damaged)
        age = self.terms.now - hour_of(found.name)
        due = found.name.startswith(SEGMENTS) or should_rewrite(found.size, looked.kept_bytes, age)
        if self.may_rewrite and due:
            self.tally.add("lines.kept", len(looked.kept))
            yield from looked.kept
        else:
            self.tally.add("lines.stay", len(looked.kept))
        yield PastLines(found.name, looked.lines, bits(looked.past), found.size)


def _groups(objects: Iterable[BucketObject]) -> Iterator[list[BucketObject]]:
    group: list[BucketObject] = []
    for found in objects:
        if group and _bytes(group) + found.size > _GROUP_BYTES:
            yield group
            group = []
        group.append(found)
    if group:
        yield group


def _bytes(group: Sequence[BucketObject]) -> int:
    return sum(found.size for found in group)
