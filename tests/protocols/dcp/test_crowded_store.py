"""A store in memory that must forget before the time: nothing counts twice, and strangers keep nobody out."""

import itertools
from dataclasses import replace

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from tests.tiers import examples

from postroom.core.errors import NotNowError, TheirError
from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.session_store import NonceUse, RequestUse

ALLOWED_AHEAD = 10
"""By how many seconds the date of a request may be ahead of the target's clock."""


class CrowdedStore(RuleBasedStateMachine):
    """A store that has to forget before the time: strangers without number, peers, and people who sign for both."""

    def __init__(self) -> None:
        super().__init__()
        self.store, self.now, self.numbers = MemoryStore(max_rows=24), 1000.0, itertools.count()
        self.nonces: list[NonceUse] = []
        self.requests: list[RequestUse] = []
        self.last: dict[str, NonceUse] = {}
        self.people = [Address(f"person {number}") for number in range(3)]

    def name(self) -> str:
        return f"{next(self.numbers)}"

    def opened(self, peer: Address) -> NonceUse:
        """The first message of a new session."""
        dcpsid = self.name()
        return NonceUse(
            peer, dcpsid, f"first {dcpsid}", self.name(), first=True, now=self.now, until=5000, opened=self.now
        )

    def request(self, peer: Address, owners: tuple[Address, ...], dated: float) -> RequestUse:
        name = self.name()
        payload = f"payload {name}" if owners else ""
        bearers = frozenset({peer, *self.people}) if owners else frozenset()
        return RequestUse(peer, name, name, owners, name, self.now, 5000, payload, dated, bearers)

    def use(self, use: NonceUse | RequestUse) -> bool:
        """Whether it counts."""
        try:
            if isinstance(use, NonceUse):
                self.store.use_nonce(use)
            else:
                self.store.use_request(use)
        except (TheirError, NotNowError):
            return False
        if isinstance(use, NonceUse):
            self.nonces.append(use)
            self.last[use.dcpsid] = use
        else:
            self.requests.append(use)
        return True

    @rule(seconds=st.sampled_from([0.5, 3.0, 20.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule(
        number=st.integers(1, 30),
        requests=st.integers(0, 3),
        ahead=st.integers(-30, ALLOWED_AHEAD),
        signs=st.booleans(),
    )
    def strangers_come(self, number: int, requests: int, ahead: int, *, signs: bool) -> None:
        for _ in range(number):
            peer = Address(f"stranger {self.name()}")
            self.use(self.opened(peer))
            for _ in range(requests):
                self.use(self.request(peer, (peer, Address(f"{peer}, too")) if signs else (), self.now + ahead))

    @rule(who=st.integers(0, 2), ahead=st.integers(-30, ALLOWED_AHEAD), signers=st.sets(st.integers(0, 2)))
    def somebody_comes(self, who: int, ahead: int, signers: set[int]) -> None:
        self.use(self.opened(self.people[who]))
        owners = tuple(self.people[each] for each in sorted(signers))
        self.use(self.request(self.people[who], owners, self.now + ahead))

    @precondition(lambda self: self.last)
    @rule(data=st.data())
    def a_session_goes_on(self, data: st.DataObject) -> None:
        last = data.draw(st.sampled_from(list(self.last.values())))
        self.use(replace(last, nonce=last.following, following=self.name(), first=False, now=self.now))

    @precondition(lambda self: self.nonces)
    @rule(data=st.data())
    def no_message_counts_twice(self, data: st.DataObject) -> None:
        used = data.draw(st.sampled_from(self.nonces))
        assert not self.use(replace(used, following=self.name(), now=self.now))

    @precondition(lambda self: self.requests)
    @rule(data=st.data(), carrier=st.integers(0, 3), signs=st.booleans())
    def no_request_counts_twice(self, data: st.DataObject, carrier: int, *, signs: bool) -> None:
        """In a message of its peer, or of another one whom it allows, too; by all its signatures, or some."""
        used = data.draw(st.sampled_from(self.requests))
        again = replace(used, id=self.name(), mark=self.name(), now=self.now)
        if used.owners:
            owners = used.owners[:1] if signs else used.owners
            again = replace(again, peer=[*self.people, used.peer][carrier], owners=owners)
        assert not self.use(again)

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def no_id_counts_twice(self, data: st.DataObject) -> None:
        used = data.draw(st.sampled_from(self.requests))
        assert not self.use(replace(used, stamp=self.name(), payload="", mark=self.name(), now=self.now))

    @rule(signs=st.booleans())
    def a_newcomer_is_served(self, *, signs: bool) -> None:
        """As soon as nothing that was dated ahead is later: long before anything is over."""
        self.now += ALLOWED_AHEAD + 1
        newcomer = Address(f"newcomer {self.name()}")
        assert self.use(self.opened(newcomer))
        assert self.use(self.request(newcomer, (newcomer,) if signs else (), self.now))


CrowdedStore.TestCase.settings = settings(max_examples=examples(60), stateful_step_count=30)
TestACrowdedStore = CrowdedStore.TestCase
