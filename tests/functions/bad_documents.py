"""Senders whose profiles are documents under `https:` and `ipfs:`, and the hosts that serve them, well or badly.

MARK is in every URL, and in the path of every file. All profiles have the keys of SENDER.
"""

import json
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from tests.fakes.web import Answers, Page
from tests.functions.bad_dm3 import SENDER, profile
from tests.functions.bad_requests import MARK
from tests.names.ipfs.trees import HAMT, Block, Tree, block, car_of, directory, file_of, leaf, node, parent, unixfs

from postroom.core.reason import Reason
from postroom.names.ipfs.cid import Cid
from postroom.protocols.dm3.profile import MAX_URI_BYTES
from postroom.protocols.dm3.reasons import PROFILE_INVALID, PROFILE_LOOKUP_FAILED, PROFILE_URI_UNSUPPORTED

HOST, FIRST, SECOND = f"host-{MARK}.example", "first-gateway.example", "second-gateway.example"
GATEWAYS = ",".join(f"https://{host}" for host in (FIRST, SECOND))
ZONE = "@ A 127.0.0.1"
FILE = f"{MARK}.json"
NOTHING = Page(b"", 404)


class Published(NamedTuple):
    """A sender's profile. `text`: of the registry; `pages`: by host and path; `reason`: None if it is read."""

    what: str
    text: str
    pages: dict[tuple[str, str], Page]
    reason: Reason | None


@cache
def published() -> dict[str, Published]:
    """All of them, by the names of the senders."""
    makers = [*_at_urls(), *_in_ipfs()]
    return {f"{MARK}-{place}.eth": make(_document(place), f"/{place}") for place, make in enumerate(makers)}


def hosts() -> dict[str, Answers]:
    """The hosts that serve them."""
    pages = {place: page for each in published().values() for place, page in each.pages.items()}

    def answers(host: str) -> Answers:
        return lambda path: pages.get((host, path.partition("?")[0]), NOTHING)

    return {host: answers(host) for host in (HOST, FIRST, SECOND)}


Make = Callable[[bytes, str], Published]
"""Publishes a document, at a URL with this path if it is at one."""


def _document(place: int) -> bytes:
    # Each is another one: what is known by its hash is not fetched again.
    return json.dumps({**profile(SENDER), "place": place}).encode()


def _at_urls() -> Iterator[Make]:
    def at_url(
        what: str,
        reason: Reason | None,
        serve: Callable[[bytes], Page] = Page,
        url: str = "https://{host}{path}?dm3Hash={hash}",
        length: int = 0,
    ) -> Make:
        def make(written: bytes, path: str) -> Published:
            document = written.ljust(length)
            text = url.format(host=HOST, path=path, hash=sha256(document).hexdigest())
            return Published(f"https: {what}", text, {(HOST, path): serve(document)}, reason)

        return make

    wrong, unknown = PROFILE_INVALID, PROFILE_LOOKUP_FAILED
    yield at_url("the document that the hash says", None)
    yield at_url("65,536 bytes", None, length=MAX_URI_BYTES)
    yield at_url("a document with another hash", wrong, lambda document: Page(document[:-1] + b',"x":1}'))
    yield at_url("65,537 bytes", wrong, length=MAX_URI_BYTES + 1)
    yield at_url("10 MB", wrong, length=10 << 20)
    yield at_url("no hash", wrong, url="https://{host}{path}")
    yield at_url("a hash in the fragment", wrong, url="https://{host}{path}#dm3Hash={hash}")
    yield at_url("two hashes", wrong, url="https://{host}{path}?dm3Hash={hash}&dm3Hash={hash}")
    yield at_url("a hash of 31 bytes", wrong, url="https://{host}{path}?dm3Hash={hash:.62}")
    yield at_url("a port", wrong, url="https://{host}:8443{path}?dm3Hash={hash}")
    yield at_url("a user name", wrong, url="https://user:pw@{host}{path}?dm3Hash={hash}")
    yield at_url("the scheme http", wrong, url="http://{host}{path}?dm3Hash={hash}")
    yield at_url("404", wrong, lambda _: NOTHING)
    yield at_url("a redirect", wrong, lambda _: Page(b"", 301, (("Location", f"https://{HOST}/"),)))
    yield at_url("500", unknown, lambda document: Page(document, 500))
    yield at_url("a compressed answer", unknown, lambda document: Page(document, headers=(("Content-Encoding", "br"),)))
    yield at_url("a host that does not exist", unknown, url="https://none.{host}{path}?dm3Hash={hash}")


def _chain(levels: int, end: bytes) -> Tree:
    """A file of so many blocks, each below the one before."""
    blocks = [leaf(end)]
    for _ in range(levels - 1):
        blocks.insert(0, parent(blocks[:1]))
    return Tree(blocks)


def _cycle(document: bytes) -> Tree:
    """Blocks within each other, which no hash allows: they are of other CIDs."""
    one, other = leaf(document), leaf(document + b" ")
    return Tree([Block(one.cid, parent([other]).data, 2), Block(other.cid, parent([one]).data, 2)])


def _in_ipfs() -> Iterator[Make]:
    def in_ipfs(
        what: str,
        reason: Reason | None,
        build: Callable[[bytes], Tree] = lambda document: file_of(document, 100),
        car: Callable[[list[Block]], bytes] = car_of,
        names: tuple[str, ...] = (),
        second: bool = False,
    ) -> Make:
        """`second`: the second gateway serves the CAR as it should be."""

        def make(document: bytes, _: str) -> Published:
            tree = build(document)
            path = "/".join((str(Cid.from_bytes(tree.root.cid)), *names))
            pages = {(FIRST, f"/ipfs/{path}"): Page(car(tree.blocks))}
            if second:
                pages[SECOND, f"/ipfs/{path}"] = Page(car_of(tree.blocks))
            return Published(f"ipfs: {what}", f"ipfs://{path}", pages, reason)

        return make

    def of_text(what: str, text: str) -> Make:
        return lambda _document, _path: Published(f"ipfs: {what}", text, {}, PROFILE_URI_UNSUPPORTED)

    def within(document: bytes) -> Tree:
        return directory([(FILE, file_of(document, 100))])

    def changed(blocks: list[Block]) -> bytes:
        car = bytearray(car_of(blocks))
        car[-9] ^= 1
        return bytes(car)

    def hamt(document: bytes) -> Tree:
        return Tree([block(node(unixfs(HAMT, document)))])

    wrong, unknown = PROFILE_INVALID, PROFILE_LOOKUP_FAILED
    yield in_ipfs("a file of several blocks", None)
    yield in_ipfs("a file in a directory", None, within, names=(FILE,))
    yield in_ipfs("a CAR in another order", None, car=lambda blocks: car_of(reversed(blocks)))
    yield in_ipfs("a CAR with a changed bit", unknown, car=changed)
    yield in_ipfs("a CAR with a changed bit, which another gateway has right", None, car=changed, second=True)
    yield in_ipfs("a CAR that is cut", unknown, car=lambda blocks: car_of(blocks)[:-1])
    yield in_ipfs("the CAR of another file", unknown, car=lambda _: car_of([leaf(b"{}")]))
    yield in_ipfs("a CAR without its last block", unknown, car=lambda blocks: car_of(blocks[:-1]))
    yield in_ipfs("an HTML page", unknown, car=lambda _: b"<!doctype html>")
    yield in_ipfs("10 MB", unknown, car=lambda _: bytes(10 << 20))
    yield in_ipfs("10,000 blocks", unknown, lambda document: file_of(document * 50, 1))
    yield in_ipfs("100 levels", unknown, lambda document: _chain(100, document))
    yield in_ipfs("9 levels", wrong, lambda document: _chain(9, document))
    yield in_ipfs("blocks within each other", unknown, _cycle)
    yield in_ipfs("a directory", wrong, within)
    yield in_ipfs("a name that is not in the directory", wrong, within, names=(f"{MARK}.txt",))
    yield in_ipfs("a HAMT", wrong, hamt)
    yield in_ipfs(
        "a block beside 10,000 that nobody requested", unknown, lambda document: Tree([leaf(document)]),
        lambda blocks: car_of([*blocks, *(leaf(b"%d" % each) for each in range(10_000))]),
    )  # fmt: skip
    yield in_ipfs("65,537 bytes", wrong, lambda document: file_of(document.ljust(MAX_URI_BYTES + 1), 1100))
    yield in_ipfs("a file that is no JSON", wrong, lambda document: file_of(document[:-1], 100))
    for what, text in (
        ("a CID of DAG-CBOR", "ipfs://bafyreigaknpexyvxt76zgkitavbwx6ejgfheup5oybpm77f3pxzrvwpfdi"), ("no CID", "ipfs://"),
         ("a path in its place", "ipfs://../../etc/passwd"), ("a text", f"ipfs://{MARK}"),
    ):  # fmt: skip
        yield of_text(what, text)
