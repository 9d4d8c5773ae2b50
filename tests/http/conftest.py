import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.http.api_stack import ApiStack, Owner
from tests.http.dcp_peers import DcpApi, give_keys
from tests.protocols.dcp.guarded import Peer


@pytest.fixture
def api(deployed: Deployed) -> ApiStack:
    return ApiStack(deployed)


@pytest.fixture
def dcp(api: ApiStack) -> DcpApi:
    give_keys(api)
    return DcpApi(api)


@pytest.fixture
def peer(dcp: DcpApi) -> Peer:
    return dcp.peer()


@pytest.fixture
def owner(api: ApiStack) -> Owner:
    return Owner(api)
