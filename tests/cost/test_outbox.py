"""What a message that an owner sends asks of AWS, from the mailbox API to the receiver's answer."""

from collections import Counter
from collections.abc import Iterator

import pytest
from tests.cost.counting import SMALL, Counted, CountedStack
from tests.cost.items import Item, item_bytes

from postroom.cost import counted

pytestmark = [pytest.mark.xdist_group("cost"), pytest.mark.stack]
MANY = 10


@pytest.fixture(scope="module")
def sent(stack: CountedStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Counted, list[str], Counted]]:
    """MANY messages, after a first one has filled the caches: the requests of the mailbox API, the queue messages, and
    the requests of the courier."""
    with stack.sending(tmp_path_factory.mktemp("authority")) as token:
        _, first = stack.send(token, ["first"])
        stack.carry(first)
        api, queued = stack.send(token, [f"t{number}" for number in range(MANY)])
        yield api, queued, stack.carry(queued)


def is_listed(item: Item) -> bool:
    """Whether a row of the outbox stands in the indexes, too: its tokens do not."""
    return item["sk"]["S"].startswith("out#")


def keys_of(item: Item) -> Item:
    """What the index by Correlation has of a row."""
    return {name: item[name] for name in ("pk", "sk", "to")}


def test_an_outbox_message_makes_the_counted_requests_and_no_more(sent: tuple[Counted, list[str], Counted]) -> None:
    api, _, courier = sent
    assert api.requests == Counter(
        {"dynamodb PutItem": 2 * MANY, "dynamodb UpdateItem": MANY, "sqs SendMessage": MANY * counted.SENT_SENDS}
    )
    assert courier.requests == Counter({"dynamodb GetItem": MANY * counted.SENT_READS, "dynamodb UpdateItem": MANY})


def test_each_write_is_one_unit_and_one_more_in_each_index_that_has_what_is_written(
    sent: tuple[Counted, list[str], Counted],
) -> None:
    api, _, courier = sent
    writes = api.of("dynamodb") + courier.requests["dynamodb UpdateItem"]
    messages = sum(map(is_listed, api.items))
    of_table, by_time, by_correlation = writes, writes - (len(api.items) - messages), messages
    units = api.write_units + courier.write_units
    assert units == of_table + by_time + by_correlation == MANY * counted.SENT_WRITES
    assert (api.read_units, courier.read_units) == (0, MANY * counted.SENT_READS)


def test_queue_messages_responses_and_rows_have_the_counted_bytes(sent: tuple[Counted, list[str], Counted]) -> None:
    api, queued, _ = sent
    assert {len(body) - SMALL for body in queued} == {counted.SENT_BYTES_BESIDE}
    assert api.answer_bytes == MANY * counted.SENT_ANSWER_BYTES
    listed = [item for item in api.items if is_listed(item)]
    kept = sum(map(item_bytes, [*api.items, *listed, *map(keys_of, listed)])) / MANY
    assert kept == pytest.approx(counted.SENT_ROW_BYTES, rel=0.02)
    assert len(api.items) + 2 * len(listed) == MANY * counted.SENT_ROWS


def test_the_lines_and_bytes_of_logs_and_the_metrics(sent: tuple[Counted, list[str], Counted]) -> None:
    api, _, courier = sent
    assert len(api.log_lines) == MANY * counted.SENT_MAILBOX_API_LOG_LINES
    assert len(api.log) == pytest.approx(MANY * counted.SENT_MAILBOX_API_LOG_BYTES, rel=0.02)
    assert len(courier.log_lines) == MANY + counted.SENT_BATCH_LOG_LINES
    assert len(courier.log) == pytest.approx(MANY * counted.SENT_LOG_BYTES + counted.SENT_BATCH_LOG_BYTES, rel=0.02)
    written = (api.metrics() | courier.metrics()) - set(counted.STEADY_METRICS)
    assert len(written) == counted.SENT_METRICS
