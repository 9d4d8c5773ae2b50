"""Cheques of several resources, presented and revoked at once: every schedule of the writes at the table of DCP."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest
from tests.aws import Clients, Deployed, gate_calls, new_clients
from tests.fakes.executor import SerialExecutor
from tests.pipeline.stage import Actor, Choose, Stage, all_schedules, gate_of

from postroom.core.errors import TheirError
from postroom.crypto.ethereum import Address
from postroom.protocols.dcp.session_store import RequestUse
from postroom.storage.limits.dcp_sessions import DcpSessions

ONES, TWOS, THREES = (Address(digit * 40) for digit in "123")
Step = Callable[[DcpSessions, RequestUse], None]


class Peers:
    """Peers that present or revoke one cheque, each with clients of their own. `counted`: who was not refused."""

    def __init__(self, table: str, casts: list[Clients]) -> None:
        self._table, self._casts = table, casts
        self._plays = count()
        self.counted: list[str] = []
        self.dead: list[str] = []

    def play(
        self,
        steps: dict[str, tuple[Step, tuple[Address, ...]]],
        choose: Choose,
        deaths: int = 0,
        *,
        with_payload: bool = False,
    ) -> RequestUse:
        """Play one schedule, with a stamp that no other has; the cheque is returned."""
        number, stage = next(self._plays), Stage(choose, deaths=deaths)
        payload = f"payload {number}" if with_payload else ""
        cheque = RequestUse(Address(""), "id", f"stamp {number}", (), "", now=100, until=150, payload=payload)
        self.counted.clear()
        actors: dict[str, Actor] = {}
        for clients, (name, (step, resources)) in zip(self._casts, steps.items(), strict=False):
            use = replace(cheque, peer=Address(f"{name} {number}"), mark=f"{name} {number}", owners=resources)

            def run(name: str = name, step: Step = step, use: RequestUse = use, clients: Clients = clients) -> None:
                try:
                    step(DcpSessions(clients.dynamodb, self._table, SerialExecutor()), use)
                except TheirError:
                    return
                self.counted.append(name)

            actors[name] = stage.enter(name, run)
            gate_calls(clients, gate_of(lambda actor=actors[name]: None if actor.ended else actor))  # type: ignore[misc]
        stage.play(lambda: None)
        self.dead = [name for name, actor in actors.items() if actor.died]
        return cheque

    def counts_now(self, cheque: RequestUse, *resources: Address) -> bool:
        """Whether somebody who comes later is not refused."""
        later = replace(cheque, peer=Address(f"later {cheque.stamp}"), mark=f"later {cheque.stamp}", owners=resources)
        try:
            DcpSessions(self._casts[0].dynamodb, self._table, SerialExecutor()).use_request(later)
        except TheirError:
            return False
        return True


@pytest.fixture(scope="module")
def casts() -> list[Clients]:
    return [new_clients() for _ in range(2)]


@pytest.fixture
def peers(deployed: Deployed, casts: list[Clients]) -> Peers:
    return Peers(deployed.tables["DcpTable"], casts)


PRESENT, REVOKE = DcpSessions.use_request, DcpSessions.revoke
CASES = {
    "two who present it": {"Wes": (PRESENT, (ONES, TWOS)), "Jack": (PRESENT, (TWOS, ONES))},
    "one who presents, and one who revokes it": {"Wes": (PRESENT, (ONES, TWOS)), "owners": (REVOKE, (TWOS, ONES))},
    "one of three, and one of its resources who revokes it": {
        "Wes": (PRESENT, (THREES, ONES, TWOS)), "an owner": (REVOKE, (TWOS,)),
    },
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_counts_in_every_schedule_of(peers: Peers, case: str) -> None:
    def play(choose: Choose) -> None:
        cheque = peers.play(CASES[case], choose)
        assert len(peers.counted) == 1
        assert not peers.counts_now(cheque, ONES, TWOS)

    assert all_schedules(play) >= 5


def test_one_counts_in_every_schedule_of_a_payload_that_each_presents_with_another_signature(peers: Peers) -> None:
    steps = {"Wes": (PRESENT, (ONES,)), "Jack": (PRESENT, (TWOS,))}

    def play(choose: Choose) -> None:
        cheque = peers.play(steps, choose, with_payload=True)
        assert len(peers.counted) == 1
        assert not peers.counts_now(cheque, THREES)

    assert all_schedules(play) >= 5


@pytest.mark.parametrize("case", CASES)
def test_at_most_one_counts_in_every_schedule_with_a_death_of(peers: Peers, case: str) -> None:
    def play(choose: Choose) -> None:
        cheque = peers.play(CASES[case], choose, deaths=1)
        # Whoever died may have come first, and then its stamp is used; whoever gave back what it took used up nothing.
        assert len(peers.counted) + peers.counts_now(cheque, ONES, TWOS) <= 1
        assert peers.counted or peers.dead

    assert all_schedules(play, 0) >= 10
