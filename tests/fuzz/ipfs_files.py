"""Fuzzing of files of IPFS: CARs of any bytes, blocks of any bytes, and URIs of any text."""

from typing import Final

from tests.fuzz.entry import Entry, fuzzed, text_of
from tests.names.ipfs.known import ANSWERS, IPFS, answer
from tests.names.ipfs.trees import (
    FILE,
    block,
    car_of,
    is_as_before_or_of_this_answer,
    leaf,
    link,
    node,
    outcome,
    unixfs,
)

from postroom.names.ipfs.car import MAX_CAR_BYTES, read_blocks
from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.errors import IpfsError, UnreadableFileError
from postroom.names.ipfs.unixfs import MAX_FILE_BYTES, read_file
from postroom.names.ipfs.uri import MAX_NAMES, IpfsUri

URIS: Final = {name: IpfsUri.parse(known.uri) for name, known in ANSWERS.items()}
FILES: Final = {name: read_file(*URIS[name], read_blocks(known.car)) for name, known in ANSWERS.items()}
REFUSED: Final = tuple(answer(case).car for case in IPFS["refused"].values())


@fuzzed(
    "names.ipfs.car",
    seeds=(*(known.car for known in ANSWERS.values()), *REFUSED, car_of([])),
    max_bytes=MAX_CAR_BYTES + 1,
)
def ipfs_cars(data: bytes) -> None:
    """A CAR of any bytes: for each CID the one file that it names, or that this answer is not it; no other error."""
    for name, (cid, names) in URIS.items():
        found = outcome(lambda cid=cid, names=names: read_file(cid, names, read_blocks(data)))
        assert is_as_before_or_of_this_answer(found, FILES[name])


KNOWN: Final = {digest: data for known in ANSWERS.values() for digest, data in read_blocks(known.car).items()}
HELLO: Final = leaf(b"hello")
ROOTS: Final = (
    *(KNOWN[uri.cid.digest] for uri in URIS.values()),
    node(unixfs(FILE, b"Oh: ", 14, (5, 5)), [link(HELLO.cid)] * 2),
)


@fuzzed("names.ipfs.unixfs", "names.ipfs.wire", "names.ipfs.cid", seeds=ROOTS, max_bytes=MAX_CAR_BYTES)
def ipfs_blocks(data: bytes) -> None:
    """A block of any bytes that hashes: a file within its bound, or an error; twice in a file, its content twice."""
    root = block(data)
    cid = Cid.from_bytes(root.cid)
    blocks = KNOWN | {HELLO.cid[-32:]: HELLO.data, cid.digest: data}
    found = outcome(lambda: read_file(cid, (), blocks))
    named = outcome(lambda: read_file(cid, ("profile.json",), blocks))
    assert isinstance(found, IpfsError) or isinstance(named, IpfsError), "a file and a directory"
    if isinstance(found, bytes):
        assert len(found) <= MAX_FILE_BYTES
        part = root._replace(size=len(found))
        twice = block(node(unixfs(FILE, None, 2 * part.size, (part.size,) * 2), [link(part.cid)] * 2))
        again = outcome(lambda: read_file(Cid.from_bytes(twice.cid), (), blocks | {twice.cid[-32:]: twice.data}))
        assert again == found * 2 or isinstance(again, UnreadableFileError)


TEXTS: Final = (
    *(known.uri for known in ANSWERS.values()),
    *IPFS["uris_refused"],
    f"{ANSWERS['v1_directory'].uri}/%C3%A9",
)


@fuzzed("names.ipfs.uri", "names.ipfs.cid", seeds=tuple(uri.encode() for uri in TEXTS))
def ipfs_uris(data: bytes) -> None:
    """A URI of any text is read, or refused; its CID is the same in its usual form, and so are its names."""
    try:
        cid, names = IpfsUri.parse(text_of(data))
    except UnreadableFileError:
        return
    assert Cid.parse(str(cid)) == cid
    assert len(names) <= MAX_NAMES
    assert not {"", ".", ".."}.intersection(names)
    escaped = "/".join("".join(f"%{byte:02x}" for byte in name.encode()) for name in names)
    assert IpfsUri.parse(f"ipfs://{cid}/{escaped}" if names else f"ipfs://{cid}") == (cid, names)


ENTRIES: tuple[Entry, ...] = (ipfs_cars, ipfs_blocks, ipfs_uris)
