"""Limits on look-ups: how many requests make one at a time, and how long a run of the worker waits for them.

A synchronous request whose sender's key is not cached holds a run of the inbox until DNS has answered; a dm3 message
whose sender or receiver has no cached profile, a run of the dm3 inbox; whoever signs in as an owner with a profile, or
opens a mailbox, one of the mailbox API. The other runs are for what is only checked and queued, and for owners.

The worker judges a batch in passes, each with more time for look-ups than the one before, and files what a pass decides
before the next one begins. Strangers choose which servers are asked: below a domain that they own, they make up any
number of names that are not, or slowly, answered for. So at most two look-ups below one registrable domain wait at a
time, and all of them together take ten seconds in a minute, whatever came of them. A domain that proved a key is
counted by itself.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from threading import Condition
from typing import TYPE_CHECKING, Final, NamedTuple

from postroom.core.errors import NotNowError
from postroom.core.expiring_cache import Cache, CacheEntry
from postroom.core.reasons import TOO_MANY_LOOK_UPS
from postroom.pipeline.silence import ZoneSilentError

if TYPE_CHECKING:
    from postroom.names.dns import Ask, Question
    from postroom.names.dns.answer import Answer

KIND: Final = "lookups"
"""The prefix of the rows of the inbox's look-ups in table `limits`."""
SENDERS_KIND: Final = "dm3lookups#sender"
RECEIVERS_KIND: Final = "dm3lookups#receiver"
"""The prefixes of those of the dm3 inbox: a stranger who looks senders up takes no run from receivers."""
OWNERS_KIND: Final = "owner-lookups#http"
DCP_OWNERS_KIND: Final = "owner-lookups#dcp"
"""The prefixes of those of the mailbox API, over HTTP and DCP."""
ONE_OF: Final = 5
"""The share of the runs: one of five."""
UNRESERVED_RUNS: Final = 10
"""The runs that are counted on if none are reserved: what a new account has for all functions together."""
HOLD_SECONDS: Final = 15
"""The time after which a look-up of a killed run no longer counts: more than any request waits for its look-ups.

That of an owner may be in DNS, in ENS, and of a document, each of which takes 4 s.
"""

OF_A_DOMAIN: Final = 2
"""The most look-ups below one registrable domain that wait at a time."""
SECONDS_OF_A_DOMAIN: Final = 10.0
"""What look-ups below one registrable domain take in a minute, by a leaky bucket; those that run when it is full go on.

An honest one takes a tenth of a second.
"""
_FULL_FOR_SECONDS: Final = 60
"""How long a full bucket takes to be empty."""
SLOW_SECONDS: Final = 0.5
"""A look-up that takes so long is slow."""
SLOW_FOR_SECONDS: Final = 60
"""How long the slow look-ups of a domain are remembered."""
MOST_SLOW: Final = 6
"""While so many domains are slow, a sparing pass begins no look-up."""
LONGEST_WAIT_SECONDS: Final = 20.0
"""How long a look-up waits until fewer than two others are made: longer than one takes."""
MOST_DOMAINS: Final = 1_000


class LookUpNeededError(Exception):
    """A claim that cannot be judged within the time that this pass has for look-ups. It has changed nothing."""


@dataclass(frozen=True, slots=True)
class Patience:
    """What a pass has for look-ups: `seconds` for all of them together; inf: for each as long as its own limits say.

    `is_sparing`: none is begun while MOST_SLOW domains are slow.
    """

    seconds: float
    is_sparing: bool = False


MEMORY_ONLY: Final = Patience(0)
A_SECOND: Final = Patience(1)
A_SECOND_SPARINGLY: Final = Patience(1, is_sparing=True)
UNLIMITED: Final = Patience(inf)


class _Use(NamedTuple):
    """What the look-ups of a domain have taken: when its bucket will be empty, and until when it counts as slow."""

    empty_at: float
    slow_until: float


class LookUps:
    """The look-ups of a process, which processes one batch at a time. Thread-safe. `clock`: monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._until = inf
        self._is_sparing = False
        self._changed = Condition()
        self._running: Counter[str] = Counter()
        self._uses: Cache[_Use] = Cache(MOST_DOMAINS)
        self._fell_slow: deque[float] = deque(maxlen=MOST_SLOW)

    def allow(self, patience: Patience) -> None:
        """Begin a pass."""
        self._until = self._clock() + patience.seconds
        self._is_sparing = patience.is_sparing

    def check(self) -> None:
        """Raises LookUpNeededError if the time of this pass is over."""
        if self._clock() >= self._until:
            raise LookUpNeededError

    def check_unlimited(self) -> None:
        """Raises LookUpNeededError unless a look-up has all its time in this pass."""
        if self._until < inf:
            raise LookUpNeededError

    def asking(self, asking: "Callable[[float], Ask]", seconds: float) -> "Ask":
        """An Ask for one look-up, of at most `seconds`, which ends with this pass. Raises LookUpNeededError, too."""
        self.check()
        ask = asking(min(seconds, self._until - self._clock()))

        def answer(question: "Question") -> "Answer":
            try:
                return ask(question)
            except NotNowError:
                self.check()
                raise

        return answer

    @contextmanager
    def of(self, domain: str, *, whatever_fails: bool = False) -> Iterator[None]:
        """A look-up that counts for a domain; waits until fewer than two others do.

        Raises LookUpNeededError, and NotNowError(TOO_MANY_LOOK_UPS) if they take long. What fails for a reason of our
        own is not counted as slow: then, a NotNowError is raised within the context that is no ZoneSilentError.
        `whatever_fails`: that is counted, too; for claims that are tried again soon, and so lose nothing by it.
        """
        self._enter(domain)
        started, is_theirs = self._clock(), True
        try:
            yield
        except NotNowError as error:
            is_theirs = whatever_fails or isinstance(error, ZoneSilentError)
            raise
        finally:
            self._leave(domain, self._clock() - started if is_theirs else 0.0)

    def _enter(self, domain: str) -> None:
        with self._changed:
            until = min(self._until, self._clock() + LONGEST_WAIT_SECONDS)
            while True:
                self._check_use(domain)
                if self._running[domain] < OF_A_DOMAIN:
                    break
                if not self._changed.wait(until - self._clock()):
                    self.check()
                    raise NotNowError(TOO_MANY_LOOK_UPS, f"other names below {domain} are being looked up")
            self._running[domain] += 1

    def _check_use(self, domain: str) -> None:
        now = self._clock()
        use = self._use_of(domain, now)
        is_spent = use.empty_at >= now + _FULL_FOR_SECONDS
        are_many_slow = len(self._fell_slow) == MOST_SLOW and self._fell_slow[0] > now - SLOW_FOR_SECONDS
        if self._until < inf and (is_spent or use.slow_until > now or (self._is_sparing and are_many_slow)):
            raise LookUpNeededError
        if is_spent:
            raise NotNowError(TOO_MANY_LOOK_UPS, f"look-ups below {domain} take long")

    def _use_of(self, domain: str, now: float) -> _Use:
        kept = self._uses.get(domain, now)
        return kept.value if kept else _Use(now, now)

    def _leave(self, domain: str, seconds: float) -> None:
        now = self._clock()
        with self._changed:
            self._running[domain] -= 1
            if not self._running[domain]:
                del self._running[domain]
            use = self._use_of(domain, now)
            slow_until = use.slow_until
            if seconds >= SLOW_SECONDS:
                if slow_until <= now:
                    # Once for each domain: one alone must not end the look-ups of all others.
                    self._fell_slow.append(now)
                slow_until = now + SLOW_FOR_SECONDS
            empty_at = max(use.empty_at, now) + seconds * _FULL_FOR_SECONDS / SECONDS_OF_A_DOMAIN
            self._uses.put(domain, CacheEntry(_Use(empty_at, slow_until), now, max(empty_at, slow_until)))
            self._changed.notify_all()


def most_look_ups(reserved: int) -> int:
    """The most look-ups in all, of the `reserved` runs. 0: none are reserved."""
    return max(1, (reserved or UNRESERVED_RUNS) // ONE_OF)
