"""The inbox's ledger: one log line for each message that was queued and answered 200.

A line has the claim's id and the key of its message in `seen`, so that a copy leads to the row of its message. It has
nothing of the content. Requests that are answered at once are not queued, and are not
in it: table `seen` remembers them.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from postroom.core.errors import OurError
from postroom.net.aws_errors import transient_as_not_now

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

QUEUED: Final = "queued"
"""The text of the inbox's log line about a queued message."""


class LedgerEntry(NamedTuple):
    """A message that was queued and answered 200.

    `seen`: its key in table `seen`, as far as the inbox could know it: a dm3 message by a sender that was not verified
    yet (`u#…`) may be verified later (`d#…`). `text`: the fingerprint of its Hash; empty if the key alone identifies
    it.
    """

    claim: str
    mailbox: str
    received_at_ms: int
    seen: str
    text: str = ""

    def as_log(self) -> dict[str, str | int]:
        """The fields of its log line."""
        return self._asdict()


def text_of(digest: str | None) -> str:
    """A message's Hash as it is logged: the content cannot be found by it."""
    return hashlib.sha256(digest.encode()).hexdigest()[:16] if digest else ""


def read_ledger(lines: Iterable[str | bytes]) -> Iterator[LedgerEntry]:
    """The messages in the inbox's log (JSON Lines; other lines are ignored).

    Raises OurError for an incomplete line of a queued message, and for JSON that is too large to be read.
    """
    for number, text in enumerate(lines, 1):
        try:
            line = json.loads(text)
        except (json.JSONDecodeError, UnicodeDecodeError):
            continue  # Lambda's own lines: START, REPORT …
        except (ValueError, RecursionError) as error:  # a number too long, or nested too deeply: never by us
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
        raise TypeError(f"{value!r} is not a string")
    value.encode()  # JSON can escape a lone surrogate, which is not a character
    return value


def _whole(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r} is not a time in milliseconds")
    return value


def logged_lines(logs: "CloudWatchLogsClient", group: str, *, since_ms: int, until_ms: int) -> Iterator[str]:
    """The lines about queued messages in the inbox's log group. Raises NotNowError(STORE_UNAVAILABLE)."""
    pages = logs.get_paginator("filter_log_events").paginate(
        logGroupName=group, startTime=since_ms, endTime=until_ms, filterPattern=f'{{ $.message = "{QUEUED}" }}'
    )
    with transient_as_not_now():
        for page in pages:
            for event in page["events"]:
                yield event["message"]
