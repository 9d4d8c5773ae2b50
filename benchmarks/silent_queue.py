"""A simulation of retries beside claims that wait for silent zones: in one queue, and in a queue of their own."""

import heapq
import statistics
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from random import Random
from typing import Final

from postroom.core.side_by_side import THREADS
from postroom.pipeline.silent_zones import seconds_silent
from postroom.pipeline.waiting import SPREAD_SECONDS
from postroom.storage.aws.queue import LONGEST_DELAY_SECONDS

LOOK_UP_SECONDS: Final = 8
"""A look-up that gets no answer, and the search for its zone."""
READY_SECONDS: Final = 0.2
"""A run without look-ups."""
RUNS: Final = 5
"""The concurrency of the retry queue and of the waiting queue."""
BATCH, WAITING_BATCH = 100, 10
"""Claims in a batch of each."""
LASTS: Final = 2 * 86_400
EVERY_SECONDS: Final = 60
"""The mean time between two retries of honest senders."""


@dataclass(frozen=True, slots=True, order=True)
class Claim:
    """A claim that is visible from `at`. `zone`: its silent zone; None: it is honest, and its sender's key is there."""

    at: float
    number: int
    zone: int | None = None


def honest(rng: Random) -> Iterator[Claim]:
    """Retries of honest senders."""
    at, number = 0.0, 0
    while (at := at + rng.expovariate(1 / EVERY_SECONDS)) < LASTS:
        number += 1
        yield Claim(at, -number)


def waits(forgeries: int, zones: int, *, apart: bool) -> list[float]:
    """How long each honest retry takes, from when it is visible until it is judged.

    `apart`: claims of silent zones are in a queue of their own, and share the look-ups of their zone; otherwise, each
    claim is looked up at each of its own retries.
    """
    rng = Random(1)
    forged = [Claim(rng.random() * LONGEST_DELAY_SECONDS, number, number % zones) for number in range(forgeries)]
    if apart:
        _play_waiting(forged, rng)
        return _play(list(honest(rng)), BATCH)
    return _play([*honest(rng), *forged], BATCH)


def _play(claims: list[Claim], batch: int) -> list[float]:
    """One queue, with RUNS runs; a claim of a silent zone comes again after the longest delay."""
    coming, visible, took = claims, deque[Claim](), []
    heapq.heapify(coming)
    runs = [0.0] * RUNS
    while coming or visible:
        now = heapq.heappop(runs)
        if not visible and coming[0].at > now:
            now = coming[0].at
        if now > LASTS:
            break
        while coming and coming[0].at <= now:
            visible.append(heapq.heappop(coming))
        taken = [visible.popleft() for _ in range(min(batch, len(visible)))]
        silent = sum(claim.zone is not None for claim in taken)
        ends = now + (ceil(silent / THREADS) * LOOK_UP_SECONDS if silent else READY_SECONDS)
        took += [ends - claim.at for claim in taken if claim.zone is None]
        for claim in taken:
            if claim.zone is not None:
                heapq.heappush(coming, Claim(ends + LONGEST_DELAY_SECONDS, claim.number, claim.zone))
        heapq.heappush(runs, ends)
    return took


def _play_waiting(claims: list[Claim], rng: Random) -> None:
    """The waiting queue. Raises AssertionError if its runs cannot keep up: a claim is received hours too late."""
    coming = claims
    heapq.heapify(coming)
    due: dict[int, float] = {}
    failed: dict[int, int] = {}
    runs = [0.0] * RUNS
    while coming:
        now = max(heapq.heappop(runs), coming[0].at)
        if now > LASTS:
            return
        assert now - coming[0].at < seconds_silent(100), "the waiting queue is too slow"
        taken = []
        while coming and coming[0].at <= now and len(taken) < WAITING_BATCH:
            taken.append(heapq.heappop(coming))
        asked = {claim.zone for claim in taken if claim.zone is not None and due.get(claim.zone, 0.0) <= now}
        ends = now + (LOOK_UP_SECONDS if asked else READY_SECONDS)
        for zone in asked:
            failed[zone] = failed.get(zone, 0) + 1
            due[zone] = now + seconds_silent(failed[zone])
        for claim in taken:
            assert claim.zone is not None
            left = max(due[claim.zone] - ends, 0.0)
            again = ends + 1 + left + rng.random() * min(SPREAD_SECONDS, left)
            heapq.heappush(coming, Claim(again, claim.number, claim.zone))
        heapq.heappush(runs, ends)


def mean_wait(forgeries: int, zones: int, *, apart: bool) -> float:
    """The mean of `waits`."""
    return statistics.mean(waits(forgeries, zones, apart=apart))
