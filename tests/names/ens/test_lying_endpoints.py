"""Look-ups with every mixture of endpoints: honest, failing, lying in two ways, stale and slow ones.

Time is the tests' own: endpoints answer a moment after one another, slow ones when others were asked in their place.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import cache, partial
from heapq import heappop, heappush
from itertools import count, product
from queue import Empty
from types import SimpleNamespace
from typing import Any, Final

import pytest
from tests.fakes.clock import FakeClock
from tests.names.ens.nodes import NOW, EchoGateways, Node, TextNode, off_chain_answers
from tests.names.ens.vectors import REGISTRY, RESOLVER

from postroom.core.errors import NotNowError
from postroom.names.ens import endpoints as endpoints_module
from postroom.names.ens import ens as ens_module
from postroom.names.ens.endpoints import LATE_SECONDS, ChainEndpoints, DisagreementError, EndpointVerdict
from postroom.names.ens.ens import Ens
from postroom.names.ens.lookup import Contracts
from postroom.names.ens.rpc import BLOCK_OLD_SECONDS
from postroom.names.registry import PROFILE_KEY
from postroom.net.endpoint_client import EndpointError
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

NAME: Final = "alice.eth"
HONEST, FAILS, LIES_A, LIES_B, STALE, SLOW = KINDS = ("honest", "fails", "lies A", "lies B", "is stale", "slow")
TRUTH, LIE_A, LIE_B = "data:truth", "data:lie A", "data:lie B"
GOOD_HOST, HOST_A, HOST_B = (f"https://{host}.example/" for host in ("good", "a", "b"))
SAYS: Final = {HONEST: TRUTH, SLOW: TRUTH, LIES_A: LIE_A, LIES_B: LIE_B}
"""The text that an endpoint would have believed; a stale one has that of LIES_A, which was the truth once."""
HOSTS: Final = {TRUTH: GOOD_HOST, LIE_A: HOST_A, LIE_B: HOST_B}
"""The host of the gateway that an endpoint names."""
MIXTURES: Final = [(number, quorum) for number in (1, 2, 3, 4) for quorum in (1, 2, 3)]


# --- endpoints in a time of their own --------------------------------------------------------------------------------


class Timetable(Executor):
    """A pool whose calls end at the time of their endpoints, and the queue of those that have ended."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock, self._numbers = clock, count()
        self._due: list[tuple[float, int, Future[bytes], Callable[[], bytes]]] = []

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[bytes] = Future()
        endpoint: Endpoint = fn.__self__
        endpoint.begun += 1
        ends_at = self._clock.now + endpoint.seconds
        heappush(self._due, (ends_at, next(self._numbers), future, partial(fn, *args, **kwargs)))
        return future

    def next_before(self, time: float) -> bool:
        """End the next call, if it ends by then."""
        if not self._due or self._due[0][0] > time:
            return False
        self._clock.now, _, future, call = heappop(self._due)
        try:
            future.set_result(call())
        except EndpointError as error:
            future.set_exception(error)
        return True


class TimedQueue:
    """A queue that is waited at without time going by."""

    def __init__(self, clock: FakeClock, timetable: Timetable) -> None:
        self._clock, self._timetable = clock, timetable
        self._ended: list[Future[bytes]] = []

    def put(self, future: Future[bytes]) -> None:
        self._ended.append(future)

    def empty(self) -> bool:
        return not self._ended

    def get(self, timeout: float = 0) -> Future[bytes]:
        until = self._clock.now + timeout
        while not self._ended and self._timetable.next_before(until):
            pass
        if not self._ended:
            self._clock.now = until
            raise Empty
        return self._ended.pop(0)


class Endpoint:
    """An endpoint of a kind. `seconds`: until it answers; `begun`: how many requests to it."""

    def __init__(self, place: int, kind: str, answer: Callable[[str, bytes], bytes], seconds: float) -> None:
        self.host, self.seconds = f"{place}.test", seconds
        self.kind, self._answer, self.begun = kind, answer, 0

    def post(self, body: bytes, seconds: float) -> bytes:
        assert seconds > 0
        return self._answer(self.kind, body)

    def close(self) -> None:
        """Nothing is open."""


@cache
def on_chain(kind: str, body: bytes) -> bytes:
    """What an endpoint answers of a text on chain."""
    return _answer(kind, TextNode({NAME: {PROFILE_KEY: SAYS.get(kind, LIE_A)}}), body)


@cache
def off_chain(kind: str, body: bytes) -> bytes:
    """What an endpoint answers of a text off chain. It names a host, and has a verdict on what that answers."""
    text = SAYS.get(kind, LIE_A)
    return _answer(kind, Node(off_chain_answers(NAME, PROFILE_KEY, text, HOSTS[text])), body)


def _answer(kind: str, node: Node, body: bytes) -> bytes:
    if kind == FAILS:
        raise EndpointError("it failed")
    if kind == STALE:
        node.clock = lambda: NOW - BLOCK_OLD_SECONDS - 1
    return node(body)


class Outcome:
    """What became of a look-up. `text`: None: it failed, with `error`; `urls`: the gateways that were asked."""

    def __init__(
        self,
        kinds: tuple[str, ...],
        quorum: int,
        answer: Callable[[str, bytes], bytes],
        seconds: Sequence[float] = (0.01, 0.02, 0.03, 0.04),
    ) -> None:
        """`seconds`: until each endpoint answers; a slow one takes longer than is waited for it alone."""
        clock, gateways = FakeClock(), EchoGateways()
        timetable = Timetable(clock)
        self.endpoints = [
            Endpoint(place, kind, answer, seconds[place] + (2 * LATE_SECONDS if kind == SLOW else 0))
            for place, kind in enumerate(kinds)
        ]
        self.verdicts: list[EndpointVerdict] = []
        self.text: str | bytes | None = None
        self.agreed, self.error = 0, None
        with pytest.MonkeyPatch.context() as patch:
            for module in (endpoints_module, ens_module):
                patch.setattr(module, "time", SimpleNamespace(monotonic=clock))
            patch.setattr(endpoints_module, "LATE_SECONDS", LATE_SECONDS)
            patch.setattr(endpoints_module, "SimpleQueue", lambda: TimedQueue(clock, timetable))
            chain = ChainEndpoints(self.endpoints, quorum, 1, timetable, observe=self.verdicts.extend)
            ens = Ens(chain, gateways, Contracts(RESOLVER, REGISTRY), lambda: NOW, 60.0)
            try:
                found = ens.text(NAME, PROFILE_KEY)
            except NotNowError as error:
                self.error = error
            else:
                self.text, self.agreed = found.found.value, min(each.alike for each in found.agreed)
        self.urls = gateways.urls
        self.begun = [each.begun for each in self.endpoints]

    def kind_of(self, verdict: EndpointVerdict) -> str:
        return next(each.kind for each in self.endpoints if each.host == verdict.host)


def texts_said(kinds: tuple[str, ...], quorum: int) -> set[str]:
    """The texts that so many say."""
    counts = Counter(SAYS[kind] for kind in kinds if kind in SAYS)
    return {text for text, number in counts.items() if number >= quorum}


def liars(kinds: tuple[str, ...]) -> int:
    return kinds.count(LIES_A) + kinds.count(LIES_B)


# --- texts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [(0.01, 0.02, 0.03, 0.04), (0.04, 0.03, 0.02, 0.01)], ids=["in order", "backwards"])
@pytest.mark.parametrize(("number", "quorum"), MIXTURES)
def test_a_text_is_believed_exactly_if_a_quorum_says_it(number: int, quorum: int, seconds: tuple[float, ...]) -> None:
    for kinds in product(KINDS, repeat=number):
        outcome = Outcome(kinds, quorum, on_chain, seconds)
        enough = texts_said(kinds, quorum)
        if enough:
            assert outcome.text in enough
            assert outcome.agreed >= quorum
        else:
            assert isinstance(outcome.error, DisagreementError)
            assert outcome.error.reason is PROFILE_LOOKUP_FAILED
            assert outcome.begun == [1] * number
        if liars(kinds) < quorum:
            assert outcome.text in (TRUTH, None)
        assert outcome.begun == sorted(outcome.begun, reverse=True), "in the order of the list"
        for verdict in outcome.verdicts:
            if outcome.kind_of(verdict) in (FAILS, STALE):
                assert verdict.block is None


def test_a_stale_endpoint_has_failed_and_is_no_other_voice() -> None:
    outcome = Outcome((STALE, HONEST, HONEST), 2, on_chain)
    assert outcome.text == TRUTH
    [stale] = [verdict for verdict in outcome.verdicts if outcome.kind_of(verdict) == STALE]
    assert (stale.why, stale.differs) == (f"its newest block is {BLOCK_OLD_SECONDS + 1} s old", False)


def test_others_are_asked_for_one_that_is_slow_whose_answer_counts() -> None:
    outcome = Outcome((SLOW, HONEST, LIES_A), 2, on_chain)
    assert (outcome.text, outcome.begun) == (TRUTH, [1, 1, 1])


def test_nobody_is_asked_for_a_late_liar_while_the_one_in_its_place_is_waited_for() -> None:
    late, in_its_place = 1.5 * LATE_SECONDS, 0.9 * LATE_SECONDS
    outcome = Outcome((LIES_A, HONEST, HONEST, HONEST), 2, on_chain, (late, 0.0, in_its_place, 0.0))
    assert (outcome.text, outcome.begun) == (TRUTH, [1, 1, 1, 0])


# --- hosts -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "quorum"), MIXTURES)
def test_no_host_is_asked_that_only_liars_named(number: int, quorum: int) -> None:
    for kinds in product(KINDS, repeat=number):
        outcome = Outcome(kinds, quorum, off_chain)
        enough = texts_said(kinds, quorum)
        named = {HOSTS[text] for text in enough}
        assert outcome.urls == [] or (len(outcome.urls) == 1 and outcome.urls[0] in named)
        assert bool(outcome.urls) == bool(enough)
        assert outcome.text in enough if enough else outcome.text is None
        if liars(kinds) < quorum:
            assert set(outcome.urls) <= {GOOD_HOST}
            assert outcome.text in (TRUTH, None)
