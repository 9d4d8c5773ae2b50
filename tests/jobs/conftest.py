import pytest
from tests.aws import Clients, new_clients
from tests.aws import clients as clients
from tests.aws import deployed as deployed


@pytest.fixture(scope="session")
def ours() -> Clients:
    """Clients of doors, workers, owners, and of runs that nothing befalls."""
    return new_clients()


@pytest.fixture(scope="session")
def victims() -> list[Clients]:
    """Clients of those whose calls are stopped or counted; made once, because making them is slow."""
    return [new_clients() for _ in range(3)]
