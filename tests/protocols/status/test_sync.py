"""What the devices of one user say to each other: the same on each, whatever came first (6/PAYLOADS)."""

import random
from collections.abc import Callable
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.status.senders import ALICE, BOB, CAROL, NOW_MS, PNG, add

from postroom.core.errors import TheirError
from postroom.protocols.status.chat_view import ChatView
from postroom.protocols.status.clock import MOST_AHEAD_MS
from postroom.protocols.status.enums import ChatKind
from postroom.protocols.status.log import ChatLog
from postroom.protocols.status.messages import (
    PairInstallation,
    StatusMessage,
    SyncClearHistory,
    SyncDeleteForMeMessage,
    SyncInstallationContact,
    SyncInstallationPublicChat,
)
from postroom.protocols.status.sending import text_message
from postroom.protocols.status.sent_profile import write_picture
from postroom.protocols.status.sync import OwnDevices
from postroom.protocols.status.verify import ChatRef

WITH_BOB = ChatRef(ChatKind.ONE_TO_ONE, BOB.public)
TOWN = ChatRef(ChatKind.PUBLIC_GROUP, "town")
HELLO_ID = "0x" + "ab" * 32


def log_of(*messages: StatusMessage, at_ms: int = NOW_MS) -> ChatLog:
    log = ChatLog(ALICE.public)
    for message in messages:
        add(log, message, ALICE, ALICE, at_ms)
    return log


def own_devices(*messages: StatusMessage) -> OwnDevices:
    return OwnDevices(log_of(*messages))


def contact(clock: int, name: str = "", last_updated: int = 0, *tags: str) -> SyncInstallationContact:
    return SyncInstallationContact(clock, BOB.public, "", name, last_updated, tags)


def device(clock: int, name: str, installation: str = "phone") -> PairInstallation:
    return PairInstallation(clock, installation, "ios", name)


def test_nothing_is_said_in_an_empty_log() -> None:
    said = own_devices()
    assert (said.channels, said.deleted_for_me) == (frozenset(), frozenset())
    assert (said.cleared, said.contacts, said.devices) == ({}, {}, {})


# --- each kind of message -----------------------------------------------------------------------------------------


def test_channels_are_joined_on_all_devices() -> None:
    log = log_of(SyncInstallationPublicChat(1, "town"), SyncInstallationPublicChat(2, "village"))
    assert OwnDevices(log).channels == {"town", "village"}
    assert ChatView(log, ["here-only"]).joined == {"town", "village", "here-only"}
    assert ChatView(log, ["here-only"], parted=["town"]).joined == {"village", "here-only"}


def test_of_a_contact_the_newest_counts_by_last_updated_first() -> None:
    entries = [contact(9, "old.eth", 1), contact(1, "new.eth", 2)]
    for order in permutations(entries):
        assert own_devices(*order).contacts == {BOB.public: entries[1]}


def test_of_several_with_one_last_updated_the_largest_clock_counts() -> None:
    # Eight, so that the largest ID is another's.
    entries = [contact(clock, f"{clock}.eth", 5) for clock in range(1, 9)]
    for order in (entries, entries[::-1]):
        assert own_devices(*order).contacts == {BOB.public: entries[-1]}
    facts = {fact.id: fact.message for fact in log_of(*entries)}
    assert facts[max(facts)] != entries[-1]


def test_of_two_with_one_clock_too_the_larger_id_counts() -> None:
    entries = [contact(1, "one.eth", 5), contact(1, "two.eth", 5)]
    facts = {fact.id: fact.message for fact in log_of(*entries)}
    for order in permutations(entries):
        assert own_devices(*order).contacts == {BOB.public: facts[max(facts)]}


def test_contacts_have_all_that_was_said_of_them_and_do_not_touch_each_other() -> None:
    bob = SyncInstallationContact(1, BOB.public, write_picture(PNG), "bob.eth", 3, (":contact/added", ":x"), "Bobby")
    carol = SyncInstallationContact(2, CAROL.public, system_tags=(":contact/blocked",))
    assert own_devices(bob, carol).contacts == {BOB.public: bob, CAROL.public: carol}


def test_of_a_device_the_newest_counts_by_clock_and_id() -> None:
    entries = [device(1, "old"), device(2, "new"), device(1, "tablet", "tablet")]
    for order in permutations(entries):
        assert own_devices(*order).devices == {"phone": entries[1], "tablet": entries[2]}
    same = [device(1, "one"), device(1, "two")]
    facts = {fact.id: fact.message for fact in log_of(*same)}
    for order in permutations(same):
        assert own_devices(*order).devices == {"phone": facts[max(facts)]}


def test_a_chat_is_cleared_up_to_the_largest_clock() -> None:
    said = own_devices(
        SyncClearHistory(BOB.public, 5),
        SyncClearHistory(BOB.public, 9),
        SyncClearHistory(BOB.public, 7),
        SyncClearHistory("town", 1),
    )
    assert said.cleared == {WITH_BOB: 9, TOWN: 1}


def test_messages_are_deleted_for_oneself() -> None:
    assert own_devices(SyncDeleteForMeMessage(1, HELLO_ID)).deleted_for_me == {HELLO_ID}


# --- the rules of all -----------------------------------------------------------------------------------------------

AHEAD = NOW_MS + MOST_AHEAD_MS
EACH: list[Callable[[int], StatusMessage]] = [
    lambda clock: SyncInstallationPublicChat(clock, "town"),
    lambda clock: SyncDeleteForMeMessage(clock, HELLO_ID),
    lambda clock: SyncClearHistory("town", clock),
    lambda clock: contact(clock),
    lambda clock: contact(1, "", clock),
    lambda clock: device(clock, "new"),
]


def is_anything_said(said: OwnDevices) -> bool:
    return bool(said.channels or said.deleted_for_me or said.cleared or said.contacts or said.devices)


@pytest.mark.parametrize("message_at", EACH)
def test_a_clock_that_is_too_far_ahead_does_not_count(message_at: Callable[[int], StatusMessage]) -> None:
    assert is_anything_said(own_devices(message_at(AHEAD)))
    assert not is_anything_said(own_devices(message_at(AHEAD + 1)))


@pytest.mark.parametrize("message_at", EACH)
def test_the_time_is_that_of_the_first_copy(message_at: Callable[[int], StatusMessage]) -> None:
    for times in permutations([NOW_MS, NOW_MS + 1000]):
        log = ChatLog(ALICE.public)
        for at_ms in times:
            add(log, message_at(AHEAD + 1), ALICE, ALICE, at_ms)
        assert not is_anything_said(OwnDevices(log))


@pytest.mark.parametrize("message_at", EACH)
def test_nothing_counts_from_anybody_else(message_at: Callable[[int], StatusMessage]) -> None:
    with pytest.raises(TheirError, match="NotFromOwnKey"):
        add(ChatLog(ALICE.public), message_at(1), BOB, ALICE)


CLOCKS = st.integers(1, 3)
MESSAGES: st.SearchStrategy[StatusMessage] = st.one_of(
    st.builds(SyncInstallationPublicChat, CLOCKS, st.sampled_from(["town", "village"])),
    st.builds(SyncDeleteForMeMessage, CLOCKS, st.sampled_from([HELLO_ID, HELLO_ID[:-1] + "c"])),
    st.builds(SyncClearHistory, st.sampled_from(["town", BOB.public]), CLOCKS),
    st.builds(contact, CLOCKS, st.sampled_from(["", "bob.eth", "b.eth"]), CLOCKS),
    st.builds(device, CLOCKS, st.sampled_from("ab"), st.sampled_from(["phone", "tablet"])),
)


@given(st.lists(MESSAGES, max_size=8), st.randoms(use_true_random=False))
def test_it_is_the_same_in_any_order_and_over_any_devices(messages: list[StatusMessage], chance: random.Random) -> None:
    whole = OwnDevices(log_of(*messages))
    parts = [log_of(), log_of()]
    for message in sorted(messages, key=lambda _: chance.random()):
        for part in chance.sample(parts, chance.randint(1, 2)):
            add(part, message, ALICE, ALICE, NOW_MS)
    parts[0].merge(parts[1])
    merged = OwnDevices(parts[0])
    for name in ("channels", "cleared", "deleted_for_me", "contacts", "devices"):
        assert getattr(merged, name) == getattr(whole, name), name


# --- what is shown --------------------------------------------------------------------------------------------------


def test_a_view_shows_channels_that_another_device_has_joined() -> None:
    log = log_of(SyncInstallationPublicChat(1, "town"))
    add(log, text_message(TOWN, NOW_MS, NOW_MS, "hello"), BOB, ALICE)
    assert [message.text for message in ChatView(log).messages(TOWN)] == ["hello"]


def test_a_view_shows_nothing_that_is_cleared_or_deleted_for_oneself() -> None:
    log = ChatLog(ALICE.public)
    with_alice = ChatRef(ChatKind.ONE_TO_ONE, ALICE.public)
    facts = [add(log, text_message(with_alice, clock, 1, f"at {clock}"), BOB, ALICE, 1) for clock in (1, 2, 3, 4)]
    assert [message.text for message in ChatView(log).messages(WITH_BOB)] == ["at 1", "at 2", "at 3", "at 4"]
    add(log, SyncClearHistory(BOB.public, 2), ALICE, ALICE)
    add(log, SyncDeleteForMeMessage(5, facts[3].id), ALICE, ALICE)
    assert [message.text for message in ChatView(log).messages(WITH_BOB)] == ["at 3"]
