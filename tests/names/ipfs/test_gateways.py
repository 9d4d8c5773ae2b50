"""Files from gateways of IPFS, over TLS: whatever one of them answers, it is the file that the CID names, or none."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.fakes.web import FakeWeb, Page, fake_web
from tests.names.ipfs.known import ANSWERS, CASES, IPFS
from tests.names.ipfs.known import answer as known_answer
from tests.names.ipfs.trees import HAMT, Tree, block, car_of, directory, file_of, leaf, node, number, parent, unixfs
from tests.patience import PATIENCE

from postroom.core.errors import NotNowError
from postroom.names.ipfs.car import MAX_BLOCKS, MAX_CAR_BYTES
from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.errors import UnreadableFileError
from postroom.names.ipfs.gateways import IpfsGateways
from postroom.names.ipfs.uri import IpfsUri
from postroom.names.uris import read_gateways
from postroom.protocols.dm3.reasons import PROFILE_LOOKUP_FAILED

DATA = bytes(range(256)) * 10
FILE = file_of(DATA, 300)
HAMT_BLOCK = block(node(unixfs(HAMT, b"\1") + number(5, 0x22) + number(6, 256)))


@pytest.fixture
def web(tmp_path: Path) -> Iterator[FakeWeb]:
    with fake_web(tmp_path, {}) as running:
        yield running


def uri(tree: Tree, *names: str) -> IpfsUri:
    return IpfsUri(Cid.from_bytes(tree.root.cid), names)


def read(web: FakeWeb, file: IpfsUri, *cars: bytes | Page, seconds: float = PATIENCE) -> bytes:
    """The file, from gateways g0.example, g1.example, … that answer this."""
    pages = [car if isinstance(car, Page) else Page(car) for car in cars]
    web.pages.update({f"g{place}.example": page for place, page in enumerate(pages)})
    urls = tuple(f"https://g{place}.example" for place in range(len(pages)))
    return IpfsGateways(urls, web.client()).read(file, seconds)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if "content" in case or "path" in case])
def test_files_by_other_software_are_read(web: FakeWeb, name: str) -> None:
    said = ANSWERS[name]
    assert read(web, IpfsUri.parse(said.uri), said.car) == CASES[name]["content"].encode()


def test_a_car_with_the_blocks_of_the_path_and_the_file_is_requested_by_path_and_header(web: FakeWeb) -> None:
    tree = directory([("pro file?.json", FILE)])
    assert read(web, uri(tree, "pro file?.json"), car_of(tree.blocks)) == DATA
    [requested] = web.requested
    cid = Cid.from_bytes(tree.root.cid)
    assert requested.path == f"/ipfs/{cid}/pro%20file%3F.json?format=car&dag-scope=entity"
    assert requested.accept == "application/vnd.ipld.car; version=1; dups=n"


def test_a_gateway_may_be_below_a_path(web: FakeWeb) -> None:
    web.pages["g.example"] = Page(car_of(FILE.blocks))
    assert IpfsGateways(read_gateways("https://g.example/a/b/"), web.client()).read(uri(FILE), PATIENCE) == DATA
    assert web.requested[0].path.startswith("/a/b/ipfs/bafy")


def test_a_car_in_another_order_and_with_blocks_that_nobody_requested_is_read(web: FakeWeb) -> None:
    blocks = [leaf(b"not this"), *reversed(FILE.blocks), FILE.blocks[1]]
    assert read(web, uri(FILE), car_of(blocks, roots=[leaf(b"nor this").cid])) == DATA


def changed(car: bytes) -> bytes:
    return car[:-1] + bytes([car[-1] ^ 1])


CAR = car_of(FILE.blocks)
WRONG: dict[str, bytes | Page] = {
    "a changed bit": changed(CAR),
    "a CAR that is cut": CAR[:-1],
    "a CAR without its last block": car_of(FILE.blocks[:-1]),
    "a CAR without its root": car_of(FILE.blocks[1:]),
    "the CAR of another file": car_of([leaf(b"another")]),
    "10,000 blocks that nobody requested": car_of([*FILE.blocks, *(leaf(b"%d" % each) for each in range(10_000))]),
    "a CAR with one block too many": car_of([*FILE.blocks, *(leaf(b"%d" % each) for each in range(MAX_BLOCKS))]),
    "a CAR of version 2": car_of(FILE.blocks, header_end=b"\x67version\x02"),
    "an HTML page": b"<!doctype html><title>504</title>",
    "nothing": b"",
    "10 MB": bytes(10 << 20),
    "one byte more than a CAR may have": bytes(MAX_CAR_BYTES + 1),
    "the file itself": DATA,
    "a redirect": Page(b"", 301, (("Location", "https://g9.example/"),)),
    "a CAR with a redirect": Page(CAR, 302, (("Location", "https://g9.example/"),)),
    "404": Page(b"", 404),
    "410": Page(b"", 410),
    "429": Page(CAR, 429),
    "500": Page(b"", 500),
    "504": Page(CAR, 504),
    "a compressed answer": Page(CAR, 200, (("Content-Encoding", "gzip"),)),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_what_one_gateway_answers_wrongly_the_next_one_has(web: FakeWeb, wrong: bytes | Page) -> None:
    assert read(web, uri(FILE), wrong, CAR) == DATA
    assert web.hosts == ["g0.example", "g1.example"]


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_what_no_gateway_answers_rightly_is_not_known_now(web: FakeWeb, wrong: bytes | Page) -> None:
    with pytest.raises(NotNowError, match=r"no IPFS gateway gave the file: g0\.example.*; g1\.example") as caught:
        read(web, uri(FILE), wrong, wrong)
    assert caught.value.reason is PROFILE_LOOKUP_FAILED


@pytest.mark.parametrize("name", IPFS["refused"])
def test_answers_that_other_software_refuses_are_refused(web: FakeWeb, name: str) -> None:
    said = known_answer(IPFS["refused"][name])
    with pytest.raises((NotNowError, UnreadableFileError)):
        read(web, IpfsUri.parse(said.uri), said.car)


def test_a_gateway_that_does_not_exist_is_passed_over(web: FakeWeb) -> None:
    web.pages["there.example"] = Page(CAR)
    gateways = IpfsGateways(("https://gone.example", "https://there.example"), web.client())
    assert gateways.read(uri(FILE), PATIENCE) == DATA


def test_a_gateway_that_falls_silent_leaves_time_for_the_next(web: FakeWeb) -> None:
    silent = Page(CAR[:1000], length=len(CAR))
    assert read(web, uri(FILE), silent, CAR, seconds=6) == DATA


def test_gateways_that_fall_silent_take_no_longer_than_all_may(web: FakeWeb) -> None:
    silent = Page(CAR[:1000], length=len(CAR))
    with pytest.raises(NotNowError, match=r"g0\.example did not answer in time; g1\.example did not answer"):
        read(web, uri(FILE), silent, silent, seconds=0.5)


def chain(levels: int) -> Tree:
    blocks = [leaf(b"deep")]
    for _ in range(levels - 1):
        blocks.insert(0, parent(blocks[:1]))
    return Tree(blocks)


def cut_short(tree: Tree) -> Tree:
    return Tree(tree.blocks[:MAX_BLOCKS])


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (lambda: uri(directory([("a", FILE)])), "is a directory, not a file"),
        (lambda: uri(Tree([HAMT_BLOCK])), "is a HAMT"),
        (lambda: uri(Tree([HAMT_BLOCK]), "a"), "is a HAMT"),
        (lambda: uri(chain(60)), "more than 8 levels"),
        (lambda: uri(FILE, "a"), "not a plain directory"),
        (lambda: uri(directory([("a", FILE)]), "b"), "no such name"),
        (lambda: uri(file_of(bytes(65_537), 1100)), "more than 65,536 bytes"),
    ],
    ids=["a directory", "a HAMT", "within a HAMT", "60 levels", "below a file", "a missing name", "a long file"],
)
def test_what_the_cid_names_no_other_gateway_is_asked_about(
    web: FakeWeb, file: Callable[[], IpfsUri], why: str
) -> None:
    trees = [
        directory([("a", FILE)]), Tree([HAMT_BLOCK]), chain(60), FILE, file_of(bytes(65_537), 1100)
    ]  # fmt: skip
    wanted = file()
    [tree] = [each for each in trees if Cid.from_bytes(each.root.cid) == wanted.cid]
    with pytest.raises(UnreadableFileError, match=why):
        read(web, wanted, car_of(tree.blocks), CAR)
    assert web.hosts == ["g0.example"]


@pytest.mark.parametrize("tree", [chain(100), file_of(bytes(10_000), 1)], ids=["100 levels", "10,000 blocks"])
def test_a_file_of_more_blocks_than_are_read_is_given_by_nobody(web: FakeWeb, tree: Tree) -> None:
    with pytest.raises(NotNowError, match=r"more than 64 blocks|more than 196608 bytes"):
        read(web, uri(tree), car_of(tree.blocks))
