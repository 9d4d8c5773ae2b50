from collections.abc import Callable, Sequence
from typing import Any

import pytest
from tests.aws import Clients, new_clients
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.tiers import amount


@pytest.fixture(scope="session")
def ours() -> Clients:
    """Clients of inboxes, workers, owners, and of runs that nothing befalls."""
    return new_clients()


@pytest.fixture(scope="session")
def victims() -> list[Clients]:
    """Clients of those whose calls are stopped or counted; made once, because making them is slow."""
    return [new_clients() for _ in range(3)]


Turn = Callable[[Sequence[Any]], Sequence[Any]]


@pytest.fixture
def turn(pytestconfig: pytest.Config) -> Turn:
    """Selects a quarter of the plays, by the rotation, in the quick tier, and all of them in the others."""
    parts = amount(quick=4, all=1, proof=1)
    return lambda plays: plays[pytestconfig.option.rotation % parts :: parts]
