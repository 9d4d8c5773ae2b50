import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.http.counter import Counter, Owner


@pytest.fixture
def counter(deployed: Deployed) -> Counter:
    return Counter(deployed)


@pytest.fixture
def owner(counter: Counter) -> Owner:
    return Owner(counter)
