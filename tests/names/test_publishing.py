"""What is written to publish a text, as others read it: a contract, a DNS server, an importer of IPFS."""

import dns.rdata
import pytest
from dns.rdataclass import IN
from dns.rdatatype import TXT
from hypothesis import given
from hypothesis import strategies as st
from tests.names.ens.vectors import NAMES
from tests.names.ipfs.known import CASES, IPFS
from tests.names.ipfs.trees import car_of, leaf

from postroom.core.errors import TheirError
from postroom.names.dm3_records import read_texts
from postroom.names.ens.abi import decode
from postroom.names.ipfs.car import read_blocks
from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.unixfs import MAX_FILE_BYTES, read_file
from postroom.names.publishing import cid_of, set_text_data, text_record
from postroom.names.registry import PROFILE_KEY, SERVICE_KEY
from postroom.protocols.dm3.profile import ascii_data_uri, profile_of_uri
from postroom.protocols.dm3.reasons import NAME_INVALID

JSON = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=9),
    st.text(st.characters(exclude_categories=["Cs"])),
    max_size=4,
)


def test_the_data_sets_a_text_of_the_node_of_a_name() -> None:
    row = next(row for row in NAMES["names"]["rows"] if row["name"] == "foo.eth")
    data = set_text_data("foo.eth", PROFILE_KEY, "a text: é")
    assert data[:4].hex() == NAMES["selectors"]["function"]["setText(bytes32,string,string)"].removeprefix("0x")
    node, key, text = decode("bytes32,string,string", data[4:])
    assert (f"0x{node.hex()}", key, text) == (row["namehash"], PROFILE_KEY, "a text: é")


@given(JSON, st.sampled_from((PROFILE_KEY, SERVICE_KEY)))
def test_a_record_is_read_as_it_was_written(value: dict[str, str], key: str) -> None:
    text = ascii_data_uri(value)  # type: ignore[arg-type]
    owner, rdclass, rdtype, written = text_record("dan.example", key, text).split(" ", 3)
    assert (owner, rdclass, rdtype) == ("_dm3.dan.example.", "IN", "TXT")
    strings = dns.rdata.from_text(IN, TXT, written).strings
    assert max(map(len, strings)) <= 255
    assert read_texts([b"".join(strings)]) == {key: text}
    assert profile_of_uri(text) == value


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("dan.eth", "names below .eth are not"),
        ("dan", "names without a dot are not"),
        ("😀.example", "IDNA 2008"),
        ("xn--e28h.example", "IDNA 2008"),
        (f"{'a.' * 125}aa", "too long"),
    ],
)
def test_a_name_that_is_not_looked_up_in_dns_has_no_record(name: str, why: str) -> None:
    with pytest.raises(TheirError, match=why) as caught:
        text_record(name, PROFILE_KEY, "data:,")
    assert caught.value.reason is NAME_INVALID


def test_a_file_has_the_cid_that_importers_give_it() -> None:
    for name in ("v1_raw_one_block", "v1_raw_empty", "v1_raw_hello_world"):
        assert str(cid_of(CASES[name]["content"].encode())) == CASES[name]["cid"]
    assert str(cid_of(b"hello world")) == IPFS["published"]["hello world"]


@given(st.binary(max_size=99) | st.just(bytes(MAX_FILE_BYTES)))
def test_a_file_with_this_cid_is_read(document: bytes) -> None:
    assert read_file(cid_of(document), (), read_blocks(car_of([leaf(document)]))) == document
    assert Cid.parse(str(cid_of(document))) == cid_of(document)
