"""Benchmark `memory`: the worker's memory after more and more messages, from one or from many senders."""

import gc
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

import psutil
from benchmarks.harness import Benchmark, Effort, Table, marked, times
from benchmarks.lone_worker import Sender, lone_worker

NOTES = """\
The real handler of `functions/worker`, in a process of its own, processes 100,000 messages of 2 kB in batches of 100.
It calls boto3, whose requests are answered by a fake instead of being sent, and looks up keys with complete DNSSEC
proofs. The table shows the memory of the process (RSS, after a garbage collection) after each tenth of the messages, as
a ratio to that after the first tenth.

Goal: within 5 % of the first tenth, in which the caches are filled.
"""

_SENDERS: Final[dict[str, Sender]] = {
    "one sender": lambda _number: "s1.senders",
    "all different senders": lambda number: f"s{number}.senders",
}
_TENTHS: Final = 10
_WITHIN: Final = 0.05


def measure(effort: Effort) -> Sequence[Table]:
    """One table: a row for one sender, and a row for many."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        found = list(pool.map(growth, _SENDERS, [effort.messages] * len(_SENDERS)))
    columns = ("messages from", *(f"{tenth}0 %" for tenth in range(1, _TENTHS + 1)))
    return [Table("", columns, tuple((kind, *_row(ratios)) for kind, ratios in zip(_SENDERS, found, strict=True)))]


def growth(kind: str, messages: int) -> list[float]:
    """The memory of this process after each tenth of `messages`, as a ratio to that after the first."""
    process, held = psutil.Process(), []
    with lone_worker() as worker:
        for _ in range(_TENTHS):
            worker.work(messages // _TENTHS, _SENDERS[kind])
            gc.collect()
            held.append(process.memory_info().rss)
    return [each / held[0] for each in held]


def _row(ratios: Sequence[float]) -> list[str]:
    return [times(ratios[0]), *(marked(ratio, reached=abs(ratio - 1) <= _WITHIN) for ratio in ratios[1:])]


BENCHMARK = Benchmark("memory", "The worker's memory", NOTES, measure)
