"""A model of an SQS standard queue with message groups ("fair queues"), as its documentation describes it.

No emulator has them. A group is noisy while it has more than a tenth of all messages in flight, and at least 30.
Messages of quiet groups are delivered before those of noisy groups, the oldest first in both. A message without a group
is a group of its own. Source: Amazon SQS Developer Guide, "How Amazon SQS fair queues work"; it says that its
thresholds are approximate. Its second criterion, the share of processing time, is not modelled, because here all
messages take the same time.
"""

import heapq
from collections import Counter, deque
from collections.abc import Iterator
from itertools import count
from typing import Final

NOISY_SHARE: Final = 0.1
NOISY_FROM: Final = 30


class FairQueue:
    """Messages, each with its group (empty: none) and its time of arrival, in any unit."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[float]] = {}
        self._in_flight: Counter[str] = Counter()
        self._strangers = count()

    def send(self, group: str, now: float) -> None:
        """Add a message."""
        self._waiting.setdefault(group or f" {next(self._strangers)}", deque()).append(now)

    def receive(self, most: int) -> list[tuple[str, float]]:
        """Up to `most` messages: the group and the time of arrival of each. They are in flight until deleted."""
        noisy = self._noisy()
        order = [*self._oldest_first(self._waiting.keys() - noisy, most)]
        order += self._oldest_first(self._waiting.keys() & noisy, most - len(order))
        self._in_flight.update(group for group, _ in order)
        return order

    def delete(self, messages: list[tuple[str, float]]) -> None:
        """Delete messages that were received."""
        self._in_flight.subtract(group for group, _ in messages)
        self._in_flight += Counter()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def _noisy(self) -> set[str]:
        share = NOISY_SHARE * self._in_flight.total()
        return {group for group, held in self._in_flight.items() if held >= NOISY_FROM and held > share}

    def _oldest_first(self, groups: set[str], most: int) -> Iterator[tuple[str, float]]:
        heads = [(self._waiting[group][0], group) for group in groups]
        heapq.heapify(heads)
        while heads and most > 0:
            came, group = heapq.heappop(heads)
            waiting = self._waiting[group]
            waiting.popleft()
            if waiting:
                heapq.heappush(heads, (waiting[0], group))
            else:
                del self._waiting[group]
            most -= 1
            yield group, came
