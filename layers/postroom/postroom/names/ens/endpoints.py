"""Endpoints of a chain: several are asked the same, and what enough of them say alike counts."""

import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field, replace
from math import inf
from queue import Empty, SimpleQueue
from typing import Final, Generic, Protocol, TypeAlias, TypeVar

from postroom.core.errors import NotNowError
from postroom.names.ens.agreement import Agreement
from postroom.names.ens.calls import Outcomes, Question
from postroom.names.ens.rpc import MAX_ANSWER_BYTES, Block, ChainAnswerError, read_batch, write_batch
from postroom.net.endpoint_client import MAX_AT_ONCE, EndpointClient, EndpointError
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

A = TypeVar("A", bound=Hashable)

LATE_SECONDS: Final = 1.0
"""One that has not answered by then is not waited for alone: most answer within a tenth of it."""
_DIFFERS: Final = "too few others said the same"


class ChainEndpoint(Protocol):
    """Where JSON-RPC is posted. `host`: all that may be shown of it."""

    @property
    def host(self) -> str:
        """The host of its URL."""
        ...

    def post(self, body: bytes, seconds: float) -> bytes:
        """The body of the answer. Raises EndpointError."""
        ...

    def close(self) -> None:
        """Close all connections. Whoever waits for an answer gets an EndpointError."""
        ...


@dataclass(frozen=True, slots=True)
class EndpointVerdict:
    """What became of a request to one endpoint. `block` None: it failed, or had not answered.

    `why`: a sentence, if it is not one of those that agreed. `differs`: it is not, and others said something else.
    `seconds`: for which it was waited, at most.
    """

    host: str
    block: Block | None
    why: str = ""
    seconds: float = inf
    differs: bool = False


@dataclass(frozen=True, slots=True)
class Agreed(Generic[A]):
    """What endpoints agreed on. `alike`: how many; `block`: the newest one of those that did."""

    said: A
    alike: int
    block: Block
    verdicts: tuple[EndpointVerdict, ...]


class DisagreementError(NotNowError):
    """Too few endpoints said the same; the reason is ProfileLookupFailed."""

    def __init__(self, detail: str, verdicts: tuple[EndpointVerdict, ...]) -> None:
        super().__init__(PROFILE_LOOKUP_FAILED, detail)
        self.verdicts = verdicts


ObserveVerdicts: TypeAlias = Callable[[tuple[EndpointVerdict, ...]], None]


def _ignore(_: tuple[EndpointVerdict, ...]) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True, eq=False)
class ChainEndpoints:
    """Asks endpoints, in the order of a list. `chain`: the id that theirs must have; `pool`: asks several at a time;
    `observe`: is given the verdicts of each request.
    """

    endpoints: Sequence[ChainEndpoint]
    quorum: int
    chain: int
    pool: Executor
    observe: ObserveVerdicts = field(default=_ignore, kw_only=True)

    def agree(
        self, questions: Sequence[Question], judge: Callable[[Outcomes], A], *, seconds: float, now: float
    ) -> Agreed[A]:
        """What a quorum says, within so many seconds, that the questions bring.

        `judge`: what must be alike of what an endpoint said; `now`: seconds since the epoch. Raises DisagreementError.
        """
        deadline = time.monotonic() + seconds
        body = write_batch(questions)
        agreement: Agreement[A] = Agreement(len(self.endpoints), self.quorum)
        done: SimpleQueue[Future[bytes]] = SimpleQueue()
        late: frozenset[Future[bytes]] = frozenset()
        late_at = deadline
        waiting: dict[Future[bytes], tuple[str, float, float]] = {}
        failed: list[EndpointVerdict] = []
        answered: list[tuple[A, Block, EndpointVerdict]] = []
        while agreement.agreed is None and not agreement.has_failed:
            for place in agreement.next_endpoints():
                endpoint, begun_at = self.endpoints[place], time.monotonic()
                left = max(0.0, deadline - begun_at)
                posting = self.pool.submit(endpoint.post, body, left)
                waiting[posting] = endpoint.host, left, begun_at
                posting.add_done_callback(done.put)
                late_at = min(begun_at + LATE_SECONDS, deadline)
            arrived = _take(done, max(0.0, late_at - time.monotonic()))
            if not arrived and late_at == deadline:
                break
            if not arrived:
                agreement.be_late()
                late, late_at = frozenset(waiting), deadline
            for posted in arrived:
                host, left, _ = waiting.pop(posted)
                try:
                    block, outcomes = read_batch(posted.result(), questions, chain=self.chain, now=now)
                except (EndpointError, ChainAnswerError) as error:
                    agreement.fail(was_late=posted in late)
                    failed.append(EndpointVerdict(host, None, str(error), left))
                else:
                    said = judge(outcomes)
                    agreement.add(said, was_late=posted in late)
                    answered.append((said, block, EndpointVerdict(host, block, seconds=left)))
        agreed = agreement.agreed
        is_split = len({said for said, _, _ in answered}) > 1
        verdicts = (
            *(
                verdict if said == agreed else replace(verdict, why=_DIFFERS, differs=is_split)
                for said, _, verdict in answered
            ),
            *failed,
            *(
                EndpointVerdict(host, None, "it did not answer in time", time.monotonic() - begun_at)
                for host, _, begun_at in waiting.values()
            ),
        )
        self.observe(verdicts)
        if agreed is None:
            raise DisagreementError(self._why(agreement.number_alike, len(verdicts)), verdicts)
        newest = max((block for said, block, _ in answered if said == agreed), key=lambda block: block.number)
        return Agreed(agreed, agreement.number_alike, newest, verdicts)

    def close(self) -> None:
        """Close the connections to all of them, also those in use."""
        for endpoint in self.endpoints:
            endpoint.close()

    def _why(self, alike: int, tried: int) -> str:
        if not self.endpoints:
            return "no endpoint of the chain is set"
        needed = "is needed" if self.quorum == 1 else "are needed"
        return f"{alike} of {tried} endpoints of the chain said the same; {self.quorum} {needed}"


def _take(done: "SimpleQueue[Future[bytes]]", seconds: float) -> "list[Future[bytes]]":
    """Those in the queue; if there are none, the first that comes within so many seconds."""
    try:
        taken = [done.get(timeout=seconds)]
    except Empty:
        return []
    while not done.empty():
        taken.append(done.get())
    return taken


def connect_endpoints(
    urls: Sequence[str],
    quorum: int,
    chain: int,
    *,
    ca_file: str | None,
    threads: Callable[[int], Executor],
    observe: ObserveVerdicts = _ignore,
) -> ChainEndpoints:
    """The endpoints of these URLs; each connects when it is first used. `ca_file`: instead of the public authorities.

    `threads`: makes a pool of so many: as many for each endpoint as it may hold. `quorum`, `chain`, `observe`: as of
    ChainEndpoints. Raises SettingsError.
    """
    clients = [EndpointClient(url, max_response_bytes=MAX_ANSWER_BYTES, ca_file=ca_file) for url in urls]
    return ChainEndpoints(clients, quorum, chain, threads(len(clients) * MAX_AT_ONCE), observe=observe)
