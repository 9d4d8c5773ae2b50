"""Files of UnixFS, one block or a tree of them, and names in directories, read from hashed blocks.

UnixFS (specs.ipfs.tech/unixfs) in dag-pb (ipld.io/specs/codecs/dag-pb), or raw blocks. Not read are HAMTs, symbolic
links and metadata. All that is found wrong here was hashed, so it is what the CID names; only a block that is not
there may come from another gateway.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from postroom.names.ipfs.car import MAX_BLOCKS
from postroom.names.ipfs.cid import RAW, Cid
from postroom.names.ipfs.errors import IpfsError, UnreadableFileError
from postroom.names.ipfs.wire import read_message

MAX_FILE_BYTES: Final = 65_536
MAX_LEVELS: Final = 8
"""Of a file's blocks, the root and the leaves among them."""

# Tags of fields (`read_message`): of dag-pb's PBNode and PBLink, and of UnixFS's Data.
_NODE_DATA, _NODE_LINK = 0x0A, 0x12
_NODE: Final = bytes((_NODE_DATA,))
_LINK_HASH, _LINK_NAME, _LINK_TSIZE = 0x0A, 0x12, 0x18
_NOT_REPEATED: Final = 0
_LINK: Final = bytes((_LINK_HASH, _LINK_NAME, _LINK_TSIZE))
_TYPE, _DATA, _FILESIZE, _BLOCKSIZE = 0x08, 0x12, 0x18, 0x20
_HASH_TYPE, _FANOUT, _MODE, _MTIME = 0x28, 0x30, 0x38, 0x42
_UNIXFS: Final = bytes((_TYPE, _DATA, _FILESIZE, _HASH_TYPE, _FANOUT, _MODE, _MTIME))

_OLD_LEAF, _DIRECTORY, _FILE = 0, 1, 2
_KINDS: Final = ("a leaf", "a directory", "a file", "metadata", "a symbolic link", "a HAMT, a directory in parts")


class _Node(NamedTuple):
    """A dag-pb block. `kind`: a DataType of UnixFS; `links`: a CID in binary form and a name each; sizes in bytes."""

    kind: int
    data: bytes
    file_size: int
    sizes: list[int]
    links: list[tuple[bytes, bytes]]

    def __str__(self) -> str:
        return _KINDS[self.kind] if self.kind < len(_KINDS) else f"of the unknown type {self.kind}"


def read_file(cid: Cid, names: Sequence[str], blocks: Mapping[bytes, bytes]) -> bytes:
    """The content of the file that a CID names, or that a path of names leads to from it.

    `blocks`: by their SHA-256, which was checked. Raises IpfsError if one is not there; UnreadableFileError for what
    is no file, contradicts itself, or is beyond `MAX_FILE_BYTES`, `MAX_LEVELS` or `MAX_BLOCKS`.
    """
    for name in names:
        cid = _entry(cid, name, blocks)
    file = _File(blocks, MAX_BLOCKS - len(names))
    file.read(cid, 1)
    return b"".join(file.pieces)


def _entry(cid: Cid, name: str, blocks: Mapping[bytes, bytes]) -> Cid:
    """What a directory has under this name: the first, if there are several (UnixFS, "Directory Path Resolution")."""
    if cid.codec == RAW:
        raise UnreadableFileError(f"the path goes on below {cid}, a raw block")
    node = _node(cid, blocks)
    if node.kind != _DIRECTORY:
        raise UnreadableFileError(f"the path goes on below {cid}: it is {node}, not a plain directory")
    wanted = name.encode()
    for target, entry in node.links:
        if entry == wanted:
            return _target(target, cid)
    raise UnreadableFileError(f"there is no such name in the directory {cid}")


class _File:
    """A file that is being read. `left`: the blocks that it may still have, each as often as it is linked to."""

    def __init__(self, blocks: Mapping[bytes, bytes], left: int) -> None:
        self._blocks = blocks
        self._left = left
        self._length = 0
        self.pieces: list[bytes] = []

    def read(self, cid: Cid, level: int) -> int:
        """Add the content of a block and of those below it to `pieces`; the length of that in bytes."""
        if level > MAX_LEVELS:
            raise UnreadableFileError(f"the file has more than {MAX_LEVELS} levels of blocks")
        if self._left <= 0:
            raise UnreadableFileError(f"the file, with the directories above it, has more than {MAX_BLOCKS} blocks")
        self._left -= 1
        if cid.codec == RAW:
            return self._add(_block(cid, self._blocks))
        node = _node(cid, self._blocks)
        if node.kind not in (_FILE, _OLD_LEAF):
            raise UnreadableFileError(f"{cid} is {node}, not a file")
        if len(node.links) != len(node.sizes):
            raise UnreadableFileError(f"{cid} has {len(node.links)} links and {len(node.sizes)} sizes of their targets")
        length = self._add(node.data)
        for (target, name), size in zip(node.links, node.sizes, strict=True):
            if name:
                raise UnreadableFileError(f"a part of the file {cid} has a name")
            part = self.read(_target(target, cid), level + 1)
            if part != size:
                raise UnreadableFileError(f"a part of {cid} is said to have {size} bytes, and has {part}")
            length += part
        if length != node.file_size:
            raise UnreadableFileError(f"{cid} is said to have {node.file_size} bytes, and has {length}")
        return length

    def _add(self, data: bytes) -> int:
        self._length += len(data)
        if self._length > MAX_FILE_BYTES:
            raise UnreadableFileError(f"the file has more than {MAX_FILE_BYTES:,} bytes")
        self.pieces.append(data)
        return len(data)


def _block(cid: Cid, blocks: Mapping[bytes, bytes]) -> bytes:
    block = blocks.get(cid.digest)
    if block is None:
        raise IpfsError(f"the answer lacks the block {cid}")
    return block


def _target(link: bytes, cid: Cid) -> Cid:
    try:
        return Cid.from_bytes(link)
    except ValueError as error:
        raise UnreadableFileError(f"a link of {cid}: {error}") from None


def _node(cid: Cid, blocks: Mapping[bytes, bytes]) -> _Node:
    try:
        return _read_node(_block(cid, blocks))
    except ValueError as error:
        raise UnreadableFileError(f"{cid} is no block of UnixFS: {error}") from None


def _read_node(block: bytes) -> _Node:
    """Raises ValueError."""
    node, links = read_message(block, _NODE, _NODE_LINK)
    unixfs, sizes = read_message(node.get(_NODE_DATA, b""), _UNIXFS, _BLOCKSIZE)
    if _TYPE not in unixfs:
        raise ValueError("it has no type")
    targets = [_read_link(link) for link in links]
    return _Node(unixfs[_TYPE], unixfs.get(_DATA, b""), unixfs.get(_FILESIZE, 0), sizes, targets)


def _read_link(data: bytes) -> tuple[bytes, bytes]:
    """The CID and the name of a link. Raises ValueError."""
    link, _ = read_message(data, _LINK, _NOT_REPEATED)
    if _LINK_HASH not in link:
        raise ValueError("a link has no CID")
    return link[_LINK_HASH], link.get(_LINK_NAME, b"")
