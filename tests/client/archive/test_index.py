"""Searching: an index on this machine that follows the archive, and finds what reading all of it finds."""

import sqlite3
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.client.archive.mail import archive
from tests.client.archive.pulling import Points, Watched
from tests.protocols.dm3.stored_mail import ALICE, deletion, edit, stored_message
from tests.tiers import examples

import postroom.client.archive.index as index_module
import postroom.client.archive.index_file as index_file_module
from postroom.client.archive import Archive, MemoryHome
from postroom.client.archive.index import Hit, Index, SearchableTexts, Shown, ShownHit, scan, terms_of, text_of
from postroom.protocols.dm3.containers import ContainerError, conversation_key
from postroom.protocols.dm3.stored import Received, StoredEnvelope

NLWEB = Received("id", 1_795_253_400_500, "b.com", "{}", '{"Body":{"Text":"Rechnung Nr. 7"}}')
ASIDE = replace(NLWEB, id="other", set_aside="NOT_JSON")


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


@pytest.fixture
def mine() -> Archive:
    made = archive()
    made.store([
        stored_message("Good morning, Bob", 1), stored_message("Guten Morgen", 2),
        stored_message("GRÜẞE aus Zürich", 3), stored_message("Zu\u0308rich again", 4),
        stored_message('say "hi" OR NOT', 5), stored_message("早上好", 6), stored_message("🤝 deal", 7),
        stored_message("from carol in the morning", 8, sender="carol.eth"), NLWEB, ASIDE,
    ])  # fmt: skip
    return made


@pytest.fixture
def index(mine: Archive, tmp_path: Path) -> Index:
    made = Index(mine, tmp_path / "deep" / "cache")
    made.update()
    return made


FOUND = {
    "morning": ["from carol in the morning", "Good morning, Bob"],
    "MORNING good": ["Good morning, Bob"],
    "orge": ["Guten Morgen"],
    "grüsse": ["GRÜẞE aus Zürich"],
    "zürich": ["Zu\u0308rich again", "GRÜẞE aus Zürich"],
    "zu\u0308RICH aus": ["GRÜẞE aus Zürich"],
    '"hi"': ['say "hi" OR NOT'],
    "or NOT": ['say "hi" OR NOT'],
    "早上": ["早上好"],
    "早上好": ["早上好"],
    "🤝": ["🤝 deal"],
    "g,": ["Good morning, Bob"],
    "rechnung": ['{"Body":{"Text":"Rechnung Nr. 7"}}'],
    "morning evening": [],
    "*": [],
    "%": [],
    "": [],
}


@pytest.mark.parametrize("wanted", FOUND)
def test_messages_are_found_by_parts_of_words_in_any_case(index: Index, mine: Archive, wanted: str) -> None:
    assert texts(index.search(wanted, 10)) == FOUND[wanted]
    assert scan(mine, wanted, 10) == index.search(wanted, 10)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=examples(50),
    deadline=None,
)
@given(wanted=st.text(st.sampled_from("abGRßü\u0308\"'*() -:^早🤝%_"), max_size=6))
def test_the_index_finds_the_same_messages_as_reading_them(index: Index, mine: Archive, wanted: str) -> None:
    assert index.search(wanted, 100) == scan(mine, wanted, 100)


@dataclass
class FakeChats:
    """Texts of chats, by conversation and ID of the message that carries each, with their times.

    `shown`: what chats show; `deleted`: own texts of messages that they show as deleted. Equal
    texts are of one message.
    """

    said: dict[tuple[str, str], tuple[str, int]]
    shown: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    readings: int = 0

    def texts_of(self, entry: StoredEnvelope | Received) -> SearchableTexts:
        said = self.said.get((entry.author, entry.id)) if isinstance(entry, Received) else None
        return SearchableTexts(text_of(entry), *(said or ()), is_of_chat=said is not None)

    def read_shown(self) -> Shown:
        self.readings += 1
        return self.show

    def show(self, hit: Hit) -> ShownHit | None:
        assert hit.is_of_chat
        if not hit.in_chat:
            return None if hit.text in self.deleted else ShownHit(hit, hit.text)
        return ShownHit(replace(hit, author="the author"), hit.text) if hit.text in self.shown else None


WORDS = st.text("ab ", max_size=4)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=examples(50),
    deadline=None,
)
@given(
    mail=st.lists(st.tuples(WORDS, st.none() | WORDS, st.integers(1, 5), st.integers(1, 5)), max_size=8),
    shown=st.frozensets(WORDS),
    deleted=st.frozensets(WORDS),
    wanted=WORDS,
    limit=st.integers(1, 4),
)
def test_texts_of_chats_are_found_while_they_are_shown(
    mail: list[tuple[str, str | None, int, int]],
    shown: frozenset[str],
    deleted: frozenset[str],
    wanted: str,
    limit: int,
) -> None:
    entries = [
        replace(NLWEB, id=f"id{number // 2}", author=f"{number % 2}.com", timestamp_ms=at, envelope=own or "-")
        for number, (own, _, at, _) in enumerate(mail)
    ]
    said = {
        (entry.author, entry.id): (said, at)
        for entry, (_, said, _, at) in zip(entries, mail, strict=True)
        if said is not None
    }
    chats = FakeChats(said, shown, deleted)
    mine = archive()
    mine.store(entries)
    own_hits = [
        Hit(
            entry.author,
            entry.message_hash,
            entry.timestamp_ms,
            entry.author,
            entry.envelope,
            is_of_chat=said is not None,
        )
        for entry, (_, said, _, _) in zip(entries, mail, strict=True)
        if said is None or entry.envelope not in deleted
    ]
    chat_hits = [
        Hit(entry.author, entry.message_hash, at, "the author", said, is_of_chat=True, in_chat=True)
        for entry, (_, said, _, at) in zip(entries, mail, strict=True)
        if said in shown
    ]
    terms = terms_of(wanted)
    expected = [hit for hit in own_hits + chat_hits if terms and all(term in hit.text for term in terms)]
    expected.sort(key=lambda hit: (-hit.at_ms, hit.message_hash, hit.partner, hit.in_chat))
    of_chats = [hit for hit in expected if hit.is_of_chat]
    first = {hit.text: hit for hit in reversed(of_chats)}
    expected = [hit for hit in expected if not hit.is_of_chat or hit == first[hit.text]]
    with TemporaryDirectory() as folder:
        index = Index(mine, Path(folder), chats)
        index.update()
        assert index.search(wanted, limit) == scan(mine, wanted, limit, chats) == expected[:limit]
    assert chats.readings <= 2


def test_what_chats_show_is_read_anew_with_each_search(mine: Archive, tmp_path: Path) -> None:
    chats = FakeChats({(NLWEB.author, NLWEB.id): ("zebra", 1)})
    index = Index(mine, tmp_path, chats)
    index.update()
    assert index.search("morning", 10)
    assert (index.search("zebra", 10), chats.readings) == ([], 1)
    chats.shown = frozenset({"zebra"})
    assert (texts(index.search("zebra", 10)), chats.readings) == (["zebra"], 2)


def test_an_index_with_chats_replaces_one_without(index: Index, mine: Archive) -> None:
    chats = FakeChats({(NLWEB.author, NLWEB.id): ("zebra", 1)}, frozenset({"zebra"}))
    other = Index(mine, index.path.parent, chats)
    assert other.path == index.path
    other.update()
    assert texts(other.search("zebra", 10)) == ["zebra"]
    index.update()
    assert index.search("zebra", 10) == []
    assert len(index.search("morning", 10)) == 2


def test_results_are_newest_first_and_limited(index: Index, mine: Archive) -> None:
    assert texts(index.search("morning", 1)) == ["from carol in the morning"] == texts(scan(mine, "morning", 1))


def test_new_messages_are_found_and_deleted_ones_are_not(index: Index, mine: Archive) -> None:
    mine.store([first := stored_message("a secret", 20), stored_message("another morning", 21)])
    index.update()
    assert texts(index.search("secret", 10)) == ["a secret"]
    mine.store([deletion(first)])
    index.update()
    assert index.search("secret", 10) == []
    assert len(index.search("morning", 10)) == 3
    # Nor does it lie in the file.
    assert b"a secret" not in index.path.read_bytes()


def test_the_index_file_holds_no_trigram_of_deleted_messages(index: Index, mine: Archive) -> None:
    mine.store([first := stored_message("жщъы", 20)])
    index.update()
    assert "жщъ".encode() in index.path.read_bytes()
    mine.store([deletion(first)])
    index.update()
    assert "жщъ".encode() not in index.path.read_bytes()


def test_replaced_versions_leave_the_index_if_history_is_off(tmp_path: Path) -> None:
    mine = archive(keep_history=False)
    index = Index(mine, tmp_path)
    mine.store([first := stored_message("first version", 1)])
    index.update()
    mine.store([edit(first, "second version")])
    index.update()
    assert texts(index.search("version", 10)) == ["second version"]


def test_a_conversation_removed_from_the_archive_leaves_the_index(index: Index, mine: Archive) -> None:
    emptied = Index(replace(mine, home=MemoryHome()), index.path.parent)
    emptied.update()
    assert emptied.path == index.path
    assert emptied.search("morning", 10) == []


def test_no_chunk_of_an_unchanged_conversation_is_read(index: Index, mine: Archive) -> None:
    home = Watched(mine.home, Points())
    watched = Index(replace(mine, home=home), index.path.parent)
    watched.update()
    lists = {mine.filing.root, *(conversation_key(mine.filing.root, each) for each in mine.conversations())}
    assert (set(home.read), len(home.read)) == (lists, len(lists))
    mine.store([stored_message("new", 30)])
    home.read.clear()
    watched.update()
    carol = conversation_key(mine.filing.root, "carol.eth")
    assert home.read.count(carol) == 1
    assert len(home.read) == len(lists) + 2  # alice.eth's list once more, and her only chunk


def test_only_the_owner_can_read_the_index(index: Index) -> None:
    assert stat.S_IMODE(index.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(index.path.parent.stat().st_mode) == 0o700


def test_a_removed_index_is_created_again(index: Index) -> None:
    assert index.drop()
    assert list(index.path.parent.iterdir()) == []
    assert not index.drop()
    index.update()
    assert len(index.search("morning", 10)) == 2


def test_a_file_that_is_not_an_index_is_replaced(index: Index) -> None:
    index.path.write_bytes(b"no database" * 1000)
    index.update()
    assert len(index.search("morning", 10)) == 2


def test_an_index_of_another_version_is_replaced(index: Index) -> None:
    database = sqlite3.connect(index.path)
    database.execute("PRAGMA user_version = 999")
    database.execute("UPDATE messages SET text = 'wrong'")
    database.commit()
    database.close()
    index.update()
    assert texts(index.search("deal", 10)) == ["🤝 deal"]


def test_an_interrupted_update_is_continued(mine: Archive, tmp_path: Path) -> None:
    class Stopped(MemoryHome):
        def get(self, key: str) -> Any:
            if key == conversation_key(mine.filing.root, "carol.eth"):
                raise KeyboardInterrupt
            return mine.home.get(key)

    with pytest.raises(KeyboardInterrupt):
        Index(replace(mine, home=Stopped()), tmp_path).update()
    index = Index(mine, tmp_path)
    index.update()
    assert len(index.search("morning", 10)) == 2


def test_two_processes_may_update_the_index_at_once(index: Index, mine: Archive) -> None:
    mine.store([stored_message("new", 30)])
    other = Index(mine, index.path.parent)

    class Meanwhile(MemoryHome):
        def get(self, key: str) -> Any:
            found = mine.home.get(key)
            other.update()
            return found

    Index(replace(mine, home=Meanwhile()), index.path.parent).update()
    assert texts(index.search("new", 10)) == ["new"]


def test_a_conversation_is_indexed_by_one_process_at_a_time(
    index: Index, mine: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked: list[str] = []
    real = index_module._hits

    def hits(*given: Any) -> Any:
        with pytest.raises(sqlite3.OperationalError, match="locked") as caught:
            Index(mine, index.path.parent).update()
        locked.append(str(caught.value))
        return real(*given)

    monkeypatch.setattr(index_file_module, "_WAIT_SECONDS", 0)
    monkeypatch.setattr(index_module, "_hits", hits)
    mine.store([stored_message("new", 30)])
    index.update()
    assert len(locked) == 1


def test_a_damaged_conversation_is_reported(index: Index, mine: Archive) -> None:
    mine.home.delete(conversation_key(mine.filing.root, ALICE))
    with pytest.raises(ContainerError, match="missing"):
        index.update()


def test_a_message_that_the_owner_sent_is_the_owners(index: Index, mine: Archive) -> None:
    mine.store([replace(NLWEB, id="sent", receipt='{"sent": true}', envelope='{"Body":{"Text":"zebra"}}')])
    index.update()
    assert [(hit.partner, hit.author) for hit in index.search("zebra", 10)] == [("b.com", mine.owner)]
    assert scan(mine, "zebra", 10) == index.search("zebra", 10)
