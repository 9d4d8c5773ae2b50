"""An initiator and a target over a network that reorders, drops, doubles, changes and cuts: every interleaving."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from tests.model.explore import BrokenError, Explored, explore
from tests.protocols.dcp.network import DAY, ENDS, INITIATOR, TARGET, Bounds, EndState, Everything, Network
from tests.tiers import amount, in_turns

from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.connection_events import (
    ConnectionEvent,
    RequestAnswered,
    RequestFailed,
    RequestUnanswered,
    SessionEnded,
)
from postroom.protocols.dcp.endpoint import Clock
from postroom.protocols.dcp.error_payload import Result
from postroom.protocols.dcp.initiator import ConnectionInitiator
from postroom.protocols.dcp.memory_store import MemoryStore
from postroom.protocols.dcp.receiving import Admitted, ReceivedConnect
from postroom.protocols.dcp.session_names import OpenedSession, SessionIds
from postroom.protocols.dcp.session_store import NonceUse, RequestUse
from postroom.protocols.dcp.states import ConnectionState
from postroom.protocols.dcp.target import ConnectionTarget

LAWFUL = (
    Bounds("both ask twice", asks=(2, 2)),
    Bounds("answers come later", asks=amount(quick=(2, 1), all=(2, 1), proof=(2, 2)), answers_later=True),
    Bounds("both close", asks=amount(quick=(1, 1), all=(2, 1), proof=(2, 2)), closes=(1, 1)),
)
CHANGING = (
    Bounds("a change", closes=(1, 0), changes=1),
    Bounds("a stranger", asks=amount(quick=(1, 1), all=(2, 1), proof=(2, 2)), closes=(1, 0), strangers=1),
    Bounds("a cut", asks=(2, 1), closes=(1, 0), cuts=1),
    Bounds("clocks that drift", drifts=amount(quick=1, all=2, proof=2)),
    Bounds("clocks that drift, two requests", asks=amount(quick=(1, 0), all=(2, 1), proof=(2, 2)), drifts=1),
    Bounds("a jump of the initiator's clock", asks=amount(quick=(1, 1), all=(2, 1), proof=(2, 1)), jumps=(1, 0)),
    Bounds("a jump of the target's clock", asks=amount(quick=(1, 1), all=(2, 1), proof=(2, 1)), jumps=(0, 1)),
    Bounds("a jump of each clock", asks=amount(quick=(1, 0), all=(1, 1), proof=(2, 1)), jumps=(1, 1)),
    Bounds("a jump of each clock and a double", asks=(1, 0), jumps=(1, 1), doubles=1),
    Bounds("two jumps of the target's clock and a double", asks=(2, 0), jumps=(0, 2), doubles=1),
    Bounds("a reordering", asks=(2, 1), closes=amount(quick=(0, 0), all=(1, 0), proof=(1, 1)), reorders=1),
    Bounds("a reordering, answers later", asks=(2, 1), reorders=1, answers_later=True),
    Bounds("a double", asks=(2, 1), closes=amount(quick=(0, 0), all=(1, 0), proof=(1, 1)), doubles=1),
    Bounds(
        "a double, answers later",
        asks=amount(quick=(2, 0), all=(1, 1), proof=(2, 1)),
        doubles=1,
        answers_later=True,
    ),
    Bounds("a drop", asks=(2, 1), closes=amount(quick=(0, 0), all=(1, 1), proof=(1, 1)), drops=1),
    Bounds("a drop, answers later", asks=amount(quick=(1, 1), all=(2, 1), proof=(2, 1)), drops=1, answers_later=True),
    Bounds("a drop and a reordering", asks=amount(quick=(1, 1), all=(2, 1), proof=(2, 1)), drops=1, reorders=1),
    Bounds(
        "a drop, a double and a reordering",
        asks=amount(quick=(1, 1), all=(1, 1), proof=(2, 1)),
        closes=amount(quick=(0, 0), all=(1, 0), proof=(1, 0)),
        drops=1,
        doubles=1,
        reorders=1,
    ),
)
SET_BACK = Bounds("a clock that is set back by a day", asks=(2, 0), jumps=(0, 2), doubles=1, reorders=1)


# --- what is always so -----------------------------------------------------------------------------------------------


def expect(is_true: bool, what: str) -> None:
    if not is_true:
        raise BrokenError(what)


def check_end(end: EndState) -> None:
    expect(len(end.performed) == len(set(end.performed)), "TWICE: an application received a request twice")
    used = end.used_nonces
    expect(len(used) == len(set(used)), "NONCE: two messages with requests have one nonce")
    expect(set(used) <= end.given_nonces, "OPEN: a message with requests was sent before the peer allowed the next")
    outcomes = [each.id for each in end.outcomes]
    expect(len(outcomes) == len(set(outcomes)), "OUTCOMES: a request had two")
    ended = [event for event in end.events if isinstance(event, SessionEnded)]
    expect(ended == [event for event in end.events[-1:] if end.is_closed], "CLOSED: something came after the end")


def check_requests(by: EndState, of: EndState) -> None:
    """What an application received is what the other one asked, and what this is told of it is true."""
    expect(set(of.performed) <= set(by.data.values()), "FOREIGN: an application received what nobody asked")
    for outcome in by.outcomes:
        data = by.data.get(outcome.id)  # None: of a close
        match outcome:
            case RequestAnswered(result=result):
                expect(result == data and (data is None or data in of.performed), "ANSWERED: by somebody else")
            case RequestFailed():
                expect(data not in of.performed, "FAILED: the request was performed")
            case RequestUnanswered(was_sent=False):
                expect(data not in of.performed, "NOT SENT: the request was performed")


@dataclass
class Laws:
    """The checks of each state."""

    network: Network
    checked: set[tuple[int, int]] = field(default_factory=set)

    def check(self, now: Everything) -> None:
        self._check_ends(now)
        if not any(now.arriving):
            self._check_healed(self.network.settled(now), now)

    def explore(self) -> Explored:
        network = self.network
        return explore(network.start(), self.check, network.following)

    def _check_ends(self, now: Everything) -> None:
        if now.ends in self.checked:
            return
        self.checked.add(now.ends)
        initiator, target = self.network.of(now)
        for end in (initiator, target):
            check_end(end)
        check_requests(initiator, target)
        check_requests(target, initiator)

    def _check_healed(self, healed: Everything, before: Everything) -> None:
        """No deadlock: each request comes to an outcome, and either the session ends at both ends, or goes on."""
        network = self.network
        was_dropped = before.left.drops < network.bounds.drops
        is_fair = [_faults(before.left, end) == _faults(network.bounds, end) for end in ENDS]
        if all(is_fair):
            expect(len({each.is_closed for each in network.of(before)}) == 1, "HALF CLOSED: without a reason")
        if was_dropped:
            healed = self._repeated(healed)
        self._check_ends(healed)
        is_closed = any(each.is_closed for each in network.of(healed))
        if is_closed or not was_dropped:
            for end in network.of(healed):
                expect(not end.unfinished, "STUCK: a request without an outcome")
        for end in ENDS:
            if any(each.is_closed for each in network.of(healed)):
                return
            if network.of(healed)[end].machine.state is ConnectionState.OPEN:
                healed = self._goes_on(healed, end, is_fair=is_fair[end])
            else:
                expect(False, "STUCK: neither open nor closed")

    def _repeated(self, now: Everything) -> Everything:
        """Each end that waits sends its last message with requests again, as over HTTP."""
        for end in ENDS:
            state = self.network.of(now)[end]
            if state.waits_for_nonce and not state.is_closed:
                now = self.network.settled(self.network.done(now, end, "repeat"))
        return now

    def _goes_on(self, now: Everything, end: int, *, is_fair: bool) -> Everything:
        now = self.network.settled(self.network.done(now, end, "ask"))
        state = self.network.of(now)[end]
        name = state.asked[-1]
        outcomes = [type(each) for each in state.outcomes if each.id == name]
        expect(len(outcomes) == 1 and (not is_fair or outcomes == [RequestAnswered]), "STUCK: no further request")
        self._check_ends(now)
        return now


def _faults(bounds: Bounds, end: int) -> Bounds:
    """What may fail a request of this end. Clocks may drift by no more than the slop, and an initiator dates what it
    sends by the target's clock: only a jump of that is a fault for it."""
    jumps = (0, bounds.jumps[TARGET]) if end == INITIATOR else bounds.jumps
    return replace(bounds, asks=(0, 0), closes=(0, 0), drifts=0, jumps=jumps)


@pytest.mark.parametrize("bounds", in_turns(LAWFUL + CHANGING, quick=4, all=3), ids=lambda bounds: bounds.name)
def test_nothing_counts_twice_or_hangs_in_any_interleaving_with(bounds: Bounds) -> None:
    explored = Laws(Network(bounds)).explore()
    assert explored.fault == "", "\n".join((explored.fault, *explored.story))
    assert explored.states > 100


def test_a_target_in_memory_whose_clock_was_a_day_ahead_has_forgotten_what_it_received_when_it_is_set_back() -> None:
    """A store in memory keeps what is over for a minute. Only a network that keeps a copy brings it again."""
    explored = Laws(Network(SET_BACK)).explore()
    assert explored.fault == "TWICE: an application received a request twice"
    assert [each for each in explored.story if "jumps" in each] == [
        f"the target's clock jumps by {seconds:+} s" for seconds in (DAY, -DAY)
    ]
    assert "one to target is doubled" in explored.story


# --- ends that do not keep the rules are noticed ----------------------------------------------------------------------


class Forgetful(MemoryStore):
    """It remembers no nonce and no request."""

    def use_nonce(self, use: NonceUse) -> None:
        pass

    def use_request(self, use: RequestUse) -> None:
        pass


class Impatient(ConnectionInitiator):
    """It sends its next requests without a new nonce."""

    def requests_message(self, clock: Clock) -> bytes | None:
        nonce = self._outgoing.nonce
        message = super().requests_message(clock)
        self._outgoing.nonce = nonce
        return message


class Confident(ConnectionInitiator):
    """It takes the refusal of a copy of its message for that of the first one."""

    def receive(self, data: bytes, clock: Clock) -> list[ConnectionEvent]:
        events = super().receive(data, clock)
        return [
            RequestFailed(event.id, event.refusal) if isinstance(event, RequestUnanswered) and event.refusal else event
            for event in events
        ]


class ByItsOwnClock(ConnectionInitiator):
    """It dates its requests by its own wall clock."""

    def requests_message(self, clock: Clock) -> bytes | None:
        self._peer_clock = None
        return super().requests_message(clock)


class Hospitable(ConnectionTarget):
    """It receives requests of anybody."""

    def _connect_received(self, connect: ReceivedConnect, clock: Clock) -> Iterator[ConnectionEvent]:
        yield from super()._connect_received(connect, clock)
        self._receiver = replace(self._receiver, sessions=OfAnybody(self._receiver.sessions, connect.peer))


@dataclass(frozen=True)
class OfAnybody:
    sessions: SessionIds
    peer: Address

    def opened(self, dcpsid: str, peer: Address) -> OpenedSession | None:
        del peer
        return self.sessions.opened(dcpsid, self.peer)


class Punctual(ConnectionTarget):
    """It allows no difference of clocks."""

    def receive(self, data: bytes, clock: Clock) -> list[ConnectionEvent]:
        self._receiver = replace(self._receiver, limits=replace(self._receiver.limits, slop=0))
        return super().receive(data, clock)


class Silent(ConnectionTarget):
    """It answers nothing that its application should answer."""

    def respond(self, admitted: Admitted, result: Result) -> None:
        pass


@pytest.mark.parametrize(
    ("bounds", "ends", "fault"),
    [
        (Bounds("a double", doubles=1), {"store": Forgetful}, "TWICE"),
        (Bounds("lawful", asks=(2, 0)), {"initiator": Impatient}, "NONCE"),
        (Bounds("a drop", drops=1), {"initiator": Confident}, "FAILED"),
        (Bounds("a stranger", strangers=1), {"target": Hospitable}, "FOREIGN"),
        (Bounds("a jump", jumps=(1, 0)), {"initiator": ByItsOwnClock}, "STUCK"),
        (Bounds("a drift", drifts=1), {"target": Punctual}, "STUCK"),
        (Bounds("lawful"), {"target": Silent}, "STUCK"),
    ],
    ids=lambda value: "-".join(each.__name__ for each in value.values()) if isinstance(value, dict) else "",
)
def test_ends_that_break_a_rule_are_noticed(bounds: Bounds, ends: dict[str, type], fault: str) -> None:
    explored = Laws(Network(bounds, **ends)).explore()
    assert explored.fault.startswith(fault), explored.fault
