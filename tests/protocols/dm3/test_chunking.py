"""Which message goes into which chunk: dm3 §3.2.1; decision "Containers"."""

from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.protocols.dm3.stored_mail import AT, deletion, edit, stored_message, texts_of

from postroom.core.errors import SettingsError
from postroom.protocols.dm3.chunking import (
    DEFAULT_LIMIT_BYTES,
    MIN_LIMIT_BYTES,
    ConversationUpdate,
    batches,
    check_limit,
    choose_chunks,
    is_dead,
)
from postroom.protocols.dm3.containers import Chunk, ChunkIdentifier, ConversationChunks
from postroom.protocols.dm3.stored import Entry, StoredEnvelope, place

SIZE = len(stored_message("a").encode())
THREE = 3 * SIZE + 100
"""A limit of three messages."""


MESSAGES = st.builds(
    lambda number, at, longer: stored_message(f"{number}" + "x" * longer, at),
    st.integers(0, 30),
    st.integers(0, 30),
    st.sampled_from([0, 0, 0, SIZE, THREE]),
)


@dataclass
class ConversationStore:
    """A conversation and its chunks."""

    limit: int = THREE
    keep_history: bool = True
    conversation: ConversationChunks = field(default_factory=ConversationChunks)
    chunks: dict[ChunkIdentifier, Chunk] = field(default_factory=dict)

    def bring(self, *entries: Entry, read_all: bool = True) -> ConversationUpdate:
        last = self.conversation.chunks[-1:]
        read = self.chunks if read_all else {identifier: self.chunks[identifier] for identifier in last}
        update = choose_chunks(self.conversation, read, entries, limit_bytes=self.limit, keep_history=self.keep_history)
        self.conversation = update.conversation
        self.chunks |= update.chunks
        self.chunks = {identifier: self.chunks[identifier] for identifier in self.conversation.chunks}
        return update

    def texts_of(self) -> list[list[str]]:
        return [texts_of(chunk.entries) for chunk in self.chunks.values()]

    def identifiers(self) -> list[tuple[int, int]]:
        return [(identifier.id, identifier.timestamp_ms - AT) for identifier in self.conversation.chunks]


def test_the_first_chunk_is_0_and_named_by_its_first_message() -> None:
    store = ConversationStore()
    store.bring(stored_message("b", 7), stored_message("a", 5))
    assert store.identifiers() == [(0, 5)]
    assert store.texts_of() == [["a", "b"]]


def test_the_last_chunk_is_appended_to_until_it_would_pass_the_limit() -> None:
    store = ConversationStore()
    for number, text in enumerate("abcd"):
        store.bring(stored_message(text, number), read_all=False)
    assert store.texts_of() == [["a", "b", "c"], ["d"]]
    assert store.identifiers() == [(0, 0), (1, 3)]
    assert [chunk.is_full for chunk in store.chunks.values()] == [True, False]


def test_a_chunk_is_measured_in_the_bytes_of_its_text() -> None:
    limit = len(Chunk((stored_message("a"), stored_message("b", 1)), is_full=True).encode())
    store = ConversationStore(limit)
    store.bring(stored_message("a"), stored_message("b", 1))
    assert store.texts_of() == [["a", "b"]]
    store = ConversationStore(limit - 1)
    store.bring(stored_message("a"), stored_message("b", 1))
    assert store.texts_of() == [["a"], ["b"]]


def test_a_message_larger_than_the_limit_has_a_chunk_of_its_own() -> None:
    store = ConversationStore()
    store.bring(stored_message("a"), stored_message("x" * THREE, 1), stored_message("c", 2))
    assert [[text[0] for text in texts] for texts in store.texts_of()] == [["a"], ["x"], ["c"]]


def test_many_at_once_are_cut_by_time() -> None:
    store = ConversationStore()
    store.bring(*(stored_message(text, number) for number, text in enumerate("abcdefgh")))
    assert store.texts_of() == [["a", "b", "c"], ["d", "e", "f"], ["g", "h"]]
    assert store.conversation.ends_ms == (AT + 2, AT + 5)


def test_a_full_chunk_is_not_written_again() -> None:
    store = ConversationStore()
    store.bring(*(stored_message(text, number) for number, text in enumerate("abcd")))
    assert [identifier.id for identifier in store.bring(stored_message("e", 4)).chunks] == [1]


def test_a_late_message_moves_the_last_chunk_if_it_is_first_in_it() -> None:
    store = ConversationStore()
    store.bring(*(stored_message(text, 10 + number) for number, text in enumerate("abcd")))
    update = store.bring(stored_message("late", 1))
    assert store.texts_of() == [["a", "b", "c"], ["late", "d"]]
    assert store.identifiers() == [(0, 10), (1, 1)]
    assert update.conversation.discarded == (ChunkIdentifier(1, AT + 13),)


def test_a_late_message_in_between_moves_nothing() -> None:
    store = ConversationStore()
    store.bring(stored_message("a", 1), stored_message("c", 3))
    assert store.bring(stored_message("b", 2)).conversation.discarded == ()
    assert store.texts_of() == [["a", "b", "c"]]


@pytest.mark.parametrize(("pulls", "chunks"), [(1, 10), (15, 15), (30, 10)])
def test_back_dated_messages_have_no_chunk_each(pulls: int, chunks: int) -> None:
    store = ConversationStore()
    store.bring(*(stored_message(text, 100 + number) for number, text in enumerate("abc")))
    late = [stored_message("late", 30 - number) for number in range(30)]
    for begin in range(0, 30, 30 // pulls):
        store.bring(*late[begin : begin + 30 // pulls], read_all=False)
    # A pull of two finds room for one: a chunk is moved or filled, not both.
    assert len(store.chunks) == 1 + chunks
    assert all(texts_of(sorted(chunk.entries, key=place)) == texts_of(chunk.entries) for chunk in store.chunks.values())


def test_a_moved_chunk_is_reported_once() -> None:
    store = ConversationStore()
    store.bring(stored_message("b", 2))
    assert store.bring(stored_message("a", 1)).conversation.discarded
    assert store.bring(stored_message("c", 3)).conversation.discarded == ()


def test_a_repeated_message_is_stored_once() -> None:
    store = ConversationStore()
    store.bring(*(stored_message(text, number) for number, text in enumerate("abcd")))
    before = store.texts_of()
    assert not store.bring(stored_message("a", 0), stored_message("d", 3), stored_message("d", 3)).chunks
    assert store.texts_of() == before


def test_nothing_is_added_to_a_chunk_that_another_device_filled() -> None:
    identifier = ChunkIdentifier(4, AT + 1)
    chunk = Chunk((stored_message("a", 1), stored_message("b", 2)), is_full=True)
    store = ConversationStore(conversation=ConversationChunks((identifier,)), chunks={identifier: chunk})
    store.bring(stored_message("late", 0))
    assert store.texts_of() == [["a", "b"], ["late"]]
    assert store.identifiers() == [(4, 1), (5, 0)]
    assert store.conversation.ends_ms == (AT + 2,)


def test_a_delete_request_rewrites_a_full_chunk_with_a_tombstone() -> None:
    store = ConversationStore()
    store.bring(*(stored_message(text, number) for number, text in enumerate("abcd")))
    update = store.bring(deletion(stored_message("b", 1), 9))
    assert store.texts_of() == [["a", "† DELETE_REQUEST", "c"], ["d", ""]]
    assert sorted(identifier.id for identifier in update.chunks) == [0, 1]
    assert store.identifiers() == [(0, 0), (1, 3)]


@pytest.mark.parametrize(("keep_history", "kept"), [(True, "b"), (False, "† EDIT")])
def test_the_setting_decides_whether_an_edit_keeps_history(keep_history: bool, kept: str) -> None:
    store = ConversationStore(keep_history=keep_history)
    store.bring(*(stored_message(text, number) for number, text in enumerate("abcd")))
    store.bring(edit(stored_message("b", 1), "B", 9))
    assert store.texts_of() == [["a", kept, "c"], ["d", "B"]]


def test_a_late_message_is_stored_even_if_its_delete_request_came_first() -> None:
    store = ConversationStore()
    store.bring(deletion(stored_message("a", 1), 9))
    store.bring(stored_message("a", 1))
    assert store.texts_of() == [["† DELETE_REQUEST", ""]]


def test_a_chunk_begun_by_another_device_is_not_changed() -> None:
    others = {ChunkIdentifier(0, AT + 5), ChunkIdentifier(1, AT + 5)}
    update = choose_chunks(
        ConversationChunks(), {}, [stored_message("a", 5)], taken=others, limit_bytes=THREE, keep_history=True
    )
    assert update.conversation.chunks == (ChunkIdentifier(2, AT + 5),)


def test_a_chunk_that_another_device_is_moving_is_filled_instead() -> None:
    last = ChunkIdentifier(0, AT + 5)
    moved = ChunkIdentifier(0, AT + 1)
    chunk = Chunk((stored_message("b", 5),))
    brought = [stored_message("late", 1), stored_message("c", 6)]
    update = choose_chunks(
        ConversationChunks((last,)), {last: chunk}, brought, taken={moved}, limit_bytes=THREE, keep_history=True
    )
    assert update.conversation == ConversationChunks((last, ChunkIdentifier(1, AT + 1)), (AT + 6,))
    assert [(texts_of(chunk.entries), chunk.is_full) for chunk in update.chunks.values()] == [
        (["b", "c"], True),
        (["late"], False),
    ]


def test_a_chunk_is_moved_or_filled_but_not_both_at_once() -> None:
    store = ConversationStore()
    store.bring(stored_message("b", 5), stored_message("c", 6))
    store.bring(stored_message("late", 1), stored_message("d", 7), stored_message("e", 8))
    assert store.texts_of() == [["b", "c", "d"], ["late", "e"]]
    assert store.identifiers() == [(0, 5), (1, 1)]


@pytest.mark.parametrize(
    ("identifier", "dead"),
    [
        ((0, 5), False),  # listed
        ((0, 4), True),  # full chunks move no more
        ((1, 9), True),  # ids only grow
        ((2, 7), False),  # listed
        ((2, 8), True),  # of one id a chunk only ever begins earlier
        ((2, 6), False),  # a late message may move it there
        ((3, 0), False),  # the next one
    ],
)
def test_a_chunk_is_dead_if_it_can_never_be_listed_again(identifier: tuple[int, int], dead: bool) -> None:
    conversation = ConversationChunks((ChunkIdentifier(0, 5), ChunkIdentifier(2, 7)), (6,))
    assert is_dead(ChunkIdentifier(*identifier), conversation) is dead


@given(st.lists(MESSAGES, max_size=20))
def test_a_batch_begins_one_chunk_at_most(entries: list[StoredEnvelope]) -> None:
    parts = list(batches(entries, THREE))
    assert [entry for part in parts for entry in part] == sorted(entries, key=place)
    for part in parts:
        assert len(Chunk(tuple(part)).encode()) <= THREE or len(part) == 1
        store = ConversationStore()
        store.bring(stored_message("there"))
        store.bring(*part)
        assert len(store.chunks) <= 2


@pytest.mark.parametrize("limit", [MIN_LIMIT_BYTES, DEFAULT_LIMIT_BYTES, 10_000_000])
def test_a_chunk_has_room_for_every_message_and_10_mb_at_most(limit: int) -> None:
    check_limit(limit)


@pytest.mark.parametrize("limit", [MIN_LIMIT_BYTES - 1, 10_000_001, 0, -1])
def test_a_chunk_of_another_size_is_refused(limit: int) -> None:
    with pytest.raises(SettingsError, match="6000000 to 10000000"):
        check_limit(limit)


@given(st.lists(st.lists(MESSAGES, min_size=1, max_size=6), min_size=1, max_size=8))
def test_any_messages_in_any_order_are_stored_in_order(batches: list[list[StoredEnvelope]]) -> None:
    store = ConversationStore()
    for batch in batches:
        before, full = store.conversation, {i: c for i, c in store.chunks.items() if c.is_full}
        store.bring(*batch)
        conversation = store.conversation
        # What is full stays; of one id a chunk only ever begins earlier; ids are never used again.
        assert all(store.chunks[identifier] == chunk for identifier, chunk in full.items())
        for earlier, later in zip(before.chunks, conversation.chunks, strict=False):
            assert earlier.id == later.id
            assert later.timestamp_ms <= earlier.timestamp_ms
        assert set(conversation.discarded) == set(before.chunks) - set(conversation.chunks)
        assert [identifier.id for identifier in conversation.chunks] == list(range(len(conversation.chunks)))
    for identifier, chunk in store.chunks.items():
        assert chunk.entries[0].timestamp_ms == identifier.timestamp_ms
        assert all(place(one) < place(other) for one, other in pairwise(chunk.entries))
        assert len(chunk.encode()) <= THREE or len(chunk.entries) == 1
    *full_ones, last = store.chunks.values()
    assert all(chunk.is_full for chunk in full_ones)
    assert not last.is_full
    assert store.conversation.ends_ms == tuple(chunk.entries[-1].timestamp_ms for chunk in full_ones)
    stored = [entry.message_hash for chunk in store.chunks.values() for entry in chunk.entries]
    assert sorted(stored) == sorted({entry.message_hash for batch in batches for entry in batch})
