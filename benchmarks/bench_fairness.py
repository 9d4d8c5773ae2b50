"""Benchmark `fairness`: how long senders wait beside one with 90 % of the messages, by message group."""

import heapq
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from benchmarks.fair_queue import FairQueue
from benchmarks.harness import Benchmark, Effort, Table, times

from postroom.storage.layout import sender_group

LOUD_SHARE: Final = 0.9
QUIET: Final = 50
WORKERS: Final = 10
BATCH: Final = 100
OVERLOAD: Final = 2
"""Messages that arrive for each message that the workers can process during the overload."""
LASTS: Final = 10
"""The duration of the overload, as a multiple of the duration of a batch."""
_NETWORK: Final = "192.0.2.1"
_LOUD_NETWORK: Final = "198.51.100.1"

NOTES: Final = f"""\
Simulated: no emulator has the fair queues of SQS. The queue is a model of what their documentation says
(`benchmarks/fair_queue.py`), and so is time; the groups are those that the inbox computes. {WORKERS} workers take
batches of {BATCH} messages. For the duration of {LASTS} batches, twice as many messages arrive as they can process.
90 % of them come from one network; {QUIET} quiet senders send the rest. The loud sender uses its own name in half of
its messages, and the name of one quiet sender in the other half: a forgery, which is not detected before the worker
verifies it. Each number is the mean time that a message waits, as a multiple of the duration of a batch. If messages
are grouped by name alone, the sender whose name is forged waits as long as the forger.

In the last row, the loud sender invents a name for each message, and groups do not help: none of them is noisy, and the
quiet senders wait as long as without groups. Only the worker finds out that a name has no key, and in a zone of one's
own any number of names can have one. Grouped by network alone, all these names would be one sender; but so would all
customers of a cloud who share its addresses, and any of them could delay the others. The remaining protection is the
throttle of the API, which limits the total rate, and so how fast a backlog can grow.
"""
INVENTED: Final = "the quiet senders, with invented names"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message: its time of arrival, its claimed sender, its network."""

    at: float
    sender: str
    source: str

    @property
    def who(self) -> str:
        """The sender, as a row of the table."""
        if self.source == _LOUD_NETWORK:
            return "the loud sender"
        return "the forged sender" if self.sender == "quiet0.example" else "the quiet senders"


GROUPINGS: Final[dict[str, Callable[[Arrival], str]]] = {
    "no groups": lambda _arrival: "",
    "by name": lambda arrival: arrival.sender,
    "by name and network": lambda arrival: sender_group(arrival.sender, arrival.source),
}


def measure(effort: Effort) -> Sequence[Table]:
    """One table, which is the same in every run with the same effort."""
    lasts = min(LASTS, 2 * effort.turns)
    arrivals = _arrivals(Random(1), lasts, lambda rng: rng.choice(["loud.example", "quiet0.example"]))
    waits = [_waits(arrivals, group) for group in GROUPINGS.values()]
    rows = [(who, *(times(wait[who]) for wait in waits)) for who in waits[0]]
    arrivals = _arrivals(Random(1), lasts, lambda rng: f"{rng.getrandbits(64):x}.example")
    beside = (_waits(arrivals, group)["the quiet senders"] for group in GROUPINGS.values())
    return [Table("", ("sender", *GROUPINGS), (*rows, (INVENTED, *map(times, beside))))]


def _arrivals(rng: Random, lasts: int, loud_name: Callable[[Random], str]) -> list[Arrival]:
    messages = OVERLOAD * WORKERS * BATCH * lasts
    arrivals = (_arrival(rng, lasts * rng.random(), loud_name) for _ in range(messages))
    return sorted(arrivals, key=lambda arrival: arrival.at)


def _arrival(rng: Random, at: float, loud_name: Callable[[Random], str]) -> Arrival:
    if rng.random() >= LOUD_SHARE:
        return Arrival(at, f"quiet{rng.randrange(QUIET)}.example", _NETWORK)
    return Arrival(at, loud_name(rng), _LOUD_NETWORK)


def _waits(arrivals: Sequence[Arrival], group: Callable[[Arrival], str]) -> dict[str, float]:
    """The mean time from the arrival of a message until a worker receives it, by sender."""
    queue, coming = FairQueue(), list(reversed(arrivals))
    sent = {arrival.at: arrival for arrival in arrivals}
    waited: dict[str, list[float]] = {"the quiet senders": [], "the forged sender": [], "the loud sender": []}
    # For each worker: when it is free, its number, and the batch that it processes until then.
    workers: list[tuple[float, int, list[tuple[str, float]]]] = [(n / WORKERS, n, []) for n in range(WORKERS)]
    while coming or queue:
        now, number, held = heapq.heappop(workers)
        queue.delete(held)
        while coming and coming[-1].at <= now:
            arrival = coming.pop()
            queue.send(group(arrival), arrival.at)
        batch = queue.receive(BATCH)
        for _, came in batch:
            waited[sent[came].who].append(now - came)
        heapq.heappush(workers, (now + 1, number, batch))
    return {who: statistics.mean(each) for who, each in waited.items() if each}


BENCHMARK = Benchmark("fairness", "Waiting times with one loud sender", NOTES, measure)
