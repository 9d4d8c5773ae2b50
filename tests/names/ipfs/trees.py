"""A writer of UnixFS and of CARs, of its own: it writes also what no importer would."""

from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from postroom.names.ipfs.errors import IpfsError

RAW, DAG_PB = 0x55, 0x70
OLD_LEAF, DIRECTORY, FILE, METADATA, SYMLINK, HAMT = range(6)
HEADER_END: Final = b"\x67version\x01"


class Block(NamedTuple):
    """A block. `cid`: in its binary form; `size`: bytes of the file that it holds, itself and by its links."""

    cid: bytes
    data: bytes
    size: int


class Tree(NamedTuple):
    """The blocks of a file or a directory, the root first."""

    blocks: list[Block]

    @property
    def root(self) -> Block:
        return self.blocks[0]

    @property
    def by_digest(self) -> dict[bytes, bytes]:
        return {block.cid[-32:]: block.data for block in self.blocks}


def varint(number: int) -> bytes:
    if number < 0x80:
        return bytes([number])
    return bytes([number & 0x7F | 0x80]) + varint(number >> 7)


def number(field: int, value: int) -> bytes:
    """A field of protobuf that is a number."""
    return varint(field << 3) + varint(value)


def content(field: int, value: bytes) -> bytes:
    """A field of protobuf that has a length."""
    return varint(field << 3 | 2) + varint(len(value)) + value


def block(data: bytes, size: int = 0, codec: int = DAG_PB, version: int = 1) -> Block:
    prefix = b"\x12\x20" if version == 0 else bytes([1, codec, 0x12, 0x20])
    return Block(prefix + sha256(data).digest(), data, size)


def unixfs(kind: int, data: bytes | None = None, size: int | None = None, sizes: Iterable[int] = ()) -> bytes:
    return b"".join((
        number(1, kind),
        b"" if data is None else content(2, data),
        b"" if size is None else number(3, size),
        *(number(4, each) for each in sizes),
    ))  # fmt: skip


def link(target: bytes, name: str | None = "", tree_size: int = 0) -> bytes:
    return content(1, target) + (b"" if name is None else content(2, name.encode())) + number(3, tree_size)


def node(data: bytes, links: Sequence[bytes] = ()) -> bytes:
    """A dag-pb block, its links before its data."""
    return b"".join(content(2, each) for each in links) + content(1, data)


def leaf(data: bytes, kind: int | None = None, version: int = 1) -> Block:
    """A leaf: a raw block, or of this kind of UnixFS."""
    if kind is None:
        return block(data, len(data), RAW)
    return block(node(unixfs(kind, data, len(data))), len(data), version=version)


def parent(children: Sequence[Block], data: bytes = b"", version: int = 1) -> Block:
    """A part of a file: its own data, and then that of its children."""
    size = len(data) + sum(child.size for child in children)
    said = unixfs(FILE, data or None, size, (child.size for child in children))
    return block(node(said, [link(child.cid) for child in children]), size, version=version)


def file_of(data: bytes, chunk: int, links: int = 174, kind: int | None = None, version: int = 1) -> Tree:
    """A balanced tree, as all importers build it. `chunk`: bytes in a leaf; `links`: of a block, at most."""
    level = [leaf(data[at : at + chunk], kind, version) for at in range(0, len(data) or 1, chunk)]
    blocks = level
    while len(level) > 1:
        level = [parent(level[at : at + links], version=version) for at in range(0, len(level), links)]
        blocks = level + blocks
    return Tree(blocks)


def directory(entries: Sequence[tuple[str, Tree]], version: int = 1) -> Tree:
    links = [link(tree.root.cid, name) for name, tree in entries]
    root = block(node(unixfs(DIRECTORY), links), version=version)
    return Tree([root, *(each for _, tree in entries for each in tree.blocks)])


def car_of(blocks: Iterable[Block], roots: Sequence[bytes] = (), header_end: bytes = HEADER_END) -> bytes:
    """A CAR of version 1 with these blocks in this order."""
    links = b"".join(b"\xd8\x2a\x58" + bytes([len(root) + 1]) + b"\0" + root for root in roots)
    header = b"\xa2\x65roots" + bytes([0x80 + len(roots)]) + links + header_end
    return b"".join((section(header), *(section(each.cid + each.data) for each in blocks)))


def section(data: bytes) -> bytes:
    return varint(len(data)) + data


def outcome(read: Callable[[], bytes]) -> bytes | IpfsError:
    """What was read, or why it was not."""
    try:
        return read()
    except IpfsError as error:
        return error


def is_as_before_or_of_this_answer(outcome: bytes | IpfsError, before: bytes) -> bool:
    """Whether it is the same file, or an error that another gateway's answer may not have.

    Nothing that was not hashed may be said to be what a CID names.
    """
    return outcome == before or type(outcome) is IpfsError
