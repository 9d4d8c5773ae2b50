import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.pipeline.house import House


@pytest.fixture
def house(deployed: Deployed) -> House:
    return House(deployed)
