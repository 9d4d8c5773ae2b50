"""Benchmark `names`: what it takes to look names up and to prove what was found, compared with the bare work."""

from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from random import Random
from typing import Final

from benchmarks.harness import Benchmark, Effort, Table, marked, ratios
from tests.names.ipfs.trees import Tree, car_of, file_of

from postroom.names.ipfs.car import MAX_BLOCKS, read_blocks
from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.unixfs import MAX_FILE_BYTES, read_file

NOTES = f"""\
A file of IPFS of {MAX_FILE_BYTES:,} bytes, the largest that is read, from the CAR of a gateway: each block is hashed,
and the file is put together. The first row is SHA-256 of the same bytes, and nothing else. The goals are 2 × for one
block and 15 × for {MAX_BLOCKS}, the most that are read.
"""

_LEAVES: Final = MAX_BLOCKS - 1
"""With the root above them."""


def measure(effort: Effort) -> Sequence[Table]:
    """The table of files of IPFS."""
    data = Random(1).randbytes(MAX_FILE_BYTES)
    one, many = file_of(data, MAX_FILE_BYTES), file_of(data, -(-MAX_FILE_BYTES // _LEAVES))
    reads = [partial(_read, Cid.from_bytes(tree.root.cid), _car(tree)) for tree in (one, many)]
    _, of_one, of_many = ratios([lambda: sha256(data).digest(), *reads], effort)
    rows = (
        ("SHA-256 of the file", "1.00 ×"),
        (f"the file in {len(one.blocks)} block", marked(of_one, reached=of_one <= 2)),
        (f"the file in {len(many.blocks)} blocks", marked(of_many, reached=of_many <= 15)),
    )
    return [Table("Files of IPFS", ("way", "ratio"), rows)]


def _car(tree: Tree) -> bytes:
    return car_of(tree.blocks, [tree.root.cid])


def _read(cid: Cid, car: bytes) -> bytes:
    return read_file(cid, (), read_blocks(car))


BENCHMARK = Benchmark("names", "Names", NOTES, measure)
