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
        self._counts: Counter[A] = Counter()
        self.agreed: A | None = None
        """What counts; None: nothing yet. Of several that a quorum gave, the first."""

    def next_endpoints(self) -> range:
        """The endpoints, by their places, that must be asked now in addition."""
        wanted = self._quorum - self.number_alike - (self._waiting - self._late)
        first, self._begun = self._begun, min(self._endpoints, self._begun + max(0, wanted))
        self._waiting += self._begun - first
        return range(first, self._begun)

    def add(self, answer: A, *, was_late: bool = False) -> None:
        """One of those that were asked has answered."""
        self._counts[answer] += 1
        if self.agreed is None and self._counts[answer] == self._quorum:
            self.agreed = answer
        self.fail(was_late=was_late)

    def fail(self, *, was_late: bool = False) -> None:
        """One of those that were asked has failed."""
        self._waiting -= 1
        self._late -= was_late

    def be_late(self) -> None:
        """Those that have not answered are late: others are asked in their place, and their answers still count."""
        self._late = self._waiting

    @property
    def number_alike(self) -> int:
        """How many gave the answer that counts, or that most gave."""
        return max(self._counts.values(), default=0) if self.agreed is None else self._counts[self.agreed]

    @property
    def has_failed(self) -> bool:
        """Whether nothing can count any more: all were asked, have answered or failed, and too few are alike."""
        return self.agreed is None and not self._waiting and self._begun == self._endpoints
