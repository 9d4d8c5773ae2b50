import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postroom.storage.layout import (
    ROW_PREFIX,
    RowKey,
    claim_name,
    conversation_alias,
    reply_name,
    row_key,
    seen_key_dm3,
    seen_key_nlweb,
    segment_name,
    sender_group,
    shard_of,
)

PARTS = st.tuples(st.text(max_size=4), st.text(max_size=4), st.text(max_size=4))


@given(PARTS, PARTS)
@example(("a", "bc", "d"), ("ab", "c", "d"))
@example(("a\x00", "b", ""), ("a", "\x00b", ""))
def test_two_messages_share_a_key_only_if_all_three_parts_are_equal(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    assert (seen_key_nlweb(*one) == seen_key_nlweb(*other)) == (one == other)


def test_the_key_of_a_message_never_changes() -> None:
    # What is remembered for 22 days must be found by the next release as well.
    assert seen_key_nlweb("any-receiver.com", "any-sender.com", "125a5c75-cb72-43d2-9695-37026dfcaa48") == (
        "n#bfdb47da9c9672890106abdf2334cfe38a895f3d84df89847699004cd3584196"
    )


@given(st.text(min_size=1), st.integers(1, 64), st.integers(0, 9_999_999_999_999), st.uuids())
def test_a_row_key_tells_its_mailbox_its_claim_and_its_time(mailbox: str, shards: int, at: int, claim: object) -> None:
    key = row_key(mailbox, shards, at, f"{claim}")
    assert (key.mailbox, key.claim_id, key.received_at_ms) == (mailbox, f"{claim}", at)
    assert key.pk == f"{mailbox}#{shard_of(f'{claim}', shards)}"
    assert 0 <= shard_of(f"{claim}", shards) < shards


@given(st.integers(0, 9_999_999_999_999), st.integers(0, 9_999_999_999_999))
def test_rows_sort_by_the_time_they_came_in(one: int, other: int) -> None:
    first, second = row_key("a", 1, one, "z"), row_key("a", 1, other, "a")
    if one != other:
        assert (first.sk < second.sk) == (one < other)
    assert ROW_PREFIX < first.sk < ROW_PREFIX + "~"


def test_shards_are_spread_over_all_their_numbers() -> None:
    assert {shard_of(f"claim-{n}", 8) for n in range(200)} == set(range(8))


def test_object_names_stand_under_the_hour() -> None:
    at = 1_795_253_400_000  # 2026-11-21T09:30:00Z
    assert segment_name(at, "r") == "seg/2026/11/21/09/r.jsonl"
    assert claim_name(at, "c") == "claim/2026/11/21/09/c"
    assert reply_name(at, "r") == "reply/2026/11/21/09/r"


def test_mailboxes_with_the_separator_in_their_name_share_no_row() -> None:
    assert row_key("a#1", 1, 5, "c") == RowKey("a#1#0", "m#0000000000005#c")
    assert row_key("a#1", 1, 5, "c").mailbox == "a#1"


def test_a_dm3_message_is_its_receiver_its_sender_its_hash_and_whether_that_was_verified() -> None:
    keys = {
        seen_key_dm3(to, sender, digest, verified=verified)
        for to in ("a.eth", "b.eth")
        for sender in ("a.eth", "b.eth")
        for digest in ("00", "11")
        for verified in (True, False)
    }
    assert len(keys) == 16
    assert seen_key_dm3("bob.eth", "alice.eth", "ab", verified=True).startswith("d#")
    assert seen_key_dm3("bob.eth", "alice.eth", "ab", verified=False).startswith("u#")


def test_an_alias_tells_conversations_apart_and_names_nobody() -> None:
    alias = conversation_alias("bob.eth", "alice.eth")
    assert alias == conversation_alias("bob.eth", "alice.eth")
    assert alias not in (conversation_alias("bob.eth", "eve.eth"), conversation_alias("eve.eth", "alice.eth"))
    assert "alice" not in alias


@pytest.mark.parametrize(("one", "other"), [("192.0.2.1", "192.0.2.254"), ("2001:db8::1", "2001:db8:0:ffff::1")])
def test_a_sender_is_one_group_wherever_in_its_network_it_sends_from(one: str, other: str) -> None:
    assert sender_group("a.com", one) == sender_group("a.com", other)


@pytest.mark.parametrize(("one", "other"), [("192.0.2.1", "192.0.3.1"), ("2001:db8::1", "2001:db8:1::1")])
def test_using_a_name_from_another_network_does_not_affect_its_owners_group(one: str, other: str) -> None:
    assert sender_group("a.com", one) != sender_group("a.com", other)


def test_another_sender_of_the_same_network_is_another_group() -> None:
    assert sender_group("a.com", "192.0.2.1") != sender_group("b.com", "192.0.2.1")


@given(st.text(), st.one_of(st.text(), st.ip_addresses().map(str)))
def test_a_group_is_a_valid_sqs_group_and_reveals_no_name(sender: str, source: str) -> None:
    assert re.fullmatch("[0-9a-f]{32}", sender_group(sender, source))
