from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.names.ipfs.known import ANSWERS, IPFS, answer
from tests.names.ipfs.trees import (
    DAG_PB,
    RAW,
    Block,
    block,
    car_of,
    file_of,
    is_as_before_or_of_this_answer,
    outcome,
    section,
    varint,
)

from postroom.names.ipfs.car import MAX_BLOCKS, MAX_CAR_BYTES, read_blocks
from postroom.names.ipfs.errors import IpfsError, UnreadableFileError
from postroom.names.ipfs.unixfs import read_file
from postroom.names.ipfs.uri import IpfsUri

LEAVES = [block(bytes([each]), 1, RAW) for each in range(MAX_BLOCKS + 1)]


def file_in(uri: str, car: bytes) -> bytes:
    cid, names = IpfsUri.parse(uri)
    return read_file(cid, names, read_blocks(car))


@pytest.mark.parametrize("name", ANSWERS)
def test_a_file_that_others_wrote_is_read(name):
    case = IPFS["cases"][name]
    file = file_in(*ANSWERS[name])
    assert len(read_blocks(ANSWERS[name].car)) == case.get("block_count", len(case["blocks"]))
    assert sha256(file).hexdigest() == case.get("content_sha256", sha256(file).hexdigest())
    assert file == case.get("content", file.decode()).encode()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a bit of the only block", "does not hash to its CID"),
        ("another file's blocks", "lacks the block QmQXEAWz"),
        ("the last chunk is missing", "lacks the block"),
        ("cut in the middle", "cut"),
        ("an HTML page", "no CAR|is none"),
        ("nothing", "empty"),
        ("a directory where a file is wanted", "is a directory, not a file"),
    ],
)
def test_an_answer_that_is_not_the_file_is_refused_and_says_why(name, why):
    with pytest.raises(IpfsError, match=why) as refused:
        file_in(*answer(IPFS["refused"][name]))
    # What no gateway can change is only what the CID itself names.
    assert isinstance(refused.value, UnreadableFileError) == (name == "a directory where a file is wanted")


def test_every_refused_answer_is_tested():
    [mark] = test_an_answer_that_is_not_the_file_is_refused_and_says_why.pytestmark
    assert [name for name, _ in mark.args[1]] == list(IPFS["refused"])


def test_the_order_of_blocks_does_not_matter():
    case = IPFS["order_does_not_matter"]
    assert sha256(file_in(*answer(case))).hexdigest() == case["content_sha256"]


@pytest.mark.parametrize("name", ANSWERS)
def test_a_car_with_one_changed_bit_gives_the_same_file_or_is_refused(name):
    uri, car = ANSWERS[name]
    cid, names = IpfsUri.parse(uri)
    file = read_file(cid, names, read_blocks(car))
    for place in range(8 * len(car)):
        changed = bytearray(car)
        changed[place // 8] ^= 1 << place % 8
        found = outcome(lambda car=bytes(changed): read_file(cid, names, read_blocks(car)))
        assert is_as_before_or_of_this_answer(found, file)


@pytest.mark.parametrize("name", ANSWERS)
def test_a_car_that_is_cut_gives_the_same_file_or_is_refused(name):
    uri, car = ANSWERS[name]
    cid, names = IpfsUri.parse(uri)
    file = read_file(cid, names, read_blocks(car))
    for end in range(len(car)):
        found = outcome(lambda end=end: read_file(cid, names, read_blocks(car[:end])))
        assert is_as_before_or_of_this_answer(found, file)


@given(st.data())
def test_a_car_with_one_changed_byte_gives_the_same_file_or_is_refused(data):
    uri, car = ANSWERS[data.draw(st.sampled_from(sorted(ANSWERS)))]
    place, byte = data.draw(st.integers(0, len(car) - 1)), data.draw(st.binary(min_size=1, max_size=1))
    changed = car[:place] + byte + car[place + 1 :]
    assert is_as_before_or_of_this_answer(outcome(lambda: file_in(uri, changed)), file_in(uri, car))


@given(st.binary(max_size=300) | st.binary(max_size=300).map(lambda data: car_of([]) + data))
def test_any_bytes_are_blocks_or_refused(data):
    try:
        blocks = read_blocks(data)
    except IpfsError:
        return
    assert all(sha256(block).digest() == digest for digest, block in blocks.items())


def test_blocks_that_nobody_needs_are_ignored_even_of_kinds_that_are_not_read():
    others = (
        Block(b"\x01\x71\x12\x20" + bytes(32), b"dag-cbor", 0),
        Block(b"\x01\x55\x00\x03abc", b"", 0),
        Block(b"\x01\x55\xa0\xe4\x02\x20" + bytes(32), b"blake2b", 0),
        Block(b"", b"", 0),
        Block(b"\x12\x20", b"cut", 0),
    )
    assert read_blocks(car_of([*others, *LEAVES[:2]])) == {each.cid[-32:]: each.data for each in LEAVES[:2]}


def test_a_block_that_occurs_twice_is_hashed_twice():
    [one] = file_of(b"hello", 8).blocks
    assert read_blocks(car_of([one, one])) == {one.cid[-32:]: b"hello"}
    with pytest.raises(IpfsError, match="does not hash"):
        read_blocks(car_of([one, one._replace(data=b"hallo")]))


def test_a_block_may_have_the_cid_of_another_version_or_codec_than_the_link():
    [one] = file_of(b"hello", 8).blocks
    digest = one.cid[-32:]
    for prefix in (b"\x12\x20", bytes([1, RAW, 0x12, 0x20]), bytes([1, DAG_PB, 0x12, 0x20])):
        assert read_blocks(car_of([one._replace(cid=prefix + digest)])) == {digest: b"hello"}


def test_roots_are_ignored():
    for roots in ([], [LEAVES[1].cid], [each.cid for each in LEAVES[:10]]):
        assert len(read_blocks(car_of(LEAVES[:3], roots))) == 3


@pytest.mark.parametrize("header_end", [b"", b"\x67version\x02", b"\x67version\x01\xf6", b"\x67version\x18\x01"])
def test_another_version_is_refused(header_end):
    with pytest.raises(IpfsError, match="no CAR of version 1"):
        read_blocks(car_of(LEAVES[:1], header_end=header_end))


@pytest.mark.parametrize(
    "answer",
    [
        b"\x0a\xa1\x67version\x02" + bytes(40),
        section(b"\xa2\x67version\x01\x65roots\x80"),
        b"\x00",
        b"<!doctype html>" + b" " * 100,
        b"{}" + b" " * 200,
        b"\xff" * 200_000,
        b"\x1f\x8b\x08" + bytes(50),
    ],
)
def test_an_answer_that_is_no_car_is_refused(answer):
    with pytest.raises(IpfsError):
        read_blocks(answer)


@pytest.mark.parametrize("length", [1, 30, 127, 2**20, 2**62])
def test_a_block_that_goes_beyond_the_end_is_refused(length):
    with pytest.raises(IpfsError, match="cut"):
        read_blocks(car_of(LEAVES[:1]) + varint(length))


def test_the_number_of_blocks_is_limited():
    assert len(read_blocks(car_of(LEAVES[:MAX_BLOCKS]))) == MAX_BLOCKS == 64
    for blocks in (LEAVES, LEAVES[:1] * 65, [Block(b"", b"", 0)] * 10_000):
        with pytest.raises(IpfsError, match="more than 64 blocks"):
            read_blocks(car_of(blocks))


def test_the_length_of_a_car_is_limited():
    room = MAX_CAR_BYTES - len(car_of([block(bytes(MAX_CAR_BYTES - 200), 0, RAW)])) + MAX_CAR_BYTES - 200
    largest = car_of([block(bytes(room), 0, RAW)])
    assert len(largest) == MAX_CAR_BYTES == 192 * 1024
    assert len(read_blocks(largest)) == 1
    with pytest.raises(IpfsError, match="196,609 bytes"):
        read_blocks(largest + b"\0")
