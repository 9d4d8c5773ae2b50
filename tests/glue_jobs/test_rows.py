"""Lines as rows of Spark, and back."""

from random import Random

import pyarrow as pa
from glue_jobs.compact_chunks import LINES, ORDER, batches_of, kept_in
from hypothesis import given
from hypothesis import strategies as st

from postroom.jobs.past_lines import PastLines
from postroom.jobs.pieces import PIECE_BYTES
from postroom.storage.layout import RowKey
from postroom.storage.mail.chunks import ChunkLine


def a_line(row: int, source: str, size: int) -> ChunkLine:
    """One of a few rows, in an object."""
    data = Random(f"{row} {source}").randbytes(size)
    return ChunkLine(RowKey("shop.example#0", f"m#000000000000{row}#{row:032x}"), "a.example", source, row, data)


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 3), st.sampled_from(["seg/1", "seg/2", "chk/1"])),
        st.integers(1, 3 * PIECE_BYTES),
        max_size=6,
    ),
    st.randoms(use_true_random=False),
)
def test_rows_of_any_order_give_the_same_sorted_lines_and_evidence(
    sizes: dict[tuple[int, str], int], random: Random
) -> None:
    lines = [a_line(row, source, size) for (row, source), size in sizes.items()]
    known = PastLines("seg/1", 7, b"past", 900)
    rows = [row for batch in batches_of([*lines, known]) for row in batch.to_pylist()]
    random.shuffle(rows)
    rows.sort(key=lambda row: tuple(row[name] for name in ORDER))
    passed: list[PastLines] = []
    found = list(kept_in([pa.RecordBatch.from_pylist(rows, LINES)], passed))
    assert found == sorted(lines, key=lambda line: (line.order, line.source))
    assert passed == [known]
