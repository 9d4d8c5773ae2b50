"""The AWS requests and duration of a compaction run, by the mail of a day. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from postroom.cost import counted
from postroom.storage.mail.chunks import FULL_BYTES
from postroom.storage.mail.rounds import DAY_MS, HOUR_MS, MONTH_MS, is_chunk_due, moves

LEFT: Final = 0.05
"""Share of mail that nobody has acknowledged when compaction comes to it, unless one knows better."""
_LISTED_AT_ONCE: Final = 1000


@dataclass(frozen=True, slots=True)
class Nights:
    """How compaction goes, and what it finds.

    `left`: share of what is filed that is not acknowledged when compaction comes to it. `later`: share of what is left
    then, and after each look at a chunk, that is acknowledged until the next. `reads`, `writes`: units a second that a
    run takes at most, shared among the slots of all `workers`, of which one is Spark's driver.
    """

    left: float = LEFT
    later: float = 0.2
    runs_a_day: int = 1
    workers: int = counted.JOB_WORKERS
    reads: float = counted.JOB_READS_A_SECOND
    writes: float = counted.JOB_WRITES_A_SECOND


@dataclass(frozen=True, slots=True)
class Phase:
    """One way of Spark through all there is. `busy`: slots that work at a time. `workers`: paid for, the driver too."""

    seconds: float
    busy: int
    workers: int

    @property
    def dpu_hours(self) -> float:
        """What Glue bills."""
        return self.workers * self.seconds / 3600


@dataclass(frozen=True, slots=True)
class Run:
    """One run among many, when there are chunks of each age up to a month. Chunks older than that are not in it.

    `survivors`: lines of segments that move. `chunks`: that they become. `looked`, `moved`: lines of earlier chunks
    that are looked at, and of these copied once more. `shuffled`: bytes that cross Spark.
    """

    lines: float
    segments: float
    survivors: float
    chunks: float
    looked: float
    moved: float
    lists: float
    gets: float
    puts: float
    shuffled: float
    survey: Phase
    move: Phase

    @property
    def reads(self) -> float:
        """Read units: one for each line that is looked at."""
        return self.lines + self.looked

    @property
    def writes(self) -> float:
        """Write units: one for each line that moves."""
        return self.survivors + self.moved

    @property
    def seconds(self) -> float:
        """How long it takes, with what it takes before it begins."""
        return counted.JOB_START_SECONDS + self.survey.seconds + self.move.seconds


def run_of(lines_a_day: float, size: int, segments_a_line: float, nights: Nights) -> Run:
    """One of the runs of a day on which so many lines of `size` bytes are filed; evenly, by hour and by mailbox."""
    line_bytes = size + counted.LINE_BYTES_BESIDE
    lines = lines_a_day / nights.runs_a_day
    survivors = lines * nights.left
    of_looks = list(_looks(nights.later))
    looked = sum(read for read, _ in of_looks)
    moved = sum(copied for _, copied in of_looks)
    chunks = math.ceil(survivors * line_bytes / counted.CHUNK_BYTES)
    hours = 24 / nights.runs_a_day
    in_an_hour = _shares_of(lines * segments_a_line / hours)
    looks = len(of_looks) if survivors else 0
    in_a_look = _shares_of(chunks)
    slowdown = line_bytes / (counted.SMALL_BYTES + counted.LINE_BYTES_BESIDE)
    shuffled = survivors * (1 + moved) * line_bytes
    return Run(
        lines=lines,
        segments=lines * segments_a_line,
        survivors=survivors,
        chunks=chunks,
        looked=survivors * looked,
        moved=survivors * moved,
        lists=counted.JOB_WALKS + hours * in_an_hour.lists + looks * in_a_look.lists,
        gets=lines * segments_a_line + chunks * looked,
        puts=chunks * (1 + moved),
        shuffled=shuffled,
        survey=_phase(
            lines + survivors * looked,
            tasks=hours * in_an_hour.tasks + looks * in_a_look.tasks,
            a_second=counted.JOB_LINES_A_SECOND / slowdown,
            units=nights.reads,
            workers=nights.workers,
        ),
        move=_phase(
            survivors * (1 + moved),
            tasks=shuffled / counted.JOB_TASK_BYTES,
            a_second=counted.JOB_REPOINTS_A_SECOND,
            units=nights.writes,
            workers=nights.workers,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Shares:
    """In how many tasks an hour is worked off, and by how many lists its objects are found."""

    tasks: int
    lists: int


def _shares_of(objects: float) -> _Shares:
    tasks = counted.JOB_SHARES if objects > _LISTED_AT_ONCE else 1
    return _Shares(tasks, 1 + tasks * max(1, math.ceil(objects / tasks / _LISTED_AT_ONCE)))


def _phase(lines: float, *, tasks: float, a_second: float, units: float, workers: int) -> Phase:
    """`a_second`: lines for which the processor of one slot is good; its share of the `units` may be less."""
    slots = counted.JOB_SLOTS
    busy = min(max(1, math.ceil(tasks)), slots * (workers - 1))
    of_a_slot = min(a_second, units / (slots * (workers - 1)))
    return Phase(lines / (busy * of_a_slot), busy, 1 + math.ceil(busy / slots))


def _looks(later: float) -> Iterator[tuple[float, float]]:
    """Of each look at the chunks of a run, until they are a month old: what is read and what is copied, in shares.

    What is copied is in chunks that are young again.
    """
    there, live, written = 1.0, 1.0, 0
    for now in range(DAY_MS, MONTH_MS + DAY_MS, DAY_MS):
        if live and is_chunk_due(written - HOUR_MS, now - DAY_MS, now):
            live *= 1 - later
            copied = moves(FULL_BYTES, round(FULL_BYTES * live / there), now - written)
            yield there, live if copied else 0.0
            if copied:
                there, written = live, now


def segments_kept_days(nights: Nights) -> float:
    """How long a segment lies there: the lag, to the end of its hour, and until the next run."""
    return (counted.JOB_LAG_HOURS + 0.5 + 24 / nights.runs_a_day / 2) / 24
