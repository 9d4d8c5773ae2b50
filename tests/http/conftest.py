import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.http.api_stack import ApiStack, Owner


@pytest.fixture
def api(deployed: Deployed) -> ApiStack:
    return ApiStack(deployed)


@pytest.fixture
def owner(api: ApiStack) -> Owner:
    return Owner(api)
