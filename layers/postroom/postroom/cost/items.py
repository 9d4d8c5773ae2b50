"""The lines of a bill, and what AWS adds to what is counted. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from postroom.cost.prices import Prices

MILLION: Final = 1_000_000
GB: Final = 2**30
MONTH_DAYS: Final = 30
MONTH_SECONDS: Final = MONTH_DAYS * 86_400
HEADER_BYTES: Final = 500
"""The approximate size of the headers of a request, and of those of its response."""
LOG_EVENT_BYTES: Final = 26
"""What CloudWatch adds to each line."""
PLATFORM_LINES: Final = 3
PLATFORM_BYTES: Final = 268
"""START, END and REPORT, which Lambda writes for each invocation."""
ROW_BYTES_BESIDE: Final = 100
"""What DynamoDB adds to the size of each item."""
_PROCESSOR_MEMORY_MB: Final = 1769
"""The memory in MB with which a function has one whole processor; with less, it has a proportional share."""
ROUNDED_UP_MS: Final = 0.5
"""Lambda rounds up to whole milliseconds: half a millisecond for each invocation, on average."""


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the bill. `amount`, in `unit`s, and `usd` are for a month; `usd` None: it is not AWS's price.

    `standing`: independent of mail; `sent`: for messages that owners send; `jobs`: for compaction; `dcp`: for requests
    over DCP; `waiting`: for owners who wait.
    """

    name: str
    amount: float
    unit: str
    usd: float | None
    standing: bool = False
    sent: bool = False
    jobs: bool = False
    dcp: bool = False
    waiting: bool = False

    @property
    def received(self) -> bool:
        """Whether it is for received messages, from the inbox until they are acknowledged."""
        return not (self.standing or self.sent or self.jobs or self.dcp or self.waiting)


def function_items(
    name: str, invocations: float, milliseconds: float, memory_mb: int, prices: Prices
) -> Iterator[Item]:
    """The invocations of a function, and its running for `milliseconds` in each."""
    yield Item(f"Lambda: {name}", invocations, "invocations", invocations / MILLION * prices.lambda_per_million)
    seconds = gb_seconds(invocations * (milliseconds + ROUNDED_UP_MS), memory_mb)
    yield Item(f"Lambda: {name}, running", seconds, "GB s", seconds * prices.lambda_per_gb_second)


def gb_seconds(milliseconds: float, memory_mb: int) -> float:
    """What Lambda bills for `milliseconds` in all."""
    return milliseconds / 1000 * memory_mb / 1024


def billed(cpu_ms: float, memory_mb: int) -> float:
    """The milliseconds of a function with its share of a processor, for those of a whole one."""
    return cpu_ms * _PROCESSOR_MEMORY_MB / memory_mb


def log_bytes(lines: int, size: int) -> int:
    """What CloudWatch bills for `lines` with `size` bytes in all."""
    return lines * LOG_EVENT_BYTES + size
