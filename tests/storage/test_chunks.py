"""Lines that come in order become chunks: none lost, none twice, none too large."""

from collections.abc import Sequence
from itertools import groupby, pairwise
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.storage.layout import row_key
from postroom.storage.mail import chunks
from postroom.storage.mail.chunks import ChunkLine, cut

FULL, ENOUGH = 100, 80
"""Small, so that examples have many chunks; the shape is that of the true ones."""


def kept(mailbox: str, conversation: str, number: int, size: int) -> ChunkLine:
    """A line that takes `size` bytes with its newline."""
    return ChunkLine(row_key(mailbox, 4, number, f"c{number}"), conversation, "seg/x", number, b"x" * (size - 1))


def in_order(lines: Sequence[ChunkLine]) -> list[ChunkLine]:
    return sorted(lines, key=lambda line: line.order)


def sizes(chunk: Sequence[ChunkLine]) -> int:
    return sum(len(line.data) + 1 for line in chunk)


LINES = st.lists(
    st.tuples(st.sampled_from(["a.com", "b.com"]), st.sampled_from(["x", "y", "z"]), st.integers(2, 130)), max_size=60
).map(lambda drawn: in_order([kept(*each[:2], number, each[2]) for number, each in enumerate(drawn)]))


@pytest.fixture(scope="module", autouse=True)
def small_chunks() -> object:
    with patch.multiple(chunks, FULL_BYTES=FULL, ENOUGH_BYTES=ENOUGH):
        yield


@given(LINES)
def test_cutting_into_chunks_loses_doubles_and_reorders_nothing(lines: list[ChunkLine]) -> None:
    assert [line for chunk in cut(lines) for line in chunk] == lines


@given(LINES)
def test_a_chunk_is_full_at_most_unless_it_is_a_single_line(lines: list[ChunkLine]) -> None:
    assert all(sizes(chunk) <= FULL or len(chunk) == 1 for chunk in cut(lines))


@given(LINES)
def test_a_chunk_ends_only_when_it_is_large_enough_or_full(lines: list[ChunkLine]) -> None:
    for chunk, following in pairwise(cut(lines)):
        ends_with_a_conversation = chunk[-1].order[:2] != following[0].order[:2]
        assert sizes([*chunk, following[0]]) > FULL or (sizes(chunk) >= ENOUGH and ends_with_a_conversation)


@given(LINES)
def test_a_conversation_is_split_only_where_a_chunk_is_full(lines: list[ChunkLine]) -> None:
    for chunk, following in pairwise(cut(lines)):
        if chunk[-1].order[:2] == following[0].order[:2]:
            assert sizes([*chunk, following[0]]) > FULL


@given(LINES)
def test_a_small_conversation_is_in_two_chunks_at_most(lines: list[ChunkLine]) -> None:
    chunks = list(cut(lines))
    for conversation, its in groupby(lines, key=lambda line: line.order[:2]):
        if sizes(list(its)) <= FULL - ENOUGH:
            assert sum(any(line.order[:2] == conversation for line in chunk) for chunk in chunks) == 1


def test_lines_are_ordered_by_mailbox_conversation_time_and_id_across_shards() -> None:
    lines = [
        ChunkLine(row_key(mailbox, 8, at, claim), conversation, "seg/x", 0, b"")
        for mailbox in ("a.com", "b.com")
        for conversation in ("x", "y")
        for at in (9, 10)
        for claim in ("c1", "c2", "c3")
    ]
    assert len({line.row.pk for line in lines}) > 2
    assert in_order(lines[::-1]) == lines


def test_small_conversations_share_a_chunk() -> None:
    lines = in_order([kept(f"m{number}.com", "x", number, 2) for number in range(30)])
    assert [len(chunk) for chunk in cut(lines)] == [30]


def test_it_holds_one_chunk_at_a_time() -> None:
    taken = 0

    def lines() -> object:
        nonlocal taken
        for number in range(1000):
            taken += 1
            yield kept("a.com", "x", number, FULL // 2)

    chunks = cut(lines())  # type: ignore[arg-type]
    next(chunks)
    assert taken == 3
