"""The index of chats: what was read of an archive is known on this machine, and only what changed is read again."""

import sqlite3
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.client.archive.pulling import Points, Watched
from tests.client.chat.network import ALICE, BOB, CAROL, MALLORY, ChatNetwork, Device

import postroom.client.archive.index_file as index_file_module
import postroom.client.chat.entries as entries_module
from postroom.client.archive import Archive, HomeObject, MemoryHome
from postroom.client.chat import Chats
from postroom.client.chat.entries import ChatEntry, ReadEntry
from postroom.client.chat.entry_json import parse_read_entry, write_read_entry
from postroom.client.chat.index import ChatIndex
from postroom.client.chat.reading import ConversationReader
from postroom.client.dm3 import Dm3Draft
from postroom.core.errors import NotNowError
from postroom.core.reasons import STORE_UNAVAILABLE
from postroom.protocols.dm3.containers import conversation_key
from postroom.protocols.dm3.stored import Tombstone
from postroom.protocols.status import sending
from postroom.protocols.status.enums import ChatKind, PayloadType
from postroom.protocols.status.verify import ChatRef


@pytest.fixture
def index(bob: Device, tmp_path: Path) -> ChatIndex:
    return ChatIndex(bob.archive, tmp_path / "cache")


def read(device: Device, index: ChatIndex | None = None, archive: Archive | None = None) -> dict[str, list[object]]:
    """What a new process reads; errors by their texts."""
    reader = ConversationReader(archive or device.archive, device.chats.own, index)
    return comparable(reader.read())


def comparable(conversations: Mapping[str, Sequence[ReadEntry]]) -> dict[str, list[object]]:
    return {
        partner: [
            (replace(entry, error=None), str(entry.error)) if isinstance(entry, ChatEntry) else entry
            for entry in entries
        ]
        for partner, entries in conversations.items()
    }


def fill(network: ChatNetwork, alice: Device, bob: Device) -> None:
    """Chats with all that an entry can hold: a group, a channel, a plain message, a tombstone, and a discarded one."""
    group = alice.chats.create_group("Choir", [BOB, CAROL])
    assert group.unreached == ()
    [created] = alice.chats.view().groups()
    alice.send(created.ref.id, "hello all")
    bob.chats.join("tea", [ALICE], relays=True)
    bob.send(ALICE, "mine")
    sent = alice.send(BOB, "regretted")
    bob.pull()
    alice.chats.delete(BOB, sent.id)
    network[CAROL].post(Dm3Draft(BOB, "written by a client that knows no chats"))
    to_carol = ChatRef(ChatKind.ONE_TO_ONE, network[CAROL].key)
    wrapper = network[ALICE].carry(CAROL, sending.text_message(to_carol, 1, 1, "for Carol alone"))
    network[MALLORY].pass_on(BOB, wrapper, PayloadType.CHAT_MESSAGE)
    bob.pull()


def test_what_the_index_knows_is_what_the_archive_says(
    network: ChatNetwork, alice: Device, bob: Device, index: ChatIndex
) -> None:
    fill(network, alice, bob)
    whole = read(bob)
    assert {type(entry) for entries in all_entries(bob).values() for entry in entries} == {ChatEntry, Tombstone}
    memory = bob.chats.memory
    assert memory.discarded
    assert memory.channels
    assert memory.said
    assert read(bob, index) == whole
    assert read(bob, index) == whole


def all_entries(device: Device) -> Mapping[str, Sequence[ReadEntry]]:
    return ConversationReader(device.archive, device.chats.own).read()


def test_an_entry_is_the_same_after_it_was_written(network: ChatNetwork, alice: Device, bob: Device) -> None:
    fill(network, alice, bob)
    for partner, entries in all_entries(bob).items():
        written = [parse_read_entry(write_read_entry(entry), bob.chats.own) for entry in entries]
        assert comparable({partner: written}) == comparable({partner: entries})


def test_chunks_of_conversations_that_did_not_change_are_not_opened(
    alice: Device, bob: Device, index: ChatIndex
) -> None:
    alice.send(BOB, "hello")
    bob.pull()
    first = _gets(bob, index)
    again = _gets(bob, index)
    assert again < first
    # The root, and the conversations of the archive: no chunk.
    assert again == 1 + len(bob.archive.conversations())


def _gets(device: Device, index: ChatIndex) -> int:
    points = Points()
    read(device, index, replace(device.archive, home=Watched(device.archive.home, points)))
    return points.passed // 2


def test_a_message_is_verified_once(
    alice: Device, bob: Device, index: ChatIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice.send(BOB, "first")
    bob.pull()
    read(bob, index)
    real, texts = entries_module.read_message, []

    def read_message(entry: Any, *given: Any) -> ChatEntry:
        texts.append(entry.message.message)
        return real(entry, *given)

    monkeypatch.setattr(entries_module, "read_message", read_message)
    alice.send(BOB, "second")
    bob.pull()
    texts.clear()
    read(bob, index)
    assert texts == ["second"]


def test_what_was_read_before_the_home_failed_is_kept(
    network: ChatNetwork, alice: Device, bob: Device, index: ChatIndex
) -> None:
    alice.send(BOB, "hello")
    network[CAROL].post(Dm3Draft(BOB, "hello"))
    bob.pull()

    class Fails(MemoryHome):
        def get(self, key: str) -> HomeObject | None:
            if key == conversation_key(bob.archive.filing.root, CAROL):
                raise NotNowError(STORE_UNAVAILABLE)
            return super().get(key)

    failing = replace(bob.archive, home=Fails(network[BOB].home.containers()))
    reader = ConversationReader(failing, bob.chats.own, index)
    with pytest.raises(NotNowError):
        reader.read()
    assert index.load(bob.chats.own).keys() == {ALICE}
    reader.archive = bob.archive
    assert comparable(reader.read()) == read(bob)
    assert index.load(bob.chats.own).keys() == {ALICE, CAROL}


def test_a_message_whose_sender_is_verified_later_is_read_again(
    network: ChatNetwork, alice: Device, bob: Device, index: ChatIndex
) -> None:
    alice.send(BOB, "hello")
    bob.pull()
    entries = bob.archive.whole(ALICE)
    bob.archive.home.delete(conversation_key(bob.archive.filing.root, ALICE))
    unverified = [replace(entry, unverified="ProfileUnknown") for entry in entries]  # type: ignore[type-var]
    bob.archive.merge(ALICE, unverified)
    assert all(entry.payload is None for entry in _of_alice(bob, index))
    bob.archive.merge(ALICE, entries)
    assert all(entry.payload for entry in _of_alice(bob, index))


def _of_alice(bob: Device, index: ChatIndex) -> list[ChatEntry]:
    found = ConversationReader(bob.archive, bob.chats.own, index).read()[ALICE]
    return [entry for entry in found if isinstance(entry, ChatEntry)]


def test_chats_with_an_index_see_what_comes_later(
    network: ChatNetwork, alice: Device, bob: Device, index: ChatIndex
) -> None:
    chats = Chats(bob.archive, network[BOB].sender(), index)
    assert chats.chats() == []
    alice.send(BOB, "hello")
    bob.pull()
    chats.refresh()
    assert [message.text for message in chats.messages(ALICE)] == ["hello"]


def test_a_deleted_text_is_not_in_the_file(alice: Device, bob: Device, index: ChatIndex) -> None:
    sent = alice.send(BOB, "a secret that is regretted")
    bob.pull()
    read(bob, index)
    assert b"a secret that is regretted" in index.path.read_bytes()
    alice.chats.refresh()
    alice.chats.delete(BOB, sent.id)
    bob.pull()
    read(bob, index)
    assert b"a secret that is regretted" not in index.path.read_bytes()


def test_a_conversation_that_is_gone_is_forgotten(
    network: ChatNetwork, alice: Device, bob: Device, index: ChatIndex
) -> None:
    empty = network.state()
    alice.send(BOB, "a word of farewell")
    bob.pull()
    assert read(bob, index)
    network.restore(empty)
    bob = network.device(BOB)
    assert read(bob, index) == {}
    assert index.load(bob.chats.own) == {}
    assert b"a word of farewell" not in index.path.read_bytes()


def _not_sqlite(path: Path) -> None:
    path.write_bytes(b"this is no database, but it is as long as one would be")


def _other_version(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA user_version = 99")
        database.execute("DROP TABLE entries")


def _entries_of(text: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE entries SET entry = ?", (text,))

    return change


def _no_conversations(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM conversations")


@pytest.mark.parametrize(
    "damage",
    [_not_sqlite, _other_version, _no_conversations, *map(_entries_of, ("", "[]", "1", '{"hash": 1}'))],
)
def test_a_damaged_index_is_made_again(
    alice: Device, bob: Device, index: ChatIndex, damage: Callable[[Path], None]
) -> None:
    alice.send(BOB, "hello")
    bob.pull()
    whole = read(bob, index)
    damage(index.path)
    assert read(bob, index) == whole
    assert index.load(bob.chats.own).keys() == whole.keys()


def test_only_the_owner_can_read_the_file(bob: Device, index: ChatIndex) -> None:
    read(bob, index)
    assert stat.S_IMODE(index.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(index.path.parent.stat().st_mode) == 0o700


def test_archives_have_indexes_of_their_own(alice: Device, bob: Device, index: ChatIndex) -> None:
    assert ChatIndex(alice.archive, index.path.parent).path != index.path


def test_an_index_that_was_removed_is_made_again(alice: Device, bob: Device, index: ChatIndex) -> None:
    alice.send(BOB, "hello")
    bob.pull()
    whole = read(bob, index)
    assert index.drop()
    assert not index.path.exists()
    assert not index.drop()
    assert read(bob, index) == whole


def test_one_process_writes_at_a_time(
    alice: Device, bob: Device, index: ChatIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(bob, index)
    monkeypatch.setattr(index_file_module, "_WAIT_SECONDS", 0)
    with closing(sqlite3.connect(index.path)) as other, other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            index.put({ALICE: ("etag", [])})


@pytest.mark.parametrize("damage", [b"\0", b"\xff"])
def test_an_index_with_damaged_pages_is_made_again(alice: Device, bob: Device, index: ChatIndex, damage: bytes) -> None:
    for number in range(10):
        alice.send(BOB, f"{number} " + "x" * 500)
    bob.pull()
    whole = read(bob, index)
    pages = index.path.read_bytes()
    index.path.write_bytes(pages[:4096] + damage * (len(pages) - 4096))
    assert read(bob, index) == whole
    assert index.load(bob.chats.own).keys() == whole.keys()


def test_a_text_that_is_no_utf_8_is_damage(alice: Device, bob: Device, index: ChatIndex) -> None:
    alice.send(BOB, "hello")
    bob.pull()
    whole = read(bob, index)
    with closing(sqlite3.connect(index.path)) as database, database:
        database.execute("UPDATE conversations SET partner = CAST(x'ff' AS TEXT)")
    assert read(bob, index) == whole


def test_a_folder_that_cannot_be_made_is_an_error_of_the_index(bob: Device, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(sqlite3.OperationalError, match="file"):
        ChatIndex(bob.archive, tmp_path / "file" / "cache").load(bob.chats.own)
