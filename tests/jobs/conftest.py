from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.aws import Clients, new_clients
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.tiers import in_turns


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
def turn() -> Turn:
    """Selects an eighth of the runs in the quick tier, a third in `all`, by the rotation, and all in `proof`."""
    return lambda plays: in_turns(plays, quick=8, all=3)
