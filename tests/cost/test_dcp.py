"""What owners' requests over DCP ask of AWS beside what the same operations do over HTTP."""

import time
from collections import Counter
from dataclasses import dataclass

import pytest
from tests.cost.counting import RECEIVER, Counted, CountedStack
from tests.cost.items import item_bytes
from tests.http.dcp_peers import OWNER, OWNER_SIGNING_KEY
from tests.protocols.dcp.guarded import JACK, Peer

from postroom.cost import counted
from postroom.http.sign_in import READS_OF_A_LOOK
from postroom.protocols.dcp.receiving import DEFAULT_TTL

pytestmark = [pytest.mark.xdist_group("cost"), pytest.mark.stack]
BATCH = 10
A_LITTLE = 0.02
"""Ids, nonces and times are not always as long."""
OF_A_SIGNATURE = 30
"""Bytes: a signature is two lists of 32 numbers with one to three digits each."""
OF_A_REQUEST = 2
"""Bytes: the numbers and times in an answer are not always as long, and count once for each request of a batch."""


@dataclass
class Over:
    """What was counted of a connect, and of the same operation over HTTP, in a message of DCP, and BATCH times in one.

    `at`: the time of all.
    """

    at: float
    connect: Counted
    http: Counted
    message: Counted
    batch: Counted


@pytest.fixture(scope="module")
def over(stack: CountedStack) -> Over:
    token = stack.let_in(OWNER_SIGNING_KEY)
    guardian, now = stack.described()["identity"].removeprefix("0x"), time.time()
    peer = Peer.connected(stack, OWNER, half="a-session-to-be-counted", guardian=guardian, now=now)

    def request() -> dict[str, object]:
        validity = {"ttl": DEFAULT_TTL.default}
        return peer.request("status", {"mailbox": RECEIVER}, keys=(OWNER,), validity=validity)

    # Fills the caches, and makes the row of the session.
    stack.status(token)
    peer.send(request())
    with stack.counting() as connect:
        Peer.connected(stack, OWNER, half="another-session-counted")
    with stack.counting() as http:
        stack.status(token)
    with stack.counting() as message:
        assert peer.send(request())["success"]
    with stack.counting() as batch:
        answer = peer.send(peer.batch(*(request() for _ in range(BATCH))))
        assert all(each["success"] for each in answer["payload"])
    return Over(peer.now, connect, http, message, batch)


@dataclass
class OfStrangers:
    """What was counted of a stranger's message: of BATCH requests for mailboxes, and of a close."""

    batch: Counted
    close: Counted


@pytest.fixture(scope="module")
def of_strangers(stack: CountedStack) -> OfStrangers:
    guardian = stack.described()["identity"].removeprefix("0x")
    peer = Peer.connected(stack, JACK, half="a-stranger-to-be-counted", guardian=guardian, now=time.time())
    looks = [peer.request("status", {"mailbox": f"nobody{n}.example"}, keys=(JACK,)) for n in range(BATCH)]
    with stack.counting() as batch:
        answer = peer.send(peer.batch(*looks))
        assert [each["success"] for each in answer["payload"]] == [True, *[False] * BATCH]
    with stack.counting() as close:
        assert peer.send(peer.request("close", keys=(JACK,)))["success"]
    return OfStrangers(batch, close)


def test_a_message_of_a_stranger_makes_one_write_and_each_look_up_two_reads(of_strangers: OfStrangers) -> None:
    batch, close = of_strangers.batch, of_strangers.close
    assert batch.requests == Counter({"dynamodb UpdateItem": 1, "dynamodb Query": READS_OF_A_LOOK * BATCH})
    assert close.requests == Counter({"dynamodb UpdateItem": 1})
    assert batch.write_units == close.write_units == counted.DCP_MESSAGE_WRITES
    assert (batch.read_units, close.read_units) == (counted.DCP_LOOK_READS * BATCH, 0)


def test_the_answer_to_a_stranger_and_its_lines_in_the_log_have_the_counted_bytes(of_strangers: OfStrangers) -> None:
    batch = of_strangers.batch
    assert batch.answer_bytes == pytest.approx(counted.DCP_REFUSALS_ANSWER_BYTES, rel=A_LITTLE)
    assert len(batch.log_lines) == counted.DCP_REFUSALS_LOG_LINES
    assert len(batch.log) == pytest.approx(counted.DCP_REFUSALS_LOG_BYTES, rel=A_LITTLE)


def test_a_connect_makes_no_request_to_aws(over: Over) -> None:
    assert over.connect.requests == Counter()


def test_a_request_makes_three_writes_beside_what_the_same_operation_makes_over_http(over: Over) -> None:
    beside = Counter({"dynamodb UpdateItem": 1, "dynamodb PutItem": 2})
    assert over.message.requests == over.http.requests + beside
    units = counted.DCP_MESSAGE_WRITES + counted.DCP_REQUEST_WRITES
    assert units == 3
    assert over.message.write_units == over.http.write_units + units
    assert over.message.read_units == over.http.read_units


def test_a_batch_makes_one_write_and_two_for_each_request(over: Over) -> None:
    beside = Counter({"dynamodb UpdateItem": 1, "dynamodb PutItem": 2 * BATCH})
    http = Counter({name: BATCH * number for name, number in over.http.requests.items()})
    assert over.batch.requests == http + beside
    units = counted.DCP_MESSAGE_WRITES + BATCH * counted.DCP_REQUEST_WRITES
    assert over.batch.write_units == BATCH * over.http.write_units + units
    assert over.batch.read_units == BATCH * over.http.read_units


def test_rows_and_answers_have_the_counted_bytes(over: Over) -> None:
    assert len(over.message.items) == counted.DCP_ROWS
    assert {item_bytes(item) for item in over.batch.items} == {counted.DCP_ROW_BYTES}
    assert over.connect.answer_bytes == pytest.approx(counted.DCP_CONNECT_ANSWER_BYTES, abs=OF_A_SIGNATURE)
    for answer, requests in ((over.message, 1), (over.batch, BATCH)):
        beside = answer.answer_bytes - requests * over.http.answer_bytes
        expected = counted.DCP_MESSAGE_ANSWER_BYTES + requests * counted.DCP_REQUEST_ANSWER_BYTES
        assert beside == pytest.approx(expected, abs=OF_A_SIGNATURE + requests * OF_A_REQUEST)


def test_a_message_has_one_line_in_the_log_and_one_metric(over: Over) -> None:
    for each in (over.connect, over.message, over.batch):
        assert len(each.log_lines) == len(over.http.log_lines) == 1
        assert len(each.log) == pytest.approx(counted.DCP_LOG_BYTES, rel=A_LITTLE)
        assert len(each.metrics()) == counted.DCP_METRICS


def test_the_rows_of_a_request_are_kept_as_long_as_the_cost_model_assumes(over: Over) -> None:
    assert {int(item["ttl"]["N"]) - int(over.at) for item in over.message.items} == {counted.DCP_KEPT_SECONDS}
