"""Benchmark `hostile`: how long honest users wait beside an attack, compared with their quiet time."""

from collections.abc import Sequence
from typing import Final

from benchmarks import hostile_courier, hostile_lookups, hostile_silence, hostile_waits
from benchmarks.attack import MOST
from benchmarks.harness import Benchmark, Effort, Table

ATTACKS: Final = (
    hostile_courier.ATTACK,
    hostile_lookups.ATTACK,
    hostile_silence.ATTACK,
    hostile_waits.ATTACK,
)

NOTES: Final = f"""\
Each attack of [bounds.md](../reference/bounds.md) that a stranger without a key, or a single owner, can start. It is
played on the local stack with the real functions, beside honest traffic. The number is the time that the honest
requests or messages take beside the attack, as a multiple of the time that they take without it, in the same run. The
local stack and both kinds of traffic share the machine. Goal: ≤ {MOST:g}.
"""


def measure(effort: Effort) -> Sequence[Table]:
    """One table: a row for each attack."""
    return [Table("", ("attack", "honest", "ratio"), tuple(attack.row(effort) for attack in ATTACKS))]


BENCHMARK = Benchmark("hostile", "Waiting times beside an attack", NOTES, measure)
