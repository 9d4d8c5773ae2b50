"""A long line crosses Spark in pieces, and is put together again or not at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.core.errors import OurError
from postroom.jobs.pieces import PIECE_BYTES, Joining, pieces_of

LONG = bytes(range(256)) * (PIECE_BYTES // 128) + b"end"
"""Two pieces and a bit."""


@pytest.mark.parametrize(
    ("size", "pieces"), [(1, 1), (PIECE_BYTES, 1), (PIECE_BYTES + 1, 2), (5 * PIECE_BYTES, 5), (5 * PIECE_BYTES + 1, 6)]
)
def test_no_piece_exceeds_the_limit(size: int, pieces: int) -> None:
    found = [len(piece) for piece in pieces_of(bytes(size))]
    assert (len(found), sum(found), max(found)) == (pieces, size, min(size, PIECE_BYTES))


@given(st.lists(st.integers(1, 3 * PIECE_BYTES), max_size=6))
def test_lines_of_any_length_are_unchanged(sizes: list[int]) -> None:
    lines = [bytes([number]) * size for number, size in enumerate(sizes)]
    joining, found = Joining(), []
    for number, line in enumerate(lines):
        for part, piece in enumerate(pieces_of(line)):
            if whole := joining.add(number, part, len(line), piece):
                found.append(whole)
    joining.done()
    assert found == lines


@pytest.mark.parametrize("parts", [[1], [0, 2], [0, 0], [0, 1]])
def test_a_line_of_which_a_piece_is_missing_is_not_put_together(parts: list[int]) -> None:
    pieces, joining = list(pieces_of(LONG)), Joining()

    def join() -> None:
        for part in parts:
            assert joining.add("line", part, len(LONG), pieces[part]) is None
        joining.done()

    with pytest.raises(OurError, match="came apart"):
        join()


def test_no_piece_of_another_line_comes_between() -> None:
    first, second, _ = pieces_of(LONG)
    joining = Joining()
    joining.add("line", 0, len(LONG), first)
    with pytest.raises(OurError, match="came apart at another"):
        joining.add("another", 1, len(LONG), second)
    joining = Joining()
    joining.add("line", 0, len(LONG), first)
    with pytest.raises(OurError, match="came apart at another"):
        joining.add("another", 0, 5, b"short")


def test_a_line_that_is_longer_than_it_was_is_not_put_together() -> None:
    first, second, _ = pieces_of(LONG)
    joining = Joining()
    joining.add("line", 0, PIECE_BYTES + 1, first)
    with pytest.raises(OurError, match="came apart"):
        joining.add("line", 1, PIECE_BYTES + 1, second)
