"""What a message asks of AWS: a change that adds a call fails here, and what it costs is counted, not typed."""

from collections import Counter

import pytest
from tests.cost.conftest import Numbers
from tests.cost.counting import OVERSIZE, SMALL, Counted, CountedStack, Protocol
from tests.cost.items import item_bytes, write_units

from postroom.cost import counted
from postroom.cost.model import parts

pytestmark = [pytest.mark.xdist_group("cost"), pytest.mark.stack]
PROTOCOLS = pytest.mark.parametrize("protocol", ["nlweb", "dm3"])
A_LITTLE = 0.02
"""Times and ages are not always written with as many digits."""


def filed(stack: CountedStack, protocol: Protocol, numbers: list[int]) -> tuple[Counted, Counted]:
    """The inbox's and the worker's part of one batch of good messages."""
    inbox, claims = stack.take_in(protocol, [stack.message(protocol, number) for number in numbers])
    return inbox, stack.work(claims)


@PROTOCOLS
@pytest.mark.parametrize("batch", [1, 10, 100])
def test_the_goals_of_the_store_protocol_hold(
    stack: CountedStack, numbers: Numbers, protocol: Protocol, batch: int
) -> None:
    inbox, worker = filed(stack, protocol, numbers(batch))
    assert inbox.requests == Counter({"sqs SendMessage": batch})
    assert worker.requests == Counter({"dynamodb PutItem": 2 * batch, "s3 PutObject": 1})
    assert (worker.write_units, worker.read_units) == (2 * batch, 0)


def test_at_a_batch_of_100_a_message_costs_hardly_more_than_two_writes(stack: CountedStack, numbers: Numbers) -> None:
    _, worker = filed(stack, "nlweb", numbers(100))
    # Lambda receives and deletes; the inbox sends.
    assert worker.of("sqs") / 100 <= 1.1
    assert worker.of("s3") / 100 <= 0.02
    assert worker.of("dynamodb") / 100 <= 2
    assert worker.of("secrets-manager") == worker.of("lambda") == 0


def test_the_units_that_the_emulator_reports_are_those_of_the_items_sizes(
    stack: CountedStack, numbers: Numbers
) -> None:
    _, worker = filed(stack, "nlweb", numbers(10))
    assert len(worker.items) == 20
    assert worker.write_units == sum(write_units(item_bytes(item)) for item in worker.items)


def test_acknowledging_is_one_write(stack: CountedStack, numbers: Numbers) -> None:
    filed(stack, "nlweb", numbers(10))
    acknowledged = stack.acknowledge(stack.rows()[-10:])
    assert acknowledged.requests == Counter({"dynamodb UpdateItem": 10})
    assert (acknowledged.write_units, acknowledged.read_units) == (10 * counted.ACKNOWLEDGE_WRITES, 0)


def test_a_message_that_the_queue_does_not_hold_is_put_fetched_and_deleted_once(
    stack: CountedStack, numbers: Numbers
) -> None:
    inbox, claims = stack.take_in("nlweb", [stack.nlweb(number, OVERSIZE) for number in numbers(3)])
    assert inbox.requests == Counter({"sqs SendMessage": 3, "s3 PutObject": 3 * counted.OVERSIZE_PUTS})
    worker = stack.work(claims)
    assert worker.requests == Counter(
        {
            "s3 GetObject": 3 * counted.OVERSIZE_GETS,
            "dynamodb PutItem": 6,
            "s3 PutObject": counted.BATCH_PUTS,
            "s3 DeleteObject": 3,
        }
    )


def test_a_message_that_the_queue_does_not_hold_costs_a_write_more_when_it_is_sent_again(
    stack: CountedStack, numbers: Numbers
) -> None:
    messages = [stack.nlweb(number, OVERSIZE) for number in numbers(2)]
    for _ in range(2):
        _, claims = stack.take_in("nlweb", messages)
        worker = stack.work(claims)
    assert worker.write_units == 2 * (counted.DUPLICATE_WRITES + counted.OVERSIZE_DUPLICATE_WRITES)
    assert worker.read_units == 2 * counted.DUPLICATE_READS


@pytest.mark.parametrize("size", [600_000, OVERSIZE])
def test_a_batch_of_large_messages_is_put_in_the_parts_that_the_cost_model_assumes(
    stack: CountedStack, numbers: Numbers, size: int
) -> None:
    _, claims = stack.take_in("nlweb", [stack.nlweb(number, size) for number in numbers(10)])
    assert stack.work(claims).requests["s3 PutObject"] == parts(10, size)


def test_a_message_sent_again_costs_a_refused_write_a_read_and_a_log_line(
    stack: CountedStack, numbers: Numbers
) -> None:
    messages = [stack.nlweb(number) for number in numbers(10)]
    for _ in range(2):
        _, claims = stack.take_in("nlweb", messages)
        worker = stack.work(claims)
    assert worker.requests == Counter({"dynamodb PutItem": 10, "dynamodb GetItem": 10})
    assert worker.write_units == 10 * counted.DUPLICATE_WRITES
    assert worker.read_units == 10 * counted.DUPLICATE_READS
    assert len(worker.metrics() - set(counted.STEADY_METRICS)) == counted.DUPLICATE_METRICS
    lines = [line for line in worker.log_lines if '"duplicate"' in line]
    assert [len(line) + 1 for line in lines] == [counted.DUPLICATE_LOG_BYTES] * 10


def test_a_redelivered_claim_is_written_as_often_as_before_and_changes_nothing(
    stack: CountedStack, numbers: Numbers
) -> None:
    _, claims = stack.take_in("nlweb", [stack.nlweb(number) for number in numbers(10)])
    stack.work(claims)
    before = stack.rows()
    worker = stack.work(claims)
    assert (worker.write_units, worker.read_units) == (10 * counted.FILE_WRITES, 0)
    assert stack.rows() == before


def test_a_discard_is_one_write_one_notification_and_a_log_line(stack: CountedStack, numbers: Numbers) -> None:
    _, claims = stack.take_in("nlweb", [stack.forged(number) for number in numbers(10)])
    worker = stack.work(claims)
    sends = {"sqs SendMessage": 10 * counted.DISCARD_SENDS}
    # One key for all: looked up once more, by DNS alone.
    assert worker.requests == Counter({"dynamodb PutItem": 10, **sends})
    assert (worker.write_units, worker.read_units) == (10 * counted.DISCARD_WRITES, 0)
    lines = [line for line in worker.log_lines if '"discarded"' in line]
    assert sum(len(line) + 1 for line in lines) / 10 == pytest.approx(counted.DISCARD_LOG_BYTES, rel=A_LITTLE)
    # And one of the courier's: what became of the notice.
    assert len(worker.metrics() - set(counted.STEADY_METRICS)) + 1 == counted.DISCARD_METRICS


# --- what the cost model takes from here ------------------------------------------------------------------------------


def test_the_bytes_of_claims_answers_rows_and_lines(stack: CountedStack, numbers: Numbers) -> None:
    inbox, claims = stack.take_in("nlweb", [stack.nlweb(number) for number in numbers(100)])
    worker = stack.work(claims)
    assert {len(claim) for claim in claims} == {SMALL + counted.CLAIM_BYTES_BESIDE}
    assert inbox.answer_bytes == 100 * counted.ANSWER_BYTES
    rows = [item for item in worker.items if "st" in item]
    assert max(item_bytes(item) for item in worker.items if "home" in item) == counted.SEEN_BYTES
    assert max(item_bytes(row) for row in rows) == counted.ROW_BYTES
    lines = sum(int(row["len"]["N"]) + 1 for row in rows) / 100
    assert lines == pytest.approx(SMALL + counted.LINE_BYTES_BESIDE, rel=A_LITTLE)


def test_the_lines_and_bytes_of_logs(stack: CountedStack, numbers: Numbers) -> None:
    inbox, alone = filed(stack, "nlweb", numbers(1))
    assert len(inbox.log_lines) == counted.INBOX_LOG_LINES
    assert len(inbox.log) == pytest.approx(counted.INBOX_LOG_BYTES, rel=A_LITTLE)
    assert len(alone.log_lines) == counted.BATCH_LOG_LINES
    assert len(alone.log) == pytest.approx(counted.BATCH_LOG_BYTES + counted.FILED_LOG_BYTES, rel=A_LITTLE)
    _, many = filed(stack, "nlweb", numbers(counted.LARGEST_BATCH))
    expected = counted.BATCH_LOG_BYTES + counted.LARGEST_BATCH * counted.FILED_LOG_BYTES
    assert len(many.log) == pytest.approx(expected, rel=0.05)


def test_the_metrics_of_ordinary_mail(stack: CountedStack, numbers: Numbers) -> None:
    inbox, worker = filed(stack, "nlweb", numbers(1))
    dead_letters = stack.go_round()
    written = [*inbox.metrics(), *worker.metrics(), *dead_letters.metrics()]
    assert sorted(written) == sorted(counted.STEADY_METRICS)


def test_the_numbers_of_the_constants_that_the_goals_name() -> None:
    assert (counted.FILE_WRITES, counted.ACKNOWLEDGE_WRITES, counted.BATCH_PUTS) == (2, 1, 1)
