"""The initiator of dcp-client 5, which speaks another protocol, at our guardian, our target and `/dcp`."""

import json

import pytest
from tests.aws import Deployed
from tests.aws import clients as clients
from tests.aws import deployed as deployed
from tests.fakes.clock import FakeClock
from tests.http.api_stack import ApiStack
from tests.http.dcp_peers import DcpApi
from tests.peers.dcp.test_their_initiator import Exchange, Ours, guardian, target
from tests.peers.node import Reference
from tests.protocols.dcp.guarded import NOW, OWNER

from postroom.core.errors import TheirError
from postroom.protocols.dcp.connect import ACCEPTED
from postroom.protocols.dcp.error_payload import ErrorCode
from postroom.protocols.dcp.reasons import DCP_ID_MISSING
from postroom.protocols.dcp.signed_message import read_signed_message


def mailbox(deployed: Deployed) -> Ours:
    """`/dcp` of the mailbox API."""
    dcp = DcpApi(ApiStack(deployed, FakeClock(NOW)))
    return lambda data: [dcp.post(data).body]


@pytest.fixture(params=["guardian", "target", "mailbox"])
def exchange(request: pytest.FixtureRequest, reference5: Reference) -> Exchange:
    # It remembers the address of the target that it meets at a URL, also of one that it ends a connection with.
    url = f"https://{request.param}.example"
    if request.param == "mailbox":
        return Exchange(reference5, mailbox(request.getfixturevalue("deployed")), url)
    return Exchange(reference5, {"guardian": guardian, "target": target}[request.param](), url)


def test_its_connect_is_one_signed_request_of_version_5(reference5: Reference) -> None:
    theirs = Exchange(reference5, guardian()).theirs
    theirs.begin("send", [["echo", 1]])
    message = read_signed_message(theirs.sent())
    payload = message.body["payload"]
    assert isinstance(payload, dict)
    assert message.owner == OWNER.address
    assert (message.body["type"], payload["operation"]) == ("request", "connect")
    assert json.dumps(payload["data"]).startswith('{"version": "5.3.0", "sid": ')


def test_it_is_told_eversion_and_understands_it(exchange: Exchange) -> None:
    (begun,) = exchange.theirs.begin("send", [["echo", 1]])
    (answer,) = exchange.ours(exchange.theirs.sent())
    body = json.loads(answer)["body"]
    assert not body["success"]
    assert (body["payload"]["code"], body["payload"]["message"]) == (ErrorCode.EVERSION, ACCEPTED)
    exchange.theirs.receive(answer)
    error = exchange.theirs.outcome(begun)["error"]
    assert error["code"] == ErrorCode.EVERSION
    assert error["message"] == f"peer requires version {ACCEPTED} (EVERSION)"


def test_it_acknowledges_our_answer_by_a_message_without_an_id_which_is_refused(reference5: Reference) -> None:
    exchange = Exchange(reference5, guardian())
    (begun,) = exchange.theirs.begin("send", [["echo", 1]])
    exchange.outcome(begun)
    acknowledgement = exchange.theirs.sent()
    assert read_signed_message(acknowledgement).body["type"] == "ack"
    with pytest.raises(TheirError, match=DCP_ID_MISSING.sentence):
        exchange.ours(acknowledgement)
