"""NLWeb messages that the owner sent: kept once, read like those that were received, and not verified."""

from typing import Any

import pytest
from tests.client.archive.mail import KEYS, SENT_AT, archive
from tests.client.archive.test_verify import received

from postroom.client.archive import Archive, verify
from postroom.client.archive.nlweb_messages import (
    NlwebContent,
    is_sent,
    keep_sent_nlweb,
    read_content,
    sent_correlation,
)
from postroom.client.archive.ownership import NotThisHomeError, Ownership, put_ownership
from postroom.core.errors import TheirError
from postroom.protocols.dm3.stored import Received

CORRELATION = "8b51b6b2-2f5f-4a0e-9a0b-3c1d5e7f9a1b"


def keep(mine: Archive, token: str = "t", body: Any = None) -> None:
    keep_sent_nlweb(mine, "b.com", "Hello@Host", body, at_ms=SENT_AT, token=token, correlation=CORRELATION)


def kept(mine: Archive) -> list[Received]:
    return [entry for entry in mine.open("b.com") if isinstance(entry, Received)]


@pytest.mark.parametrize("body", [None, {"Text": "hi"}, [1, "ü", None]])
def test_a_message_is_kept_once_in_the_conversation_with_its_receiver(body: Any) -> None:
    mine = archive()
    for token in ("one", "one", "other"):
        keep(mine, token, body)
    assert mine.conversations() == ("b.com",)
    first, _ = kept(mine)
    assert is_sent(first)
    assert read_content(first) == NlwebContent(mine.owner, "b.com", "Hello@Host", body, is_sent=True)
    assert first.timestamp_ms == SENT_AT
    assert sent_correlation(first) == CORRELATION


def test_a_message_that_was_received_is_read_as_before() -> None:
    assert not is_sent(received())
    assert read_content(received()) == NlwebContent("b.com", "shop.com", "Hello@Host", {"Text": "hi"}, is_sent=False)
    with pytest.raises(TheirError):
        read_content(received(" there"))


def test_verification_counts_it_as_unproven_and_finds_what_is_none() -> None:
    mine = archive()
    keep(mine)
    mine.store([received()])
    assert (verify(mine, KEYS).messages, verify(mine, KEYS).unproven, verify(mine, KEYS).flaws) == (2, 2, [])
    [sent, _] = sorted(kept(mine), key=lambda entry: not is_sent(entry))
    mine.store([Received("another", SENT_AT, "b.com", sent.receipt, '{"Body": 1}')])
    [flaw] = verify(mine, KEYS).flaws
    assert flaw.what.startswith("is not what it says: WrongShape")


def test_a_message_that_is_kept_while_the_archive_moves_is_an_error() -> None:
    mine = archive()
    put_ownership(mine, Ownership(mine.owner, moved_to="elsewhere"), None)
    with pytest.raises(NotThisHomeError, match="elsewhere"):
        keep(mine)


@pytest.mark.parametrize("receipt", ["{}", "[]", "no JSON", '{"sent": "true"}', '{"sent": 1}', '{"correlation": "1"}'])
def test_only_a_receipt_that_says_so_makes_a_sent_message(receipt: str) -> None:
    entry = Received("id", SENT_AT, "b.com", receipt, "{}")
    assert not is_sent(entry)
    assert sent_correlation(entry) == ""
