import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.names.ipfs.trees import (
    DAG_PB,
    DIRECTORY,
    FILE,
    HAMT,
    METADATA,
    OLD_LEAF,
    SYMLINK,
    Block,
    Tree,
    block,
    car_of,
    content,
    directory,
    file_of,
    is_as_before_or_of_this_answer,
    leaf,
    link,
    node,
    number,
    outcome,
    parent,
    unixfs,
)

from postroom.names.ipfs.car import MAX_BLOCKS, read_blocks
from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.errors import IpfsError, UnreadableFileError
from postroom.names.ipfs.unixfs import MAX_FILE_BYTES, MAX_LEVELS, read_file

HELLO = leaf(b"hello")
KINDS = (None, FILE, OLD_LEAF)


def read(tree: Tree, *names: str) -> bytes:
    return read_file(Cid.from_bytes(tree.root.cid), names, tree.by_digest)


def read_root(data: bytes, *more: Block) -> bytes:
    """What a dag-pb block of these bytes is as a file."""
    return read(Tree([block(data), *more]))


# --- files of one block or many ----------------------------------------------------------------------------------


@st.composite
def trees(draw: st.DrawFn) -> tuple[bytes, Tree]:
    """A file, and its blocks: any number of leaves and of links in a block that stays within the bounds."""
    data = draw(st.binary(max_size=600)) * draw(st.integers(1, 100))
    leaves = draw(st.integers(1, MAX_BLOCKS - 1))
    chunk = -(-len(data) // leaves) or 1
    version = draw(st.sampled_from((0, 1)))
    tree = file_of(data, chunk, draw(st.integers(2, 174)), draw(st.sampled_from(KINDS)), version)
    assume(len(tree.blocks) <= MAX_BLOCKS)
    return data, tree


@given(trees(), st.randoms(use_true_random=False))
def test_a_file_is_read_whatever_its_chunks_links_leaves_and_the_order_of_blocks(tree, random):
    data, (blocks,) = tree
    shuffled = [*blocks, *random.choices(blocks, k=random.randint(0, MAX_BLOCKS - len(blocks)))]
    random.shuffle(shuffled)
    assert read_file(Cid.from_bytes(blocks[0].cid), (), read_blocks(car_of(shuffled))) == data


@given(trees(), st.integers(0), st.integers(1, 255))
def test_a_file_with_a_changed_byte_in_its_car_is_the_same_or_refused(tree, place, change):
    data, (blocks,) = tree
    car = bytearray(car_of(blocks))
    car[place % len(car)] ^= change
    found = outcome(lambda: read_file(Cid.from_bytes(blocks[0].cid), (), read_blocks(bytes(car))))
    assert is_as_before_or_of_this_answer(found, data)


@given(trees(), st.integers(0))
def test_a_file_that_lacks_a_block_is_refused_and_another_gateway_may_have_it(tree, place):
    blocks = {each.cid: each for each in tree[1].blocks}
    root, missing = next(iter(blocks)), list(blocks)[place % len(blocks)]
    del blocks[missing]
    with pytest.raises(IpfsError, match=f"lacks the block {Cid.from_bytes(missing)}") as refused:
        read_file(Cid.from_bytes(root), (), Tree(list(blocks.values())).by_digest)
    assert not isinstance(refused.value, UnreadableFileError)


@given(st.binary(max_size=200), st.lists(st.binary(max_size=200), max_size=2))
def test_any_block_is_a_file_or_refused(data, parts):
    leaves = [leaf(part) for part in parts]
    for root in (data, node(data), node(unixfs(FILE) + data, [link(each.cid) for each in leaves]), content(2, data)):
        try:
            read_root(root, *leaves)
        except IpfsError:
            continue


def test_a_block_may_hold_data_before_that_of_its_links():
    assert read(Tree([parent([HELLO, HELLO], b"Oh: "), HELLO])) == b"Oh: hellohello"


def test_an_empty_file_is_read():
    for kind in KINDS:
        assert read(file_of(b"", 1, kind=kind)) == b""
    assert read_root(node(unixfs(FILE))) == b""


def test_fields_may_stand_in_any_order_and_permissions_and_times_mean_nothing():
    said = number(8 - 1, 0o644) + content(8, number(1, 1)) + number(3, 5) + content(2, b"hello") + number(1, FILE)
    assert read_root(content(1, said)) == b"hello"
    parts = content(1, unixfs(FILE, None, 5, [5])) + content(2, number(3, 5) + content(1, HELLO.cid))
    assert read_root(parts, HELLO) == b"hello"


# --- what contradicts itself, or is no file ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "links", "why"),
    [
        (unixfs(FILE, b"hello", 4), 0, "said to have 4 bytes, and has 5"),
        (unixfs(FILE, b"hello", 6), 0, "said to have 6 bytes, and has 5"),
        (unixfs(FILE, b"hello"), 0, "said to have 0 bytes, and has 5"),
        (unixfs(FILE, None, 5, [4]), 1, "said to have 4 bytes, and has 5"),
        (unixfs(FILE, None, 5, [6]), 1, "said to have 6 bytes, and has 5"),
        (unixfs(FILE, None, 10, [4, 6]), 2, "said to have 4 bytes, and has 5"),
        (unixfs(FILE, None, 9, [5, 5]), 2, "said to have 9 bytes, and has 10"),
        (unixfs(FILE, None, 5, [5, 5]), 1, "1 links and 2 sizes"),
        (unixfs(FILE, None, 5), 1, "1 links and 0 sizes"),
        (unixfs(FILE, None, 5, [5]), 0, "0 links and 1 sizes"),
        (unixfs(FILE, b"", 0, [0] * 65), 0, "0 links and 65 sizes"),
        (number(3, 5), 0, "no type"),
        (b"", 0, "no type"),
        (unixfs(FILE, b"hello", 5) + number(9, 1), 0, "field 9 of wire type 0 is unknown"),
        (number(1, FILE) * 2, 0, "field 1 .* occurs twice"),
        (unixfs(FILE, b"hello", 5)[:-1], 0, "cut"),
        (content(1, b"\2"), 0, "field 1 of wire type 2 is unknown"),
        (number(1, FILE) + content(4, b"\5"), 1, "field 4 of wire type 2 is unknown"),
    ],
)
def test_a_file_that_contradicts_itself_is_refused_for_good(said, links, why):
    with pytest.raises(UnreadableFileError, match=why):
        read_root(node(said, [link(HELLO.cid)] * links), HELLO)


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (link(HELLO.cid, "a"), "a part of the file .* has a name"),
        (content(2, b""), "a link has no CID"),
        (content(1, b""), "raw or dag-pb"),
        (content(1, HELLO.cid[:-1]), "raw or dag-pb"),
        (content(1, HELLO.cid + b"\0"), "raw or dag-pb"),
        (content(1, b"\x01\x71\x12\x20" + HELLO.cid[-32:]), "raw or dag-pb"),
        (content(1, b"\x01\x55\x00\x05hello"), "raw or dag-pb"),
        (content(1, HELLO.cid) * 2, "field 1 .* occurs twice"),
        (content(1, HELLO.cid) + number(4, 1), "field 4 of wire type 0 is unknown"),
        (content(1, HELLO.cid)[:-1], "cut"),
    ],
)
def test_a_link_that_leads_to_no_block_of_a_file_is_refused_for_good(wrong, why):
    with pytest.raises(UnreadableFileError, match=why):
        read_root(node(unixfs(FILE, None, 5, [5]), [wrong]), HELLO)


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (DIRECTORY, "is a directory, not a file"),
        (METADATA, "is metadata, not a file"),
        (SYMLINK, "is a symbolic link, not a file"),
        (HAMT, "is a HAMT"),
        (6, "is of the unknown type 6"),
        (2**40, "is of the unknown type"),
    ],
)
def test_what_is_no_file_is_refused_for_good(kind, why):
    root = block(node(unixfs(kind, b"a", 1) + number(5, 0x22) + number(6, 256)))
    with pytest.raises(UnreadableFileError, match=why):
        read(Tree([root]))
    part = root._replace(size=1)
    with pytest.raises(UnreadableFileError, match=why):
        read(Tree([parent([part]), part]))


def test_a_raw_block_is_no_dag_pb_block():
    named = block(HELLO.data, codec=DAG_PB)
    with pytest.raises(UnreadableFileError, match="is no block of UnixFS"):
        read(Tree([named]))


def test_a_block_within_itself_could_only_be_of_another_hash():
    one, other = (block(node(unixfs(FILE, bytes([each]), 1))) for each in (1, 2))
    cycle = [Block(one.cid, parent([other]).data, 2), Block(other.cid, parent([one]).data, 2)]
    with pytest.raises(IpfsError, match="does not hash"):
        read_blocks(car_of(cycle))
    # Whoever gave such blocks unchecked would still get an end.
    with pytest.raises(UnreadableFileError, match="levels"):
        read(Tree(cycle))


# --- bounds ------------------------------------------------------------------------------------------------------


def test_the_length_of_a_file_is_limited():
    largest = bytes(MAX_FILE_BYTES)
    for kind in KINDS:
        for chunk in (MAX_FILE_BYTES + 1, 1041):
            assert read(file_of(largest, chunk, kind=kind)) == largest
            with pytest.raises(UnreadableFileError, match="more than 65,536 bytes"):
                read(file_of(largest + b"\0", chunk, kind=kind))


def test_the_number_of_blocks_of_a_file_is_limited_each_as_often_as_it_is_linked_to():
    assert read(file_of(bytes(63), 1)) == bytes(63)
    with pytest.raises(UnreadableFileError, match="more than 64 blocks"):
        read(file_of(bytes(64), 1))
    with pytest.raises(UnreadableFileError, match="more than 64 blocks"):
        read(file_of(bytes(5000), 1, 5000))
    within = directory([("a", file_of(bytes(63), 1))])
    with pytest.raises(UnreadableFileError, match="more than 64 blocks"):
        read(within, "a")


@pytest.mark.parametrize("data", [b"", b"a"])
def test_a_few_blocks_that_stand_for_thousands_are_refused(data):
    blocks = [leaf(data)]
    for _ in range(5):
        blocks.insert(0, parent(blocks[:1] * 9))
    with pytest.raises(UnreadableFileError, match="more than 64 blocks"):
        read(Tree(blocks))


def chain(levels: int) -> Tree:
    blocks = [HELLO]
    for _ in range(levels - 1):
        blocks.insert(0, parent(blocks[:1]))
    return Tree(blocks)


def test_the_number_of_levels_is_limited():
    assert read(chain(MAX_LEVELS)) == b"hello"
    for levels in (9, 60):
        with pytest.raises(UnreadableFileError, match="more than 8 levels"):
            read(chain(levels))
    within = directory([("a", chain(MAX_LEVELS))])
    assert read(within, "a") == b"hello"


# --- names in directories ----------------------------------------------------------------------------------------

FILES = directory([("profile.json", file_of(b"{}", 1)), ("é", file_of(b"e", 1)), ("", file_of(b"?", 1))])
DEEP = directory([("d", directory([("c", directory([("b", directory([("a", file_of(b"deep", 1))]))]))]))])


@pytest.mark.parametrize(
    ("tree", "names", "data"),
    [(FILES, ["profile.json"], b"{}"), (FILES, ["é"], b"e"), (DEEP, ["d", "c", "b", "a"], b"deep")],
)
def test_a_path_leads_through_directories_to_a_file(tree, names, data):
    assert read(tree, *names) == data


@given(
    st.dictionaries(st.text(st.characters(codec="utf-8"), min_size=1), st.binary(max_size=9), min_size=1, max_size=9)
)
def test_every_name_in_a_directory_is_found(files):
    tree = directory([(name, file_of(data, 4)) for name, data in files.items()], version=0)
    assert {name: read(tree, name) for name in files} == files


def test_of_two_entries_of_one_name_the_first_counts():
    assert read(directory([("a", file_of(b"1", 1)), ("a", file_of(b"2", 1))]), "a") == b"1"


def test_an_entry_that_is_not_asked_for_may_be_of_any_kind():
    links = [link(b"\x01\x71\x12\x20" + bytes(32), "cbor"), link(HELLO.cid, "a")]
    assert read(Tree([block(node(unixfs(DIRECTORY), links)), HELLO]), "a") == b"hello"


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["profile"], "no such name in the directory"),
        (
            ["profile.json", "a"],
            "the path goes on below .*a file, not a plain directory|the path goes on below .*, a raw block",
        ),
        (["É"], "no such name in the directory"),
        ([], "is a directory, not a file"),
    ],
)
def test_a_path_that_leads_to_no_file_is_refused_for_good(names, why):
    with pytest.raises(UnreadableFileError, match=why):
        read(FILES, *names)


def test_a_path_into_a_directory_in_parts_is_refused_for_good():
    hamt = block(node(unixfs(HAMT, b"\1") + number(5, 0x22) + number(6, 256), [link(HELLO.cid, "00a")]))
    with pytest.raises(UnreadableFileError, match="a HAMT"):
        read(Tree([hamt, HELLO]), "a")


def test_a_path_whose_directory_is_not_there_may_be_answered_by_another_gateway():
    tree = Tree([FILES.root])
    with pytest.raises(IpfsError, match="lacks the block") as refused:
        read(tree, "profile.json")
    assert not isinstance(refused.value, UnreadableFileError)
