"""DCP's reference implementation at the local post office: its initiator over HTTPS, and a cheque that it wrote."""

import time
from collections.abc import Iterator
from itertools import count

import pytest
from tests.end_to_end.dcp_wire import Guardian, public_key
from tests.end_to_end.test_dcp_sockets import URL, opened
from tests.peers.dcp.conftest import reference as reference
from tests.peers.dcp.test_their_initiator import Exchange
from tests.peers.node import Reference
from tests.protocols.dcp.guarded import JACK, OWNER, WES, Json, says

from postroom.client.dcp import RequestFailedError
from postroom.core.ijson import JsonValue
from postroom.crypto.ethereum_keys import EthereumKey
from postroom.demo.stack import RECEIVER, DemoStack
from postroom.protocols.dcp.cheques import read_cheque, request_of
from postroom.protocols.dcp.reasons import DCP_SESSION_OVER

# One stack serves all of these: they run in one process.
pytestmark = pytest.mark.xdist_group("demo")

NUMBERS = count(1)


@pytest.fixture
def guardian(demo_stack: DemoStack) -> Iterator[Guardian]:
    with Guardian(demo_stack) as guardian:
        yield guardian


@pytest.fixture
def mailbox(demo_stack: DemoStack) -> str:
    """A mailbox whose owner is Wes."""
    name = f"reference{next(NUMBERS)}.{RECEIVER}"
    demo_stack.receiver.mailboxes.set_keys(name, [public_key(WES)])
    return name


@pytest.fixture
def exchange(reference: Reference, guardian: Guardian) -> Exchange:
    """Its initiator, whose clock is right, with a session."""
    exchange = Exchange(reference, lambda data: [guardian.post(data)], URL)
    reference.call("clock.set", int(time.time()))
    return exchange.connected()


def authorized(exchange: Exchange, operation: str, data: Json) -> Json:
    """What comes of a request that Wes authorizes."""
    return exchange.outcome(exchange.theirs.begin("authorized", operation, data, WES.secret.hex()))


def test_its_authorized_requests_are_performed_one_after_another(exchange: Exchange, mailbox: str) -> None:
    part = authorized(exchange, "add_part", {"mailbox": mailbox, "body": "AA=="})
    assert "error" not in part
    assert authorized(exchange, "status", {"mailbox": mailbox})["result"]["body"]["waiting"] == 0


def test_each_request_of_its_batch_has_its_own_error_and_the_session_goes_on(exchange: Exchange, mailbox: str) -> None:
    refused, unknown = exchange.theirs.begin("send", [["status", {"mailbox": mailbox}], ["no such operation", None]])
    assert exchange.outcome(refused)["error"]["code"] == "NotTheOwner"
    assert exchange.theirs.outcome(unknown)["error"]["code"] == "EINVAL"
    assert exchange.outcome(exchange.theirs.begin("keepalive")) == {}


def test_its_close_ends_the_session(exchange: Exchange) -> None:
    assert exchange.outcome(exchange.theirs.begin("close")) == {}
    assert [says(each).startswith(DCP_SESSION_OVER.sentence) for each in exchange.sent_again()] == [True]


def test_a_cheque_that_it_wrote_counts_once_for_its_holder(
    reference: Reference, guardian: Guardian, demo_stack: DemoStack, mailbox: str
) -> None:
    reference.call("clock.set", int(time.time()))
    names = (WES.secret.hex(), f"0x{guardian.address}", f"0x{OWNER.address}")
    cheque = reference.call("cheque", "sign_out", {"mailbox": mailbox}, *names)

    def present(key: EthereumKey) -> JsonValue:
        with opened(demo_stack, URL, key) as session:
            return session.present(request_of(read_cheque(cheque)))

    with pytest.raises(RequestFailedError) as stolen:
        present(JACK)
    assert stolen.value.code == "NotTheOwner"
    assert present(OWNER)
    with pytest.raises(RequestFailedError) as again:
        present(OWNER)
    assert again.value.code == "EDUP"
    assert demo_stack.receiver.storage.mailboxes.sign_outs(mailbox) == 1
