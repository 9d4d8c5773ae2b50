"""Runs that requests hold, counted for all instances."""

from collections import Counter
from contextlib import AbstractContextManager, ExitStack, nullcontext
from itertools import count

import pytest
from botocore.exceptions import EndpointConnectionError
from tests.aws import Clients, Deployed, gate_calls, new_clients
from tests.fakes.clock import FakeClock

from postroom.storage.limits.held_runs import HeldRuns, most_of_a_name

KIND, SECONDS = "waits", 30
OWNER, OTHER = "owner.example", "other.example"
WRITES = ("PutItem", "DeleteItem", "UpdateItem")


class Instances:
    """Instances of a function, each with its own counting object. `calls`: to AWS, of all of them."""

    def __init__(self, deployed: Deployed, *, most: int, first_id: int = 0, table: str = "") -> None:
        self.clock = FakeClock(1_000.0)
        self.calls: Counter[str] = Counter()
        self.clients: Clients = new_clients()
        gate_calls(self.clients, self._pass)
        self._table = table or deployed.tables["LimitsTable"]
        self._most = most
        self._ids = count(first_id)

    def _pass(self, operation: str) -> AbstractContextManager[object]:
        self.calls[operation] += 1
        return nullcontext()

    def new(self) -> HeldRuns:
        return HeldRuns(
            self.clients.dynamodb, self._table, KIND, most=self._most, seconds=SECONDS, clock=self.clock,
            new_id=lambda: f"request {next(self._ids)}",
        )  # fmt: skip

    def writes(self) -> int:
        return sum(self.calls[operation] for operation in WRITES)

    def rows(self) -> int:
        return int(self.clients.dynamodb.scan(TableName=self._table, Select="COUNT")["Count"])


def test_a_name_holds_its_runs_at_all_instances_together_and_no_more(deployed: Deployed) -> None:
    instances = Instances(deployed, most=50)
    with ExitStack() as requests:
        held = [requests.enter_context(instances.new().hold(OWNER)) for _ in range(12)]
        assert held == [True] * 4 + [False] * 8
        assert requests.enter_context(instances.new().hold(OTHER))
    assert instances.rows() == 0


def test_all_names_together_hold_no_more_than_the_limit(deployed: Deployed) -> None:
    instances = Instances(deployed, most=5)
    with ExitStack() as requests:
        held = [requests.enter_context(instances.new().hold(f"owner{number}.example")) for number in range(60)]
        assert sum(held) == instances.rows() == 5


@pytest.mark.parametrize(("most", "of_a_name"), [(0, 0), (1, 1), (2, 1), (3, 2), (5, 3), (40, 4)])
def test_a_name_may_not_hold_all_runs(most: int, of_a_name: int) -> None:
    assert most_of_a_name(most) == of_a_name


def test_names_that_have_the_same_slots_in_one_deployment_do_not_in_another(deployed: Deployed) -> None:
    """Nobody who knows this code and the number of runs alone finds a name that takes the slots of another one."""
    limits = deployed.tables["LimitsTable"]
    schema = deployed.clients.dynamodb.describe_table(TableName=limits)["Table"]
    names = [f"made-up{number}.example" for number in range(40)]

    def refused_beside_owner(table: str) -> set[str]:
        instances = Instances(deployed, most=5, table=table)
        with ExitStack() as requests:
            assert all(requests.enter_context(instances.new().hold(OWNER)) for _ in range(3))
            refused = set()
            for name in names:
                with instances.new().hold(name) as held:
                    if not held:
                        refused.add(name)
            return refused

    with_all_of_its_slots = refused_beside_owner(limits)
    assert len(with_all_of_its_slots) > 1
    deployed.clients.dynamodb.create_table(
        TableName=f"{limits}-of-another",
        AttributeDefinitions=schema["AttributeDefinitions"],
        KeySchema=schema["KeySchema"],
        BillingMode="PAY_PER_REQUEST",
    )
    assert not with_all_of_its_slots <= refused_beside_owner(f"{limits}-of-another")


def test_a_held_run_takes_two_writes_and_a_refused_one_none(deployed: Deployed) -> None:
    instances = Instances(deployed, most=50)
    runs = instances.new()
    with ExitStack() as requests:
        assert all(requests.enter_context(runs.hold(OWNER)) for _ in range(4))
        assert instances.writes() == 4
        for _ in range(20):
            with runs.hold(OWNER) as held:
                assert not held
        assert instances.writes() == 4
    assert instances.writes() == 8


def test_a_released_run_can_be_held_again(deployed: Deployed) -> None:
    runs = Instances(deployed, most=1).new()
    for _ in range(3):
        with runs.hold(OWNER) as held:
            assert held


def test_a_run_is_released_if_its_request_fails(deployed: Deployed) -> None:
    instances = Instances(deployed, most=1)
    with pytest.raises(ZeroDivisionError), instances.new().hold(OWNER):
        raise ZeroDivisionError
    assert instances.rows() == 0


def test_a_killed_run_holds_its_slot_until_its_time_is_over(deployed: Deployed) -> None:
    instances = Instances(deployed, most=3)
    with ExitStack() as killed, ExitStack() as requests:
        assert all(killed.enter_context(instances.new().hold(OWNER)) for _ in range(2))
        instances.clock.now += SECONDS
        assert not requests.enter_context(instances.new().hold(OWNER))
        instances.clock.now += 1
        assert [requests.enter_context(instances.new().hold(OWNER)) for _ in range(3)] == [True, True, False]


def test_a_run_that_ends_after_its_time_does_not_release_its_successor(deployed: Deployed) -> None:
    instances = Instances(deployed, most=1)
    with ExitStack() as successors:
        with instances.new().hold(OWNER):
            instances.clock.now += SECONDS + 1
            assert successors.enter_context(instances.new().hold(OWNER))
        assert not successors.enter_context(instances.new().hold(OWNER))
    assert instances.rows() == 0


@pytest.mark.parametrize(("first_id", "held"), [(7, False), (0, True)], ids=["of another request", "of its own"])
def test_a_slot_that_was_taken_meanwhile_is_held_only_by_whose_write_was_first(
    deployed: Deployed, first_id: int, held: bool
) -> None:
    # Its own: the answer to a write got lost, and boto3 repeated it.
    instances = Instances(deployed, most=1)
    others = Instances(deployed, most=1, first_id=first_id)
    with ExitStack() as requests:

        def another_is_first(operation: str) -> AbstractContextManager[object]:
            instances.calls[operation] += 1
            if operation == "PutItem":
                assert requests.enter_context(others.new().hold(OTHER))
            return nullcontext()

        gate_calls(instances.clients, another_is_first)
        assert requests.enter_context(instances.new().hold(OWNER)) is held
        assert instances.writes() == 1


@pytest.mark.parametrize("most", [0, 5])
def test_nothing_is_held_if_nothing_may_be_or_the_table_is_unavailable(deployed: Deployed, most: int) -> None:
    instances = Instances(deployed, most=most)
    if most:
        gate_calls(instances.clients, _away)
    with instances.new().hold(OWNER) as held:
        assert not held


def test_a_table_that_is_unavailable_at_the_end_costs_a_slot_until_its_time_is_over(deployed: Deployed) -> None:
    instances = Instances(deployed, most=1)
    runs = instances.new()
    with runs.hold(OWNER) as held:
        assert held
        gate_calls(instances.clients, _away)
    others = Instances(deployed, most=1)
    others.clock.now += SECONDS + 1
    with others.new().hold(OTHER) as held:
        assert held


def _away(_operation: str) -> AbstractContextManager[object]:
    raise EndpointConnectionError(endpoint_url="https://dynamodb.example")
