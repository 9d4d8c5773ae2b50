from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.aws import Clients, new_clients
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.tiers import amount


@pytest.fixture(scope="session")
def ours() -> Clients:
    """The clients of inboxes, workers and owners, and of runs without faults."""
    return new_clients()


@pytest.fixture(scope="session")
def victims() -> list[Clients]:
    """The clients of runs whose calls are interrupted or counted; created once, because that is slow."""
    return [new_clients() for _ in range(3)]


Turn = Callable[[Sequence[Any]], Sequence[Any]]


@pytest.fixture
def turn(pytestconfig: pytest.Config) -> Turn:
    """Selects a quarter of the runs in the quick tier, by the rotation, and all in the others."""
    parts = amount(quick=4, all=1, proof=1)
    return lambda plays: plays[pytestconfig.option.rotation % parts :: parts]
