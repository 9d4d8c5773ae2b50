"""Benchmark `hostile`: how long honest users wait beside an attack, compared with their quiet time."""

from collections.abc import Sequence
from typing import Final

from benchmarks import hostile_courier, hostile_lookups, hostile_silence, hostile_waits
from benchmarks.attack import MOST
from benchmarks.harness import TINY, Benchmark, Effort, Table, marked, times
from benchmarks.silent_queue import mean_wait

ATTACKS: Final = (
    hostile_courier.ATTACK,
    hostile_lookups.ATTACK,
    hostile_silence.ATTACK,
    hostile_silence.FROM_DUE,
    hostile_silence.COMPARISON,
    hostile_waits.ATTACK,
)
SIMULATED: Final = 20_000
SIMULATED_ZONES: Final = (20, SIMULATED)

NOTES: Final = f"""\
Each attack of [bounds.md](../reference/bounds.md) that a stranger without a key, or a single owner, can start. It is
played on the local stack with the real functions, beside honest traffic. The number is the time that the honest
requests or messages take beside the attack, as a multiple of the time that they take without it, in the same run. The
local stack and both kinds of traffic share the machine. Goal: ≤ {MOST:g}.

A retry has a delay of 5 s at least, which is part of the time that its sender waits. From when it is due, it takes
about 0.02 s here, because the local stack does not wait for a batch to fill, as Lambda does for a second. So short a
time is doubled whenever the processors are busy, whatever they do, and has no goal. It is compared with the time beside
the same attack on another deployment, which shares the machine and the embedded AWS with the one that is measured, and
nothing else: that shows what the queues, tables and functions of a deployment add, and has the goal.

The second table is simulated: two days of the retries of honest senders beside {SIMULATED:,} claims whose zones do not
answer, with the concurrency, the batches and the delays of the template (`benchmarks/silent_queue.py`).
"""


def measure(effort: Effort) -> Sequence[Table]:
    """A table with a row for each attack, and a simulated one."""
    played = tuple(attack.row(effort) for attack in ATTACKS)
    return [Table("", ("attack", "honest", "ratio"), played), _simulated(effort)]


def _simulated(effort: Effort) -> Table:
    """Retries beside many waiting claims. Raises AssertionError if the waiting queue does not keep up."""
    rows = []
    for zones in SIMULATED_ZONES:
        forgeries = 100 if effort == TINY else SIMULATED
        quiet = mean_wait(0, zones, apart=True)
        together, apart = (mean_wait(forgeries, zones, apart=apart) / quiet for apart in (False, True))
        rows.append((f"of {zones:,} zones", times(together), marked(apart, reached=apart <= MOST)))
    columns = (f"{SIMULATED:,} claims", "in the retry queue", "in a queue of their own")
    return Table("A retry beside claims that wait for silent zones, simulated, mean", columns, tuple(rows))


BENCHMARK = Benchmark("hostile", "Waiting times beside an attack", NOTES, measure)
