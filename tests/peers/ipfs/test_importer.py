"""Files that other software adds to IPFS, in blocks of any size and trees of any form: ours reads them as they were."""

from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.names.ipfs.trees import is_as_before_or_of_this_answer, outcome
from tests.peers.node import Reference, packages, required

from postroom.names.ipfs.car import MAX_BLOCKS, MAX_CAR_BYTES, read_blocks
from postroom.names.ipfs.errors import IpfsError
from postroom.names.ipfs.unixfs import MAX_FILE_BYTES, read_file
from postroom.names.ipfs.uri import IpfsUri
from postroom.names.publishing import cid_of

HERE: Final = Path(__file__).parent
PACKAGES: Final = packages("peers-ipfs", HERE)
LAYOUTS: Final = ("balanced", "flat", "trickle")


class Added(NamedTuple):
    """The URI of a file, and the CAR of its blocks."""

    uri: IpfsUri
    car: bytes

    def read(self) -> bytes:
        return read_file(self.uri.cid, self.uri.names, read_blocks(self.car))


class Importer:
    """ipfs-unixfs-importer, and @ipld/car."""

    def __init__(self, node: Reference) -> None:
        self._node = node

    def add(
        self,
        content: bytes,
        path: str = "a",
        *,
        version: int = 1,
        raw_leaves: bool = True,
        reduced: bool = True,
        chunk: int = 262_144,
        layout: str = "balanced",
        children: int = 174,
    ) -> Added:
        """The file `path`, in a directory if there are two names."""
        how = {
            "version": version, "rawLeaves": raw_leaves, "reduced": reduced, "chunkSize": chunk, "layout": layout,
            "children": children,
        }  # fmt: skip
        said = self._node.call("add", b64encode(content).decode(), path, how)
        _, _, within = path.partition("/")
        return Added(IpfsUri.parse(f"ipfs://{said['cid']}" + (f"/{within}" if within else "")), b64decode(said["car"]))


@pytest.fixture(scope="module")
def importer() -> Iterator[Importer]:
    with Reference(required(PACKAGES, "the importer of IPFS"), HERE / "peer.js") as node:
        yield Importer(node)


@given(
    st.binary(max_size=300).flatmap(lambda data: st.integers(0, 200).map(lambda times: data * times)),
    st.sampled_from((0, 1)),
    st.booleans(),
    st.booleans(),
    st.integers(1, MAX_BLOCKS),
    st.sampled_from(LAYOUTS),
    st.integers(2, 20),
    st.sampled_from(("a", "d/profile.json")),
)
@settings(
    max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
def test_a_file_is_read_whatever_its_chunks_links_layout_and_leaves(
    importer: Importer,
    content: bytes,
    version: int,
    raw_leaves: bool,
    reduced: bool,
    leaves: int,
    layout: str,
    children: int,
    path: str,
) -> None:
    added = importer.add(
        content, path, version=version, raw_leaves=raw_leaves and version == 1, reduced=reduced,
        chunk=-(-len(content) // leaves) or 1, layout=layout, children=children,
    )  # fmt: skip
    found = outcome(added.read)
    if isinstance(found, IpfsError):
        # Only a file of too many blocks or levels is not read.
        assert any(word in str(found) for word in ("blocks", "levels"))
        assume(False)
    assert found == content
    changed = bytearray(added.car)
    changed[len(changed) // 2] ^= 1
    again = outcome(Added(added.uri, bytes(changed)).read)
    assert is_as_before_or_of_this_answer(again, content)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_largest_file_is_read_in_as_many_blocks_as_may_be(importer: Importer, layout: str) -> None:
    content = bytes(range(256)) * (MAX_FILE_BYTES // 256)
    for leaves in (1, MAX_BLOCKS - 4):
        added = importer.add(content, chunk=-(-MAX_FILE_BYTES // leaves), layout=layout, version=0, raw_leaves=False)
        assert len(added.car) <= MAX_CAR_BYTES
        assert added.read() == content


def test_a_small_file_has_the_cid_that_we_publish(importer: Importer) -> None:
    for content in (b"", b"{}", bytes(MAX_FILE_BYTES)):
        assert importer.add(content).uri.cid == cid_of(content)
