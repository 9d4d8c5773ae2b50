"""The reference's initiator at `/dcp` of the mailbox API."""

from base64 import b64encode

import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.fakes.clock import FakeClock
from tests.http.api_stack import SHOP, ApiStack
from tests.http.dcp_peers import DcpApi
from tests.peers.dcp.test_their_initiator import Exchange
from tests.peers.node import Reference
from tests.protocols.dcp.guarded import NOW, WES

from postroom.protocols.dm3.keys import PrivateSigningKey


@pytest.fixture
def api(deployed: Deployed) -> ApiStack:
    return ApiStack(deployed, FakeClock(NOW))


@pytest.fixture
def exchange(reference: Reference, api: ApiStack) -> Exchange:
    """With a mailbox whose owner is Wes."""
    owner = PrivateSigningKey.decode(f"secp256k1:{b64encode(WES.secret).decode()}")
    api.mailboxes.set_keys(SHOP, [owner.public.encode()])
    dcp = DcpApi(api)
    return Exchange(reference, lambda data: [dcp.post(data).body], "https://mailbox.example").connected()


def test_an_authorized_operation_of_the_owner_is_performed(exchange: Exchange, api: ApiStack) -> None:
    api.file('{"Say":"hi"}')
    begun = exchange.theirs.begin("authorized", "status", {"mailbox": SHOP}, WES.secret.hex())
    assert exchange.outcome(begun)["result"]["body"]["waiting"] == 1


def test_what_nobody_authorized_is_refused_and_the_session_goes_on(exchange: Exchange) -> None:
    refused, unknown = exchange.theirs.begin("send", [["status", {"mailbox": SHOP}], ["no such operation", None]])
    assert exchange.outcome(refused)["error"]["code"] == "NotTheOwner"
    assert exchange.theirs.outcome(unknown)["error"]["code"] == "EINVAL"
    assert exchange.outcome(exchange.theirs.begin("keepalive")) == {}


def test_its_close_is_answered(exchange: Exchange) -> None:
    assert exchange.outcome(exchange.theirs.begin("close")) == {}
