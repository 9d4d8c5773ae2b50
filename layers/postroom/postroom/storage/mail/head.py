"""The head of a partition: hints what a pass need not read, because no row is live there. Row `!head` of table `post`.

A mailbox that is emptied every day has a month of tombstones before its first live row, and one whose owner keeps a
message has them behind it. Without the hints, each listing would read and pay for all of them. `gen` counts how many
times a row was filed late; a process that writes a hint must have read it before its first query
(docs/design/store-protocol.md, Head hint; tests/model/head.py).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from postroom.core.errors import NotNowError
from postroom.storage.aws.attributes import SK, Item, Number, Text, primary_key
from postroom.storage.aws.table import DynamoTable
from postroom.storage.layout import ROW_PREFIX, RowKey, arrival_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

POSITION, GENERATION = Text("pos"), Number("gen")
GAPS, GAPS_GENERATION = Text("gaps"), Number("gaps_gen")
"""The gaps, and the generation in which they hold: a worker of a release that knows none ends them by its count."""
_HEAD: Final = "!head"
_GAP: Final = r"\d+-\d+-\d+"
_GAPS: Final = re.compile(rf"({_GAP}( {_GAP})*)?", re.ASCII)
BEYOND_ALL: Final = f"{ROW_PREFIX}~"
LATE_MS: Final = 15 * 1000
"""A row that is filed so long after its claim was received may be where a pass does not read. More than the longest
batching window of the worker, so that few are."""
SETTLED_MS: Final = 75 * 1000
"""A hint ends at a time at least this long ago: later claims may still be filed without a look at the head.

Each listing reads the tombstones since then again, and anybody can make us write some. The clocks of the worker and of
the reader may differ by what lies between the two times: of both releases, while an upgrade goes on.
"""
WORTH_LEARNING: Final = 200
"""About how many tombstones in a row a pass reads before it writes a hint: reading their 20 kB costs more than that."""
MOST_GAPS: Final = 24
"""The most gaps of a head, so that it takes one write unit; those with the most rows stay."""


@dataclass(frozen=True, slots=True, order=True)
class Gap:
    """A range of times of arrival, epoch milliseconds, without a live row; `end` is behind it. `rows`: how many
    tombstones it has, about.
    """

    begin: int
    end: int
    rows: int

    def without(self, at_ms: int) -> "tuple[Gap, ...]":
        """What remains of it if a row with this time is live."""
        if not self.begin <= at_ms < self.end:
            return (self,)
        parts = Gap(self.begin, at_ms, self.rows // 2), Gap(at_ms + 1, self.end, self.rows // 2)
        return tuple(part for part in parts if part.begin < part.end)


@dataclass(frozen=True, slots=True)
class Head:
    """Where a pass begins, and the gaps that it does not read, in order. `generation`: the head is written only if this
    has not changed. `outdated`: it has, so this pass writes no more.
    """

    sk: str
    generation: int
    gaps: tuple[Gap, ...] = ()
    outdated: bool = False

    def leaves_out(self, row: RowKey) -> bool:
        """Whether a pass does not read a row."""
        return row.sk < self.sk or any(gap.begin <= row.received_at_ms < gap.end for gap in self.gaps)

    def ranges(self, cursor: str) -> Iterator[tuple[str, str, int]]:
        """What a pass from a cursor reads: ranges of `sk`, and the rows of the gap behind each, about."""
        begin = max(self.sk, cursor)
        for gap in self.gaps:
            if begin < _sk_of(gap.end):
                yield begin, _sk_of(gap.begin), gap.rows
                begin = _sk_of(gap.end)
        yield begin, BEYOND_ALL, 0


class Heads:
    """The head of each partition. Any process may repeat any operation, in any order."""

    def __init__(self, dynamodb: "DynamoDBClient", table: str) -> None:
        self._table = DynamoTable(dynamodb, table)

    def read(self, pk: str) -> Head:
        """The current head. Raises NotNowError(STORE_UNAVAILABLE)."""
        row = self._table.get(primary_key(pk, _HEAD))
        return read_head(row) if row else Head(ROW_PREFIX, 0)

    def raise_to(self, pk: str, found: Head, place: str, begun_ms: int) -> Head:
        """Let the next pass begin at a place, or SETTLED_MS ago, whichever is earlier; return the head then.

        `found`: the head before the first query of this pass, at `begun_ms` (epoch milliseconds), or what an earlier
        call of this pass returned; if another process has changed it since, nothing happens, now or later. `place`: of
        a row before which no row is live. Raises NotNowError(STORE_UNAVAILABLE).
        """
        sk = min(place, _sk_of(begun_ms - SETTLED_MS))
        if sk <= found.sk:
            return found
        raised = self._table.update(
            primary_key(pk, _HEAD),
            f"SET {POSITION} = :sk, {GENERATION} = :gen",
            {":sk": POSITION.encode(sk), ":gen": GENERATION.encode(found.generation)},
            f"({_unchanged(found)}) AND (attribute_not_exists({POSITION}) OR {POSITION} < :sk)",
        )
        return replace(found, sk=sk) if raised else replace(found, outdated=True)

    def leave_out(self, pk: str, found: Head, gap: Gap, begun_ms: int) -> Head:
        """Let later passes leave out a gap, of which this pass has read all rows, up to SETTLED_MS ago.

        The rest is as for `raise_to`.
        """
        gap = replace(gap, end=min(gap.end, begun_ms - SETTLED_MS))
        if gap.end <= gap.begin or _sk_of(gap.end) <= found.sk:
            return found
        gaps = _joined(found.gaps, gap, found.sk)
        if gaps == found.gaps:
            return found
        learned = self._table.update(
            primary_key(pk, _HEAD),
            f"SET {GAPS} = :gaps, {GAPS_GENERATION} = :gen, {GENERATION} = :gen",
            {":gaps": GAPS.encode(_encoded(gaps)), ":gen": GENERATION.encode(found.generation)},
            _unchanged(found),
        )
        return replace(found, gaps=gaps) if learned else replace(found, outdated=True)

    def show(self, row: RowKey, now_ms: int) -> None:
        """Make the next pass include a live row, if it was filed late.

        `now_ms`: read after the row was written, or met: whoever wrote it may have died before this. Raises
        NotNowError(STORE_UNAVAILABLE).
        """
        if now_ms - row.received_at_ms > LATE_MS:
            self.include(row)

    def show_again(self, row: RowKey, now_ms: int) -> None:
        """The same for a row that the claim of a copy meets: whoever sends copies must not keep passes from learning.

        No pass goes on that began before the row was written: a claim is handed out again later than a function ends.
        """
        if now_ms - row.received_at_ms > LATE_MS and self.read(row.pk).leaves_out(row):
            self.include(row)

    def include(self, row: RowKey) -> None:
        """Record that a row was filed late: no later pass may leave it out, and no pass that has begun may write what
        it learned.

        Raises NotNowError(STORE_UNAVAILABLE).
        """
        found = self.read(row.pk)
        if found.gaps and self._cut(row, found):
            return
        # One of the two conditions holds for any head. The head may move between the two attempts, so they are
        # repeated. All gaps end, as they were read in another generation.
        is_before = found.sk > row.sk
        while not self._count(row, is_before=is_before):
            is_before = not is_before

    def _cut(self, row: RowKey, found: Head) -> bool:
        """Take a row out of the gaps; False: they, or the position, have changed since they were read."""
        is_before = found.sk > row.sk
        cut = _largest(part for gap in found.gaps for part in gap.without(row.received_at_ms))
        return self._table.update(
            primary_key(row.pk, _HEAD),
            f"SET {GAPS} = :cut{f', {POSITION} = :sk' if is_before else ''} ADD {GENERATION} :one, "
            f"{GAPS_GENERATION} :one",
            {
                ":sk": POSITION.encode(row.sk),
                ":one": GENERATION.encode(1),
                ":cut": GAPS.encode(_encoded(cut)),
                ":gaps": GAPS.encode(_encoded(found.gaps)),
            },
            f"{GAPS} = :gaps AND ({_IS_BEFORE if is_before else _IS_AFTER})",
        )

    def _count(self, row: RowKey, *, is_before: bool) -> bool:
        change = f"{f'SET {POSITION} = :sk ' if is_before else ''}ADD {GENERATION} :one"
        values = {":sk": POSITION.encode(row.sk), ":one": GENERATION.encode(1)}
        return self._table.update(primary_key(row.pk, _HEAD), change, values, _IS_BEFORE if is_before else _IS_AFTER)


_IS_BEFORE: Final = f"{POSITION} > :sk"
_IS_AFTER: Final = f"attribute_not_exists({POSITION}) OR {POSITION} <= :sk"


@dataclass(slots=True)
class Learning:
    """What a pass that began at `begun_ms` (epoch milliseconds) learns, which it writes while it goes on: it may be
    ended, and the next one has less to read.

    `begin`: where the rows begin that it reads now, without having met a live one; None: where the head is.
    """

    heads: Heads
    pk: str
    head: Head
    begun_ms: int
    begin: int | None
    _rows: int = field(default=0, init=False)
    _unwritten: int = field(default=0, init=False)
    _gaps: int = field(default=0, init=False)

    def page_was_read(self, tombstones: int, live: Sequence[RowKey], up_to: str) -> None:
        """A page was read, up to this `sk`. `live`: its live rows."""
        # Where the tombstones of a page are is not known: evenly among its live rows, or all at the head.
        share = tombstones // (len(live) + 1)
        for key in live:
            self._count(tombstones if self.begin is None else share)
            self._write(key.sk, is_end=True)
            self.begin, self._rows, self._unwritten, self._gaps = key.received_at_ms + 1, 0, 0, 0
        self._count(share)
        self._write(up_to, is_end=up_to == BEYOND_ALL)

    def gap_was_left_out(self, rows: int) -> None:
        """The pass goes on behind a gap."""
        self._rows += rows
        self._gaps += 1

    def _count(self, tombstones: int) -> None:
        self._rows += tombstones
        self._unwritten += tombstones

    def _write(self, place: str, *, is_end: bool) -> None:
        joins = is_end and self._gaps >= (1 if self.begin is None else 2)
        if self.head.outdated or not (joins or self._unwritten >= WORTH_LEARNING):
            return
        self._unwritten = 0
        with suppress(NotNowError):  # it helps later passes, not this one
            if self.begin is None:
                self.head = self.heads.raise_to(self.pk, self.head, place, self.begun_ms)
            else:
                end = self.begun_ms if place == BEYOND_ALL else arrival_of(place)
                gap = Gap(self.begin, end, self._rows)
                self.head = self.heads.leave_out(self.pk, self.head, gap, self.begun_ms)


def is_head(row: Item) -> bool:
    """Whether a row of table `post` is a head, and not a register."""
    return SK.read(row) == _HEAD


def read_head(row: Item) -> Head:
    """A head from its attributes. Raises MalformedRowError."""
    sk, generation = POSITION.find(row), GENERATION.read(row)
    hold = GAPS_GENERATION.find(row) == generation
    return Head(ROW_PREFIX if sk is None else sk, generation, _decoded(GAPS.read(row)) if hold else ())


def _unchanged(found: Head) -> str:
    same = f"{GENERATION} = :gen"
    return same if found.generation else f"attribute_not_exists({GENERATION}) OR {same}"


def _joined(gaps: Iterable[Gap], new: Gap, position: str) -> tuple[Gap, ...]:
    """The gaps behind a position and a new one, in order; those that it touches are one with it."""
    apart: list[Gap] = []
    for gap in gaps:
        if gap.end < new.begin or new.end < gap.begin:
            apart.append(gap)
        else:
            new = Gap(min(gap.begin, new.begin), max(gap.end, new.end), max(gap.rows, new.rows))
    return _largest(gap for gap in (*apart, new) if position < _sk_of(gap.end))


def _largest(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    return tuple(sorted(sorted(gaps, key=lambda gap: -gap.rows)[:MOST_GAPS]))


def _encoded(gaps: Sequence[Gap]) -> str:
    return " ".join(f"{gap.begin}-{gap.end}-{gap.rows}" for gap in gaps)


def _decoded(text: str) -> tuple[Gap, ...]:
    """None, if a later release writes them in another way: they are hints."""
    return tuple(Gap(*map(int, each.split("-"))) for each in text.split()) if _GAPS.fullmatch(text) else ()


def _sk_of(at_ms: int) -> str:
    """What all rows with this time of arrival are behind, and no earlier one."""
    return f"{ROW_PREFIX}{at_ms:013d}"
