"""Agreement of endpoints: which are asked, and when what they say counts.

No endpoint is believed alone: what a quorum of them say alike counts. As many as the quorum are asked at once; the next
one only if an answer is missing for that, or is late.
"""

from collections import Counter
from collections.abc import Hashable
from typing import Generic, TypeVar

A = TypeVar("A", bound=Hashable)


class Agreement(Generic[A]):
    """One question to `endpoints` of them, in the order of a list, of which `quorum` must answer alike."""

    def __init__(self, endpoints: int, quorum: int) -> None:
        self._endpoints, self._quorum = endpoints, quorum
        self._begun = 0
        self._waiting = 0
        self._late = 0
        self._answers: list[A] = []

    def next_endpoints(self) -> range:
        """The endpoints, by their places, that must be asked now in addition."""
        wanted = self._quorum - self._most_alike - (self._waiting - self._late)
        first, self._begun = self._begun, min(self._endpoints, self._begun + max(0, wanted))
        self._waiting += self._begun - first
        return range(first, self._begun)

    def add(self, answer: A, *, was_late: bool = False) -> None:
        """One of those that were asked has answered."""
        self._answers.append(answer)
        self.fail(was_late=was_late)

    def fail(self, *, was_late: bool = False) -> None:
        """One of those that were asked has failed."""
        self._waiting -= 1
        self._late -= was_late

    def be_late(self) -> None:
        """Those that have not answered are late: others are asked in their place, and their answers still count."""
        self._late = self._waiting

    @property
    def agreed(self) -> A | None:
        """What counts; None: nothing yet."""
        # With a quorum of less than half, two answers may have one: the first that had it counts.
        counts: Counter[A] = Counter()
        for answer in self._answers:
            counts[answer] += 1
            if counts[answer] == self._quorum:
                return answer
        return None

    @property
    def number_alike(self) -> int:
        """How many gave the answer that counts, or that most gave."""
        return self._answers.count(self.agreed) if self.agreed is not None else self._most_alike

    @property
    def has_failed(self) -> bool:
        """Whether nothing can count any more: all were asked, have answered or failed, and too few are alike."""
        return self.agreed is None and not self._waiting and self._begun == self._endpoints

    @property
    def _most_alike(self) -> int:
        return max(Counter(self._answers).values(), default=0)
