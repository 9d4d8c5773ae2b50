"""The queue messages of the courier: each kind is read as it was written, by this release and by the one before."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.functions.samples import MADE_AT, RECEIVER, SENDER, discarded_row

from postroom.core.reasons import TOO_LATE
from postroom.outbound.discard_messages import DiscardNotification, DiscardSummaryDue
from postroom.outbound.notification_messages import MailWaiting, Notification, WatchReplaced
from postroom.outbound.outbox_messages import Outgoing
from postroom.outbound.queue_messages import READERS, QueueMessage, read_queue_message
from postroom.protocols.nlweb.schema import NLWEB, POLLYWEB
from postroom.protocols.nlweb.sign import Draft
from postroom.storage.layout import RowKey

NOTICE = DiscardNotification(
    discarded_row(MADE_AT), TOO_LATE, RECEIVER, SENDER, "c", "0" * 64, POLLYWEB, MADE_AT * 1000, tries=2
)
SUMMARY = DiscardSummaryDue(RECEIVER, SENDER, 498_681, NLWEB, tries=1)


@pytest.mark.parametrize("notice", [NOTICE, SUMMARY])
def test_a_discard_is_read_as_it_was_written(notice: DiscardNotification | DiscardSummaryDue) -> None:
    assert read_queue_message(notice.encode()) == notice


BODIES = [
    *("", "[]", "1", "null", "{}", "[" * 100_000),
    NOTICE.encode().replace('"form": 1', '"form": 2'),
    NOTICE.encode().replace('"tries": 2', '"tries": "2"'),
    NOTICE.encode().replace(f'"since": {MADE_AT}000', '"since": 1e999'),
    NOTICE.encode().replace('"TooLate"', "[]"),
    NOTICE.encode().replace("TooLate", "NoSuchReason"),
    SUMMARY.encode().replace("498681", "true"),
    SUMMARY.encode().replace("nlweb.org", "other.org"),
]


@pytest.mark.parametrize("body", BODIES)
def test_a_foreign_body_is_a_value_error(body: str) -> None:
    assert body not in (NOTICE.encode(), SUMMARY.encode())
    with pytest.raises(ValueError):
        read_queue_message(body)


CORRELATION = "5f0d8f9e-0000-4000-8000-00000000000a"
RELEASE_BEFORE: dict[bytes, QueueMessage] = {
    b'{"form": 1, "pk": "a.com#0", "sk": "m#1700000000000#c1", "reason": "TooLate", "receiver": "a.com", '
    b'"sender": "b.com", "correlation": "5f0d8f9e-0000-4000-8000-00000000000a", "hash": "00", '
    b'"dialect": "pollyweb.org", "since": 1700000000000, "tries": 2}': DiscardNotification(
        RowKey("a.com#0", "m#1700000000000#c1"), TOO_LATE, "a.com", "b.com", CORRELATION, "00", POLLYWEB,
        1_700_000_000_000, tries=2,
    ),
    b'{"form": 1, "hour": 498681, "receiver": "a.com", "sender": "b.com", "dialect": "nlweb.org", '
    b'"tries": 1}': DiscardSummaryDue("a.com", "b.com", 498_681, NLWEB, tries=1),
    b'{"form": 1, "outgoing": {"from": "a.com", "to": "b.com", "subject": "Hello@Host", '
    b'"correlation": "5f0d8f9e-0000-4000-8000-00000000000a", "at": 7, "dialect": "nlweb.org", '
    b'"body": {"Say": "hi"}}, "carrier": "one", "tries": 3}': Outgoing(
        Draft("a.com", "b.com", "Hello@Host", CORRELATION, 7, {"Say": "hi"}, has_body=True), "one", tries=3
    ),
    b'{"form": 1, "waiting": "a.com", "after": 5, "mark": "mark", "tries": 1}': MailWaiting(
        "a.com", 5, "mark", tries=1
    ),
    b'{"form": 1, "notification": {"mailbox": "a.com", "target": "0x", "id": "n", "at": 5, "challenge": 2}, '
    b'"tries": 1}': Notification("a.com", "0x", "n", 5, 2, tries=1),
}  # fmt: skip


@pytest.mark.parametrize("body", RELEASE_BEFORE, ids=[message.kind for message in RELEASE_BEFORE.values()])
def test_a_message_of_the_release_before_is_read(body: bytes) -> None:
    assert read_queue_message(body.decode()) == RELEASE_BEFORE[body]


NEW = WatchReplaced("a.com", "{}", 5, tries=1)


def test_there_is_such_a_message_of_every_kind_that_it_had() -> None:
    assert {message.kind for message in RELEASE_BEFORE.values()} | {NEW.kind} == READERS.keys()


def test_a_replaced_watch_is_read_as_it_was_written() -> None:
    assert read_queue_message(NEW.encode()) == NEW
    assert read_queue_message(NEW.again().encode()) == replace(NEW, tries=2)
    assert NEW.group == Notification("a.com", "0x", "n", 5).group


@pytest.mark.parametrize("message", RELEASE_BEFORE.values(), ids=lambda message: message.kind)
def test_the_release_before_reads_what_this_one_writes(message: QueueMessage) -> None:
    """It passes over members that it does not know, as a function of it may do while a stack is updated."""
    written: dict[str, Any] = json.loads(message.encode())
    assert written.pop("kind") == message.kind
    [before] = [json.loads(body) for body, read in RELEASE_BEFORE.items() if read == message]
    assert before.items() <= written.items()


def test_an_unknown_kind_is_named_with_the_known_ones() -> None:
    body = NOTICE.encode().replace('"kind": "discard"', '"kind": "parcel"')
    with pytest.raises(ValueError, match="kind 'parcel'; this release reads discard, summary, outgoing"):
        read_queue_message(body)
