"""What owners' requests cost over DCP beside what the same operations cost over HTTP. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from postroom.cost import counted
from postroom.cost.items import (
    GB,
    HEADER_BYTES,
    MILLION,
    MONTH_SECONDS,
    PLATFORM_BYTES,
    PLATFORM_LINES,
    ROUNDED_UP_MS,
    ROW_BYTES_BESIDE,
    Item,
    billed,
    gb_seconds,
    log_bytes,
)
from postroom.cost.prices import Prices

_WRITE_WAIT_MS: Final = 10.0
"""Time waiting for the nonce of a message, and for the id and the stamp of a request, which are written at the same
time. Estimates."""


@dataclass(frozen=True, slots=True)
class DcpLoad:
    """The requests of a month over DCP. `batch`: requests in one message; `sessions`: how often owners connect."""

    requests: int = 0
    batch: float = 1.0
    sessions: int = 0


def dcp_items(load: DcpLoad, prices: Prices) -> Iterator[Item]:
    """The lines of the bill. Some are negative for batches, whose requests share one request over HTTP."""
    messages = load.requests / load.batch
    posted = load.sessions + messages - load.requests
    yield _item("HTTP API", posted, "requests", posted / MILLION * prices.http_api_per_million)
    yield from _running(load, messages, posted, prices)
    writes = messages * counted.DCP_MESSAGE_WRITES + load.requests * counted.DCP_REQUEST_WRITES
    yield _item("DynamoDB", writes, "write units", writes / MILLION * prices.dynamodb_writes_per_million)
    kept = kept_gb(load.requests)
    yield _item("rows kept, and their recovery", kept, "GB", kept * prices.dynamodb_kept_per_gb_month)
    out = load.sessions * counted.DCP_CONNECT_ANSWER_BYTES + messages * counted.DCP_MESSAGE_ANSWER_BYTES
    out += load.requests * counted.DCP_REQUEST_ANSWER_BYTES + posted * HEADER_BYTES
    yield _item("answers going out", out / GB, "GB", out / GB * prices.out_per_gb)
    logs = posted * (log_bytes(1, counted.DCP_LOG_BYTES) + log_bytes(PLATFORM_LINES, PLATFORM_BYTES)) / GB
    yield _item("logs", logs, "GB", logs * (prices.logs_per_gb + prices.logs_per_gb_month))


def kept_gb(requests: float) -> float:
    """The GB of the rows that a month's requests leave."""
    rows = requests * counted.DCP_ROWS * (counted.DCP_ROW_BYTES + ROW_BYTES_BESIDE)
    return rows * counted.DCP_KEPT_SECONDS / MONTH_SECONDS / GB


def _running(load: DcpLoad, messages: float, invocations: float, prices: Prices) -> Iterator[Item]:
    usd = invocations / MILLION * prices.lambda_per_million
    yield _item("Lambda", invocations, "invocations", usd)
    milliseconds = invocations * ROUNDED_UP_MS
    for number, cpu_ms, wait_ms in (
        (load.sessions, counted.DCP_CONNECT_CPU_MS, 0.0),
        (messages, counted.DCP_MESSAGE_CPU_MS, _WRITE_WAIT_MS),
        (load.requests, counted.DCP_REQUEST_CPU_MS, _WRITE_WAIT_MS),
    ):
        milliseconds += number * (billed(cpu_ms, counted.MEMORY_MB) + wait_ms)
    seconds = gb_seconds(milliseconds, counted.MEMORY_MB)
    yield _item("Lambda, running", seconds, "GB s", seconds * prices.lambda_per_gb_second)


def _item(name: str, amount: float, unit: str, usd: float) -> Item:
    return Item(f"DCP: {name}", amount, unit, usd, dcp=True)
