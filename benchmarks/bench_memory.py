"""Whether the worker's memory grows with the messages it works off, or with the senders it has met."""

import gc
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

import psutil
from benchmarks.harness import Benchmark, Effort, Table, marked, times
from benchmarks.lone_worker import Sender, lone_worker

NOTES = """\
The real handler of `functions/worker` in a process of its own works off 100,000 messages of 2 kB in batches of 100:
through boto3, whose requests are answered where they would leave the machine, and through whole walks of DNSSEC. What
stands here is the memory that the process holds (RSS, after a collection), after each tenth of the messages, as a ratio
to that after the first.

Wanted: within 5 % of the first tenth, in which the caches fill; what is not reached is marked ✗.
"""

_SENDERS: Final[dict[str, Sender]] = {
    "one sender": lambda _number: "s1.senders",
    "all of different senders": lambda number: f"s{number}.senders",
}
_TENTHS: Final = 10
_WITHIN: Final = 0.05


def measure(effort: Effort) -> Sequence[Table]:
    """One row for each kind of senders."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        found = list(pool.map(growth, _SENDERS, [effort.messages] * len(_SENDERS)))
    columns = ("messages are", *(f"{tenth}0 %" for tenth in range(1, _TENTHS + 1)))
    return [Table("", columns, tuple((kind, *_row(ratios)) for kind, ratios in zip(_SENDERS, found, strict=True)))]


def growth(kind: str, messages: int) -> list[float]:
    """The memory of this process after each tenth of so many messages, as a ratio to that after the first."""
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
