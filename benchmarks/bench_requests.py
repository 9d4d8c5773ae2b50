"""Benchmark `requests`: the AWS requests and the processor time of a message, which `postroom cost` uses."""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Final, TypeVar

from benchmarks.harness import Benchmark, Effort, Table
from tests.cost.counting import OVERSIZE, SMALL, Counted, CountedStack, Protocol, counted_stack

from postroom.cost import counted
from postroom.cost.items import MILLION
from postroom.cost.model import MailLoad, bill
from postroom.cost.prices import OURS, read_prices

T = TypeVar("T")

NOTES: Final = f"""\
The functions as deployed, on the embedded AWS. Requests are counted where botocore sends them; units are those that
DynamoDB reports. Each number is for one message: the count of the batch, divided by its messages, when everything that
is read only now and then is cached. *SQS* is what the functions send, in addition to the inbox's own queue message;
Lambda receives and deletes. The messages have 2,000 bytes (NLWeb) or a few words (dm3). Large ones have 1,000,000: they
do not fit into a queue message, and a batch of them is processed, and written to segments, in several parts. One of
their requests to S3 is a DELETE, which is free.

The bill is that of `postroom cost`: US dollars for a million messages of 2,000 bytes, from the inbox until they are
filed and acknowledged, in us-east-1, without what costs the same when there is no mail. It uses the requests and units
above, and {counted.INBOX_CPU_MS} ms of processor time for the inbox and {counted.WORKER_CPU_MS} ms for the worker: the
minimum of all runs, because this machine shares its processors, and takes up to twice as long when they are busy. For
what is not included, see [cost.md](../operate/cost.md).

Goals with batches of 100: SQS ≤ 1.1, S3 ≤ 0.02, write units ≤ 2, read units 0. tests/cost tests all of these.

Processor time is not a ratio here, because Lambda bills it: the best of several rounds of 100 messages, or of 10 large
ones, including boto3, with the embedded AWS in a process of its own.
"""

BATCHES: Final = (1, 10, 100)
_LARGE_BATCH: Final = 10
_LINES: Final = {
    "API, answers": ("HTTP API", "answers"),
    "Lambda": ("Lambda",),
    "SQS": ("SQS",),
    "DynamoDB": ("DynamoDB",),
    "S3": ("S3",),
    "logs": ("logs", "acknowledging"),
}
"""The columns of the bill, and the prefixes of the items in each."""
_PROTOCOLS: Final[tuple[Protocol, ...]] = ("nlweb", "dm3")


def measure(effort: Effort) -> Sequence[Table]:
    """Tables of requests and units, of processor time, and of the bill."""
    with counted_stack() as stack:
        numbers = count(1)
        for protocol in _PROTOCOLS:
            _work_off(stack, protocol, [stack.message(protocol, next(numbers))])
        requests = tuple(_requests(stack, numbers))
        columns = ("messages", "inbox: SQS", "inbox: S3", "SQS", "S3", "DynamoDB", "write units", "read units")
        processor = tuple(_processor(stack, numbers, max(1, effort.rounds // 4)))
        return [
            Table("Requests and units", columns, requests),
            Table("Processor time", ("messages", "inbox, ms", "worker, ms"), processor),
            Table("The bill", ("a million in", *_LINES, "total"), tuple(_bills())),
        ]


def _requests(stack: CountedStack, numbers: Iterator[int]) -> Iterator[tuple[str, ...]]:
    for protocol in _PROTOCOLS:
        for batch in BATCHES:
            messages = [stack.message(protocol, next(numbers)) for _ in range(batch)]
            yield _row(f"{protocol}, batch {batch}", batch, *_work_off(stack, protocol, messages))
    large = [_large(stack, numbers) for _ in range(_LARGE_BATCH)]
    yield _row(f"nlweb, large, batch {_LARGE_BATCH}", _LARGE_BATCH, *_work_off(stack, "nlweb", large))
    again = [stack.nlweb(next(numbers)) for _ in range(_LARGE_BATCH)]
    _work_off(stack, "nlweb", again)
    yield _row(f"nlweb, sent again, batch {_LARGE_BATCH}", _LARGE_BATCH, *_work_off(stack, "nlweb", again))
    forged = [stack.forged(next(numbers)) for _ in range(_LARGE_BATCH)]
    yield _row(f"nlweb, discarded, batch {_LARGE_BATCH}", _LARGE_BATCH, *_work_off(stack, "nlweb", forged))


def _work_off(stack: CountedStack, protocol: Protocol, messages: Sequence[bytes]) -> tuple[Counted, Counted]:
    inbox, claims = stack.take_in(protocol, messages)
    return inbox, stack.work(claims)


def _row(name: str, messages: int, inbox: Counted, worker: Counted) -> tuple[str, ...]:
    sums = (inbox.of("sqs"), inbox.of("s3"), *map(worker.of, ("sqs", "s3", "dynamodb")))
    return name, *(f"{number / messages:.2f}" for number in (*sums, worker.write_units, worker.read_units))


def _bills() -> Iterator[tuple[str, ...]]:
    prices = read_prices(OURS, "us-east-1")
    for batch in BATCHES:
        sums = dict.fromkeys(_LINES, 0.0)
        items = [item for item in bill(MailLoad(MILLION, SMALL, batch), prices) if item.received]
        for item in items:
            sums[next(line for line in _LINES if item.name.startswith(_LINES[line]))] += item.usd
        yield f"batches of {batch}", *(f"{usd:.2f}" for usd in (*sums.values(), sum(sums.values())))


def _processor(stack: CountedStack, numbers: Iterator[int], rounds: int) -> Iterator[tuple[str, ...]]:
    for protocol in _PROTOCOLS:
        yield (
            f"{protocol}, batch {BATCHES[-1]}",
            *_times(
                stack, protocol, rounds, BATCHES[-1], lambda protocol=protocol: stack.message(protocol, next(numbers))
            ),
        )
    large = partial(_large, stack, numbers)
    yield f"nlweb, large, batch {_LARGE_BATCH}", *_times(stack, "nlweb", rounds, _LARGE_BATCH, large)


def _large(stack: CountedStack, numbers: Iterator[int]) -> bytes:
    return stack.nlweb(next(numbers), OVERSIZE)


def _times(
    stack: CountedStack, protocol: Protocol, rounds: int, batch: int, make: Callable[[], bytes]
) -> Iterator[str]:
    """The milliseconds of the inbox and of the worker for one message."""
    taken = []
    for _ in range(rounds):
        inbox, (_, claims) = _timed(partial(stack.take_in, protocol, [make() for _ in range(batch)]))
        worker, _ = _timed(partial(stack.work, claims))
        taken.append((inbox, worker))
    for column in zip(*taken, strict=True):
        yield f"{min(column) / batch:.2f}"


def _timed(way: Callable[[], T]) -> tuple[float, T]:
    """The processor time of a call in milliseconds, in all threads of this process, and its result."""
    begun = time.process_time()
    result = way()
    return (time.process_time() - begun) * 1000, result


BENCHMARK = Benchmark("requests", "AWS requests and processor time of a message", NOTES, measure)
