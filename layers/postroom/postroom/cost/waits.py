"""What owners who wait for mail cost, over a WebSocket and by requests over HTTP that wait. Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from postroom.cost import counted
from postroom.cost.dcp import kept_gb
from postroom.cost.items import (
    GB,
    HEADER_BYTES,
    MILLION,
    MONTH_SECONDS,
    PLATFORM_BYTES,
    PLATFORM_LINES,
    ROUNDED_UP_MS,
    Item,
    billed,
    gb_seconds,
    log_bytes,
)
from postroom.cost.prices import Prices

_SOCKET_MESSAGE_BYTES: Final = 32 * 1024
"""A longer message is metered as several."""
_TAKEN_REQUESTS: Final = 2
"""Of SQS: one that receives a message, and one that deletes it."""
_AWS_WAIT_MS: Final = 10.0
"""The time for one request to AWS. An estimate."""
_LIST_WAITS: Final = 6
_WATCH_WAITS: Final = 3
_NOTIFY_WAITS: Final = 9
"""Requests to AWS one after the other: for a list whose caches are old, for a watch, and for a notification."""


@dataclass(frozen=True, slots=True)
class WaitLoad:
    """Owners who wait all month: `sockets` of them over a WebSocket, `polls` by requests that wait for 20 s.

    `notified`: how often mail arrives for each of the former.
    """

    sockets: int = 0
    polls: int = 0
    notified: int = 0

    @property
    def owners(self) -> int:
        """How many owners wait."""
        return self.sockets + self.polls


@dataclass(frozen=True, slots=True)
class _Spent:
    """What waits take of what is billed alike."""

    runs: float
    milliseconds: float
    writes: float
    reads: float
    answer_bytes: float
    log_bytes: float


def wait_items(load: WaitLoad, prices: Prices) -> Iterator[Item]:
    """The lines of the bill."""
    if load.sockets:
        yield from _over_sockets(load, prices)
    if load.polls:
        yield from _by_polls(load.polls, prices)


def _over_sockets(load: WaitLoad, prices: Prices) -> Iterator[Item]:
    """A session for each WebSocket: a connect, a watch with a list behind it, a list some time after that, and in
    between lists and pings. Each notification is followed by another watch, with both lists."""
    name = "waiting over WebSockets"
    connects = load.sockets * MONTH_SECONDS / counted.SOCKET_SECONDS
    notified = load.sockets * load.notified
    watches = connects + notified
    lists = watches + connects * math.floor(counted.SOCKET_SECONDS / counted.WAIT_SECONDS)
    posted = connects + watches + lists
    minutes = load.sockets * MONTH_SECONDS / 60
    pings = connects * math.floor(counted.SOCKET_SECONDS / counted.UNUSED_SECONDS)
    metered = connects * (1 + _metered(counted.DCP_CONNECT_ANSWER_BYTES)) + notified * _metered(counted.NOTIFY_BYTES)
    metered += lists * (1 + _metered(counted.LIST_ANSWER_BYTES)) + watches * (1 + _metered(counted.WATCH_ANSWER_BYTES))
    metered += 2 * pings
    yield _item(name, "connections", minutes, "minutes", minutes / MILLION * prices.socket_minutes_per_million)
    yield _item(name, "messages", metered, "messages", metered / MILLION * prices.socket_messages_per_million)
    each_list = counted.DCP_MESSAGE_WRITES + counted.DCP_REQUEST_WRITES
    list_ms = billed(counted.LIST_CPU_MS, counted.MEMORY_MB) + _LIST_WAITS * _AWS_WAIT_MS
    watch_ms = billed(counted.WATCH_CPU_MS, counted.MEMORY_MB) + _WATCH_WAITS * _AWS_WAIT_MS
    notified_ms = billed(counted.NOTIFY_CPU_MS, counted.MEMORY_MB) + _NOTIFY_WAITS * _AWS_WAIT_MS
    logged = posted * log_bytes(1, counted.DCP_LOG_BYTES)
    logged += notified * log_bytes(counted.NOTIFY_LOG_LINES, counted.NOTIFY_LOG_BYTES)
    spent = _Spent(
        runs=posted + notified * counted.NOTIFY_RUNS,
        milliseconds=(
            connects * (billed(counted.DCP_CONNECT_CPU_MS, counted.MEMORY_MB) + _AWS_WAIT_MS)
            + (lists + watches) * list_ms
            + watches * watch_ms
            + notified * notified_ms
        ),
        writes=(lists + watches) * each_list + watches * counted.WATCH_WRITES + notified * counted.NOTIFY_WRITES,
        reads=(lists + watches) * counted.LIST_READS + watches * counted.WATCH_READS + notified * counted.NOTIFY_READS,
        answer_bytes=(
            connects * counted.DCP_CONNECT_ANSWER_BYTES
            + lists * counted.LIST_ANSWER_BYTES
            + watches * counted.WATCH_ANSWER_BYTES
            + notified * counted.NOTIFY_BYTES
        ),
        log_bytes=logged,
    )
    yield from _spent(name, spent, prices)
    kept = kept_gb(lists + 2 * watches)
    yield _item(name, "rows kept, and their recovery", kept, "GB", kept * prices.dynamodb_kept_per_gb_month)
    queued = notified * counted.NOTIFY_SENDS * (1 + _TAKEN_REQUESTS)
    yield _item(name, "SQS", queued, "requests", queued / MILLION * prices.sqs_per_million)
    yield from _cached(name, posted, notified, prices)


def _by_polls(owners: int, prices: Prices) -> Iterator[Item]:
    name = "waiting by long polls"
    requests = owners * MONTH_SECONDS / counted.POLL_SECONDS
    yield _item(name, "HTTP API", requests, "requests", requests / MILLION * prices.http_api_per_million)
    spent = _Spent(
        runs=requests,
        milliseconds=requests * counted.POLL_SECONDS * 1000,
        writes=requests * counted.POLL_WRITES,
        reads=requests * counted.POLL_READS,
        answer_bytes=requests * (counted.POLL_ANSWER_BYTES + HEADER_BYTES),
        log_bytes=requests * log_bytes(1, counted.POLL_LOG_BYTES),
    )
    yield from _spent(name, spent, prices)
    yield from _cached(name, requests, 0, prices)


def _spent(name: str, spent: _Spent, prices: Prices) -> Iterator[Item]:
    yield _item(name, "Lambda", spent.runs, "invocations", spent.runs / MILLION * prices.lambda_per_million)
    seconds = gb_seconds(spent.milliseconds + spent.runs * ROUNDED_UP_MS, counted.MEMORY_MB)
    yield _item(name, "Lambda, running", seconds, "GB s", seconds * prices.lambda_per_gb_second)
    writes = spent.writes / MILLION * prices.dynamodb_writes_per_million
    yield _item(name, "DynamoDB, writes", spent.writes, "write units", writes)
    reads = spent.reads / MILLION * prices.dynamodb_reads_per_million
    yield _item(name, "DynamoDB, reads", spent.reads, "read units", reads)
    out = spent.answer_bytes / GB
    yield _item(name, "answers going out", out, "GB", out * prices.out_per_gb)
    logs = (spent.log_bytes + spent.runs * log_bytes(PLATFORM_LINES, PLATFORM_BYTES)) / GB
    yield _item(name, "logs", logs, "GB", logs * (prices.logs_per_gb + prices.logs_per_gb_month))


def _cached(name: str, runs: float, notified: float, prices: Prices) -> Iterator[Item]:
    """What a function reads again when its copy is old, for all owners together: if few wait, for each message.

    One instance of the function serves these messages, which come one after the other.
    """
    secrets = sum(min(each, MONTH_SECONDS / counted.SECRET_CACHE_SECONDS) for each in (runs, notified))
    yield _item(name, "secrets, read", secrets, "requests", secrets / MILLION * prices.secret_reads_per_million)


def _metered(size: int) -> int:
    """As how many messages of a WebSocket one is billed."""
    return math.ceil(size / _SOCKET_MESSAGE_BYTES)


def _item(way: str, name: str, amount: float, unit: str, usd: float) -> Item:
    return Item(f"{way}: {name}", amount, unit, usd, waiting=True)
