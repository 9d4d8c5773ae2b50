"""What owners who wait for mail ask of AWS: over a WebSocket, and by requests that wait for 20 s."""

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest
from tests.cost.counting import RECEIVER, Counted, CountedStack
from tests.http.dcp_peers import OWNER, OWNER_SIGNING_KEY
from tests.protocols.dcp.guarded import Peer

from postroom.api.dcp import PING, PONG, GuardianDescription
from postroom.api.schemas import MAX_WAIT_SECONDS
from postroom.client.dcp.websocket import UNUSED_SECONDS
from postroom.client.mailbox.dcp_waits import socket_of
from postroom.client.mailbox.exchange import MailboxResponse
from postroom.core.settings import DeploymentSettings
from postroom.cost import counted
from postroom.cost.items import MONTH_SECONDS
from postroom.cost.prices import OURS, read_prices
from postroom.cost.waits import WaitLoad, wait_items
from postroom.protocols.dcp.receiving import DEFAULT_TTL

pytestmark = [pytest.mark.xdist_group("cost"), pytest.mark.stack]
A_LITTLE = 0.02
"""Ids, nonces and times are not always as long."""
PAUSE_SECONDS = 540
"""Longer than anything is remembered, and shorter than a token counts."""
OF_A_SIGNATURE = 30
"""Bytes, as in test_dcp."""


@dataclass
class OverSocket:
    """The guardian of the stack, to messages over a WebSocket."""

    stack: CountedStack

    def answer(self, data: bytes, _now: float = 0.0) -> dict[str, Any]:
        return self.stack.answer_over_socket(data)


@dataclass
class Waits:
    """What was counted, each after a pause in which all that is cached became old, except `listed_soon`.

    `batch`: a watch with a list behind it, which is all that `listed` is; `spreading`, `telling`: the courier's runs
    for one notification; `told`: the messages to the WebSocket; `worker`: a message is filed while a session waits;
    `alone`: the same while none does; `polled`: a request that waits in vain.
    """

    connect: Counted
    batch: Counted
    listed: Counted
    listed_soon: Counted
    alone: Counted
    worker: Counted
    spreading: Counted
    telling: Counted
    told: list[bytes]
    polled: Counted


@pytest.fixture(scope="module")
def empty(stack: CountedStack) -> CountedStack:
    """The stack, without messages in the mailbox."""
    stack.acknowledge(stack.rows())
    return stack


@pytest.fixture(scope="module")
def waits(empty: CountedStack) -> Waits:
    stack, token = empty, empty.let_in(OWNER_SIGNING_KEY)
    guardian = stack.described()["identity"].removeprefix("0x")
    made: dict[str, Any] = {}

    def file(number: int) -> Counted:
        before = stack.rows()
        _, claims = stack.take_in("nlweb", [stack.nlweb(number)])
        worker = stack.work(claims)
        stack.acknowledge([row for row in stack.rows() if row not in before])
        return worker

    def request(operation: str) -> dict[str, object]:
        peer.now = time.time()
        validity = {"ttl": DEFAULT_TTL.default}
        return peer.request(operation, {"mailbox": RECEIVER}, keys=(OWNER,), validity=validity)

    # What is known of the sender is written once.
    file(1)
    stack.pass_time(PAUSE_SECONDS)
    made["alone"] = file(2)
    stack.pass_time(PAUSE_SECONDS)
    with stack.counting() as made["connect"]:
        peer = Peer.connected(
            OverSocket(stack), OWNER, half="a-session-that-waits.", guardian=guardian, now=time.time()
        )
    # The first message of a session makes its row.
    peer.send(request("messages"))
    for name, operations in (("listed", ["messages"]), ("batch", ["watch", "messages"])):
        stack.pass_time(PAUSE_SECONDS)
        with stack.counting() as made[name]:
            requests = [request(each) for each in operations]
            answer = peer.send(peer.batch(*requests) if len(requests) > 1 else requests[0])
            assert all(each["success"] for each in (answer["payload"] if len(requests) > 1 else [answer]))
    with stack.counting() as made["listed_soon"]:
        peer.send(request("messages"))
    stack.pass_time(PAUSE_SECONDS)
    made["worker"] = file(3)
    made["spreading"], made["telling"], made["told"] = stack.tell()
    with stack.sleeping():
        stack.wait_for_message(token, counted.POLL_SECONDS)
        # Most requests that wait follow another one.
        with stack.counting() as made["polled"]:
            stack.wait_for_message(token, counted.POLL_SECONDS)
    return Waits(**made)


def test_waits_are_as_long_as_the_cost_model_assumes() -> None:
    session_seconds = DeploymentSettings().dcp_session_seconds
    described = GuardianDescription(
        f"0x{OWNER.address}", [], {}, 0.0, 1, 1, "wss://sockets.example/dcp", PING, PONG, session_seconds
    )
    found = socket_of(MailboxResponse(200, {}, msgspec.json.encode(described)))
    assert found is not None
    assert (found.most_wait, UNUSED_SECONDS) == (counted.WAIT_SECONDS, counted.UNUSED_SECONDS)
    assert counted.POLL_SECONDS == MAX_WAIT_SECONDS


def test_a_list_of_an_empty_mailbox_makes_the_counted_requests_and_no_more(waits: Waits) -> None:
    writes = {"dynamodb UpdateItem": 1, "dynamodb PutItem": 2}
    old = {"dynamodb Query": 2, "secrets-manager GetSecretValue": 1}
    assert waits.listed_soon.requests == Counter({"dynamodb GetItem": 1, "dynamodb Query": 1, **writes})
    assert waits.listed.requests == waits.listed_soon.requests + Counter(old)
    assert waits.listed.write_units == counted.DCP_MESSAGE_WRITES + counted.DCP_REQUEST_WRITES
    assert waits.listed.read_units == counted.LIST_READS


def test_a_watch_before_it_makes_one_query_and_three_writes_more(waits: Waits) -> None:
    beside = Counter({"dynamodb Query": 1, "dynamodb PutItem": 3})
    assert waits.batch.requests == waits.listed.requests + beside
    assert waits.batch.write_units == waits.listed.write_units + counted.WATCH_WRITES
    assert waits.batch.read_units == waits.listed.read_units + counted.WATCH_READS


def test_a_connect_reads_the_secret_and_writes_nothing(waits: Waits) -> None:
    assert waits.connect.requests == Counter({"secrets-manager GetSecretValue": 1})


def test_what_is_remembered_is_read_again_after_the_seconds_that_the_cost_model_assumes(
    empty: CountedStack,
) -> None:
    stack, token = empty, empty.let_in(OWNER_SIGNING_KEY)
    stack.pass_time(PAUSE_SECONDS)
    stack.list_messages(token)
    for passed, times in ((counted.SECRET_CACHE_SECONDS - 0.5, 0), (1.0, 1)):
        stack.pass_time(passed)
        with stack.counting() as listed:
            stack.list_messages(token)
        assert listed.requests["secrets-manager GetSecretValue"] == times


def test_filing_a_message_for_an_owner_who_waits_takes_one_message_of_sqs_more(waits: Waits) -> None:
    assert waits.worker.requests == waits.alone.requests + Counter({"sqs SendMessage": 1})
    assert waits.worker.of("sqs") + waits.spreading.of("sqs") == counted.NOTIFY_SENDS


def test_a_notification_makes_the_counted_requests_of_the_courier_and_no_more(waits: Waits) -> None:
    assert waits.spreading.requests == Counter({"dynamodb UpdateItem": 1, "dynamodb Query": 1, "sqs SendMessage": 1})
    assert waits.telling.requests == Counter(
        {
            "dynamodb GetItem": 1,
            "dynamodb UpdateItem": 1,
            "dynamodb DeleteItem": 1,
            "secrets-manager GetSecretValue": 1,
        }
    )
    runs = (waits.spreading, waits.telling)
    assert len(runs) == counted.NOTIFY_RUNS
    assert sum(each.write_units for each in runs) == counted.NOTIFY_WRITES
    assert sum(each.read_units for each in runs) == counted.NOTIFY_READS
    assert sum(len(each.log_lines) for each in runs) == counted.NOTIFY_LOG_LINES
    assert sum(len(each.log) for each in runs) == pytest.approx(counted.NOTIFY_LOG_BYTES, rel=A_LITTLE)
    assert len(set.union(*(each.metrics() for each in runs))) == counted.NOTIFY_METRICS


def test_answers_and_log_lines_have_the_counted_bytes(waits: Waits) -> None:
    assert waits.listed.answer_bytes == pytest.approx(counted.LIST_ANSWER_BYTES, abs=OF_A_SIGNATURE)
    assert waits.batch.answer_bytes == pytest.approx(counted.WATCH_ANSWER_BYTES, abs=OF_A_SIGNATURE)
    assert [len(each) for each in waits.told] == [pytest.approx(counted.NOTIFY_BYTES, abs=OF_A_SIGNATURE)]
    for each in (waits.connect, waits.listed, waits.batch):
        assert (len(each.log_lines), each.metrics()) == (1, {"DcpAnswered"})
        assert len(each.log) == pytest.approx(counted.DCP_LOG_BYTES, rel=A_LITTLE)


def test_a_request_that_waits_in_vain_makes_the_counted_requests(waits: Waits) -> None:
    assert waits.polled.write_units == counted.POLL_WRITES
    # The owner's keys are read again in most of them, but not in all.
    assert waits.polled.read_units == pytest.approx(counted.POLL_READS, abs=1)
    assert waits.polled.answer_bytes == counted.POLL_ANSWER_BYTES
    assert len(waits.polled.log_lines) == 1
    assert len(waits.polled.log) == pytest.approx(counted.POLL_LOG_BYTES, rel=A_LITTLE)


def cost_of(load: WaitLoad) -> float:
    """What an owner costs in a month, in US dollars."""
    items = wait_items(load, read_prices(OURS, "us-east-1"))
    return sum(item.usd for item in items) / load.owners


def test_an_owner_who_waits_over_a_websocket_costs_at_most_five_cents_a_month() -> None:
    assert cost_of(WaitLoad(sockets=1)) <= 0.05
    assert cost_of(WaitLoad(sockets=100)) <= 0.05


def test_each_ping_and_each_pong_is_a_message() -> None:
    items = {item.name: item for item in wait_items(WaitLoad(sockets=1), read_prices(OURS, "us-east-1"))}
    connects = MONTH_SECONDS / counted.SOCKET_SECONDS
    pings = 2 * connects * (counted.SOCKET_SECONDS // counted.UNUSED_SECONDS)
    runs = items["waiting over WebSockets: Lambda"].amount
    assert items["waiting over WebSockets: messages"].amount == pytest.approx(pings + 2 * runs)


def test_long_polls_cost_hundreds_of_times_as_much() -> None:
    assert cost_of(WaitLoad(polls=100)) > 400 * cost_of(WaitLoad(sockets=100))
