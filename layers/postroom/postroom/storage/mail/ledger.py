"""The inbox's ledger: one log line for each message that was answered 200 and queued.

A line says who the claim is and by which key `seen` would know its message, so that a copy finds the row its message
lives in. It holds digests only: nobody's name and nothing of what a message says. Requests that are answered at once
are not queued, and stand in no line: table `seen` remembers them.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from postroom.core.errors import OurError
from postroom.net.aws import passing_faults

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

QUEUED: Final = "queued"
"""What the door's log line of a queued message says."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A message that was answered 200 and queued.

    `seen`: its key in table `seen`, as far as the door could know it: a dm3 message by a sender that was not verified
    yet (`u#…`) may be verified later (`d#…`). `text`: the fingerprint of its Hash; empty where the key says all.
    """

    claim: str
    mailbox: str
    received_at_ms: int
    seen: str
    text: str = ""

    def as_log(self) -> dict[str, str | int]:
        """The fields of its log line."""
        return asdict(self)


def text_of(digest: str | None) -> str:
    """What stands in a log for a message's Hash: a log leads back to no contents."""
    return hashlib.sha256(digest.encode()).hexdigest()[:16] if digest else ""


def read_ledger(lines: Iterable[str | bytes]) -> Iterator[LedgerEntry]:
    """The messages that the door's log lines (JSON Lines; further lines are passed over) tell of.

    Raises OurError for a line of a queued message that does not say all, and for JSON that is too much to be read.
    """
    for number, text in enumerate(lines, 1):
        try:
            line = json.loads(text)
        except (json.JSONDecodeError, UnicodeDecodeError):
            continue  # Lambda's own lines: START, REPORT …
        except (ValueError, RecursionError) as error:  # a number too long, or nested too deeply: never by the door
            raise _unreadable(number, error) from None
        if not isinstance(line, dict) or line.get("message") != QUEUED or "claim" not in line:
            continue
        try:
            claim, mailbox, seen, text = (_text(line[name]) for name in ("claim", "mailbox", "seen", "text"))
            received_at_ms = _whole(line["received_at_ms"])
        except (KeyError, TypeError, ValueError) as error:
            raise _unreadable(number, error) from None
        yield LedgerEntry(claim, mailbox, received_at_ms, seen, text)


def _unreadable(number: int, error: Exception) -> OurError:
    return OurError(f"line {number} of the ledger is not as this release writes it: {error!r}")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    value.encode()  # JSON can escape what is no character
    return value


def _whole(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r} is no time")
    return value


def logged_lines(logs: "CloudWatchLogsClient", group: str, *, since_ms: int, until_ms: int) -> Iterator[str]:
    """The lines of the door's log group, of the messages it queued. Raises NotNowError(STORE_UNAVAILABLE)."""
    pages = logs.get_paginator("filter_log_events").paginate(
        logGroupName=group, startTime=since_ms, endTime=until_ms, filterPattern=f'{{ $.message = "{QUEUED}" }}'
    )
    with passing_faults():
        for page in pages:
            for event in page["events"]:
                yield event["message"]
