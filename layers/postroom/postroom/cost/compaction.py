"""The AWS requests and duration of a compaction run, by the mail of a day. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from postroom.cost import counted
from postroom.storage.mail.chunks import FULL_BYTES
from postroom.storage.mail.object_schedule import DAY_MS, HOUR_MS, MONTH_MS, is_chunk_due, should_rewrite

LEFT: Final = 0.05
"""The default share of mail that is not acknowledged when compaction reads it."""
_LISTED_AT_ONCE: Final = 1000


@dataclass(frozen=True, slots=True)
class Nights:
    """The settings of compaction, and the mail that it finds.

    `left`: share of the filed mail that is not acknowledged when compaction reads it. `later`: share of the mail in a
    chunk that is acknowledged between two looks at it. `reads`, `writes`: the maximum units per second of a run, shared
    among the slots of all `workers`, one of which is the Spark driver.
    """

    left: float = LEFT
    later: float = 0.2
    runs_a_day: int = 1
    workers: int = counted.JOB_WORKERS
    reads: float = counted.JOB_READS_PER_SECOND
    writes: float = counted.JOB_WRITES_PER_SECOND


@dataclass(frozen=True, slots=True)
class Phase:
    """One pass of Spark over the data. `busy`: concurrent slots. `workers`: billed workers, including the driver."""

    seconds: float
    busy: int
    workers: int

    @property
    def dpu_hours(self) -> float:
        """What Glue bills."""
        return self.workers * self.seconds / 3600


@dataclass(frozen=True, slots=True)
class Run:
    """One run in regular operation, with chunks of each age up to a month. Older chunks are not included.

    `survivors`: lines of segments that are moved. `chunks`: the number of chunks that they are moved into. `looked`:
    lines of earlier chunks that are looked up. `moved`: those of them that are copied again. `shuffled`: bytes that
    pass through Spark.
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
        """Read units: one for each line that is looked up."""
        return self.lines + self.looked

    @property
    def writes(self) -> float:
        """Write units: one for each line that is moved."""
        return self.survivors + self.moved

    @property
    def seconds(self) -> float:
        """The duration of the run, with its start."""
        return counted.JOB_START_SECONDS + self.survey.seconds + self.move.seconds


def run_of(lines_a_day: float, size: int, segments_a_line: float, nights: Nights) -> Run:
    """One run of a day with `lines_a_day` lines of `size` bytes, which are spread evenly over hours and mailboxes."""
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
            a_second=counted.JOB_LINES_PER_SECOND / slowdown,
            units=nights.reads,
            workers=nights.workers,
        ),
        move=_phase(
            survivors * (1 + moved),
            tasks=shuffled / counted.JOB_TASK_BYTES,
            a_second=counted.JOB_REPOINTS_PER_SECOND,
            units=nights.writes,
            workers=nights.workers,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Shares:
    """The tasks that process an hour, and the list requests that find its objects."""

    tasks: int
    lists: int


def _shares_of(objects: float) -> _Shares:
    tasks = counted.JOB_SHARES if objects > _LISTED_AT_ONCE else 1
    return _Shares(tasks, 1 + tasks * max(1, math.ceil(objects / tasks / _LISTED_AT_ONCE)))


def _phase(lines: float, *, tasks: float, a_second: float, units: float, workers: int) -> Phase:
    """A pass over `lines`. `a_second`: lines per second that the processor of one slot can process.

    The slot's share of `units` may allow fewer.
    """
    slots = counted.JOB_SLOTS
    busy = min(max(1, math.ceil(tasks)), slots * (workers - 1))
    of_a_slot = min(a_second, units / (slots * (workers - 1)))
    return Phase(lines / (busy * of_a_slot), busy, 1 + math.ceil(busy / slots))


def _looks(later: float) -> Iterator[tuple[float, float]]:
    """For each look at the chunks of a run, until they are a month old: the shares that are read and copied.

    Copied lines are in new chunks.
    """
    there, live, written = 1.0, 1.0, 0
    for now in range(DAY_MS, MONTH_MS + DAY_MS, DAY_MS):
        if live and is_chunk_due(written - HOUR_MS, now - DAY_MS, now):
            live *= 1 - later
            copied = should_rewrite(FULL_BYTES, round(FULL_BYTES * live / there), now - written)
            yield there, live if copied else 0.0
            if copied:
                there, written = live, now


def segments_kept_days(nights: Nights) -> float:
    """How long a segment is kept: the lag, the rest of its hour, and the time until the next run."""
    return (counted.JOB_LAG_HOURS + 0.5 + 24 / nights.runs_a_day / 2) / 24
