"""One sender has 90 % of the traffic: how long the others wait, by what messages are grouped by."""

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
"""Messages that come for each that the workers can do, while it lasts."""
LASTS: Final = 10
"""Times of a batch."""
_NETWORK: Final = "192.0.2.1"
_LOUD_NETWORK: Final = "198.51.100.1"

NOTES: Final = f"""\
Simulated: no emulator has SQS's fair queues, so the queue is a model of what their documentation says
(`benchmarks/fair_queue.py`), and time is the model's; the groups are those that the inbox computes. {WORKERS} workers
take {BATCH} messages a batch. For the time of {LASTS} batches twice as many messages come as they can do, 90 % of them
from one network; {QUIET} quiet senders share the rest. In half of its messages the loud one uses a name of its own, in
the other half that of one quiet sender: a forger, who is not found out before the worker judges. Each number is the
mean time that a message waits, in times of a batch. By name alone the forged sender waits as long as the forger.

In the last row the loud one makes up a name for each message, and groups do not help: none of them is noisy, and the
quiet ones wait as without. That a name has no key is found out by the worker, and in a zone of one's own any number of
names have one. Grouped by the network alone they would be one sender; but so would all who share the addresses of a
cloud, and any of those could hold up the rest. What is left is the API's throttle: it limits what all send together,
and so how fast a backlog can grow.
"""
INVENTED: Final = "the quiet senders, beside invented names"


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message: when it comes, what it says its sender is, from where."""

    at: float
    sender: str
    source: str

    @property
    def who(self) -> str:
        """Whose waiting it counts for."""
        if self.source == _LOUD_NETWORK:
            return "the loud sender"
        return "the sender it forges" if self.sender == "quiet0.example" else "the quiet senders"


GROUPINGS: Final[dict[str, Callable[[Arrival], str]]] = {
    "no groups": lambda _arrival: "",
    "by name": lambda arrival: arrival.sender,
    "by name and network": lambda arrival: sender_group(arrival.sender, arrival.source),
}


def measure(effort: Effort) -> Sequence[Table]:
    """One table; the same in every run with the same effort."""
    lasts = min(LASTS, 2 * effort.turns)
    arrivals = _arrivals(Random(1), lasts, lambda rng: rng.choice(["loud.example", "quiet0.example"]))
    waits = [_waits(arrivals, group) for group in GROUPINGS.values()]
    rows = [(who, *(times(wait[who]) for wait in waits)) for who in waits[0]]
    arrivals = _arrivals(Random(1), lasts, lambda rng: f"{rng.getrandbits(64):x}.example")
    beside = (_waits(arrivals, group)["the quiet senders"] for group in GROUPINGS.values())
    return [Table("", ("who waits", *GROUPINGS), (*rows, (INVENTED, *map(times, beside))))]


def _arrivals(rng: Random, lasts: int, loud_name: Callable[[Random], str]) -> list[Arrival]:
    messages = OVERLOAD * WORKERS * BATCH * lasts
    arrivals = (_arrival(rng, lasts * rng.random(), loud_name) for _ in range(messages))
    return sorted(arrivals, key=lambda arrival: arrival.at)


def _arrival(rng: Random, at: float, loud_name: Callable[[Random], str]) -> Arrival:
    if rng.random() >= LOUD_SHARE:
        return Arrival(at, f"quiet{rng.randrange(QUIET)}.example", _NETWORK)
    return Arrival(at, loud_name(rng), _LOUD_NETWORK)


def _waits(arrivals: Sequence[Arrival], group: Callable[[Arrival], str]) -> dict[str, float]:
    """The mean time from a message's coming to its being handed out, by whose it is."""
    queue, coming = FairQueue(), list(reversed(arrivals))
    sent = {arrival.at: arrival for arrival in arrivals}
    waited: dict[str, list[float]] = {"the quiet senders": [], "the sender it forges": [], "the loud sender": []}
    # When each worker is free, and what it holds until then.
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


BENCHMARK = Benchmark("fairness", "A loud sender and the waiting of the others", NOTES, measure)
