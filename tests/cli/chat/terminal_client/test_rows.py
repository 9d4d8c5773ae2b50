"""Messages of a chat as rows of text."""

from dataclasses import replace

import pytest
from tests.client.chat.network import ALICE, BOB, CAROL, Device

from postroom.cli.chat.terminal_client.rows import (
    MessageRow,
    PendingChange,
    PendingText,
    is_mentioned,
    reactions_of,
    rows_of,
    size_in_words,
    unread_in,
)
from postroom.cli.chat.terminal_client.snapshot import ChatSnapshot, ListedChat, read_snapshot
from postroom.protocols.status.enums import ReactionKind
from postroom.protocols.status.keys import ChatKey


def snapshot_of(device: Device) -> tuple[ChatSnapshot, ListedChat]:
    device.chats.refresh()
    snapshot = read_snapshot(device.chats)
    return snapshot, snapshot.chats[0]


def shown(device: Device, *, new_from: int = 1 << 60) -> list[MessageRow]:
    return rows_of(*snapshot_of(device), new_from, (), ())


@pytest.fixture
def chat(alice: Device, bob: Device) -> str:
    """The ID of Alice's message to Bob, who answered it."""
    sent = alice.send(BOB, "hello")
    bob.pull()
    bob.send(ALICE, "hi", reply_to=sent.id)
    alice.pull()
    return sent.id


def test_a_row_says_who_wrote_what(alice: Device, chat: str) -> None:
    first, second = shown(alice)
    assert (first.author, first.is_own, first.text, first.state) == ("alice.eth", True, ("hello",), "sent")
    assert (second.author, second.is_own, second.text, second.state) == ("bob.eth", False, ("hi",), "")
    assert second.quote == "alice.eth: hello"


def test_an_answer_to_what_is_not_there_says_so(alice: Device, chat: str) -> None:
    snapshot, listed = snapshot_of(alice)
    [row] = rows_of(snapshot, replace(listed, messages=listed.messages[1:]), 1 << 60, (), ())
    assert row.quote == "an earlier message"


def test_who_deleted_a_message_is_said_if_it_was_not_its_author(alice: Device, bob: Device) -> None:
    alice.chats.create_group("friends", [BOB])
    bob.pull()
    sent = bob.send("friends", "oops")
    alice.pull()
    alice.chats.delete("friends", sent.id)
    assert shown(alice)[0].text == ("(deleted by alice.eth)",)


def test_the_first_unread_message_is_marked(alice: Device, bob: Device, chat: str) -> None:
    _, listed = snapshot_of(alice)
    came = max(listed.came.values())
    bob.send(ALICE, "one")
    bob.send(ALICE, "two")
    alice.pull()
    assert [row.is_new for row in shown(alice, new_from=came)] == [False, False, True, False]
    snapshot, listed = snapshot_of(alice)
    assert [message.text for message in unread_in(listed, snapshot.own, came)] == ["one", "two"]


def test_a_late_message_is_unread_though_it_stands_earlier(alice: Device, bob: Device, carol: Device) -> None:
    alice.chats.create_group("friends", [BOB, CAROL])
    bob.pull()
    carol.pull()
    alice.person.service.is_down = True
    bob.send("friends", "first")
    alice.person.service.is_down = False
    carol.send("friends", "second")
    alice.pull()
    snapshot, listed = snapshot_of(alice)
    read_to = max(listed.came.values())
    bob.pull()
    alice.pull()
    snapshot, listed = snapshot_of(alice)
    assert [message.text for message in listed.messages] == ["first", "second"]
    assert [message.text for message in unread_in(listed, snapshot.own, read_to)] == ["first"]


def test_reactions_are_signs_and_words_with_who_reacted(alice: Device, bob: Device, chat: str) -> None:
    alice.chats.react(BOB, chat, ReactionKind.LOVE)
    bob.chats.react(ALICE, chat, ReactionKind.LOVE)
    alice.pull()
    assert shown(alice)[0].reactions == ("❤ love: you, bob.eth",)


def test_a_thousand_reactions_take_two_lines(alice: Device, chat: str) -> None:
    snapshot, listed = snapshot_of(alice)
    authors = tuple(ChatKey(f"0x04{number:0128x}") for number in range(1000))
    names = replace(snapshot.names, proven=dict.fromkeys(authors, "x.eth"))
    kinds = {int(ReactionKind.SAD): authors, **dict.fromkeys(range(100, 1100), authors[:1])}
    message = replace(listed.messages[0], reactions=kinds)
    [row] = rows_of(replace(snapshot, names=names), replace(listed, messages=(message,)), 1 << 60, (), ())
    assert row.reactions == (f"😢 sad: {', '.join(['x.eth'] * 5)} and 995 more", "1000 of unknown kinds")


def test_one_s_own_reactions_are_shown_as_if_they_had_come(alice: Device, chat: str) -> None:
    snapshot, listed = snapshot_of(alice)
    message = replace(listed.messages[0], reactions={1: (ChatKey("0x04bob"),)})
    love = PendingChange(1, chat, "sending love", 1, stands=True)
    back = replace(love, number=2, stands=False)
    assert reactions_of(message, snapshot.own, [love]) == {1: (ChatKey("0x04bob"), snapshot.own)}
    assert reactions_of(message, snapshot.own, [love, back]) == {1: (ChatKey("0x04bob"),)}
    assert reactions_of(message, snapshot.own, [replace(love, message="0xother")]) == message.reactions


def test_what_is_pending_stands_at_the_end_of_its_chat(alice: Device, chat: str) -> None:
    snapshot, listed = snapshot_of(alice)
    pending = [PendingText(1, listed.ref, "soon", chat), PendingText(2, listed.ref, "never", failed="why")]
    elsewhere = PendingText(3, listed.ref._replace(id="elsewhere"), "no")
    rows = rows_of(snapshot, listed, 1 << 60, [*pending, elsewhere], [])
    assert [(row.text, row.state, row.problem) for row in rows[2:]] == [
        (("soon",), "sending", ""),
        (("never",), "", "not sent: why"),
    ]
    assert rows[2].quote == "alice.eth: hello"


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 bytes"), (999, "999 bytes"), (12_345, "12 kB"), (400_000, "400 kB")]
)
def test_sizes_are_for_people(count: int, words: str) -> None:
    assert size_in_words(count) == words


def test_a_mention_is_of_the_user_or_of_everyone(alice: Device, bob: Device) -> None:
    own = alice.person.key
    assert is_mentioned(f"hi @{own}", own)
    assert is_mentioned("hi @0x00001", own)
    assert not is_mentioned(f"hi @{bob.person.key}", own)
