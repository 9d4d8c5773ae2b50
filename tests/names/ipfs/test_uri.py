import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.names.ipfs.known import ANSWERS, IPFS

from postroom.names.ipfs.cid import Cid
from postroom.names.ipfs.errors import UnreadableFileError
from postroom.names.ipfs.uri import MAX_NAME_BYTES, MAX_NAMES, IpfsUri

CID = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"


@pytest.mark.parametrize("name", ANSWERS)
def test_a_uri_is_a_cid_and_the_names_below_it(name):
    uri = IpfsUri.parse(ANSWERS[name].uri)
    assert "/".join(("ipfs:/", str(uri.cid), *uri.names)) == ANSWERS[name].uri


@pytest.mark.parametrize("uri", IPFS["uris_refused"])
def test_what_names_no_file_is_refused(uri):
    with pytest.raises(UnreadableFileError):
        IpfsUri.parse(uri)


def test_the_scheme_may_be_in_upper_case():
    assert IpfsUri.parse(f"IPFS://{CID}") == (Cid.parse(CID), ())


def test_a_name_is_escaped_as_in_all_uris():
    assert IpfsUri.parse(f"ipfs://{CID}/a%20b/%C3%a9/c+d").names == ("a b", "é", "c+d")


def test_the_number_of_names_is_limited():
    assert len(IpfsUri.parse(f"ipfs://{CID}" + "/a" * MAX_NAMES).names) == MAX_NAMES == 4
    for more in (1, 10_000):
        with pytest.raises(UnreadableFileError, match="more than 4 names"):
            IpfsUri.parse(f"ipfs://{CID}" + "/a" * (MAX_NAMES + more))


def test_the_length_of_a_name_is_limited():
    assert IpfsUri.parse(f"ipfs://{CID}/{'%C3%A9' * 127}a").names == ("é" * 127 + "a",)
    with pytest.raises(UnreadableFileError, match=f"more than {MAX_NAME_BYTES} bytes"):
        IpfsUri.parse(f"ipfs://{CID}/{'%C3%A9' * 128}")


@pytest.mark.parametrize(
    "path",
    ["/", "//a", "/a/", "/.", "/..", "/%2e%2E", "/a%2Fb", "/%00", "/%ff", "/%", "/%4", "/é", "/a b", "/a?b", "/a#b",
     "?dm3Hash=0x00", "#a", ":8080", "/a\\b", "/a\n"],
)  # fmt: skip
def test_a_path_that_could_be_read_in_two_ways_is_refused(path):
    with pytest.raises(UnreadableFileError):
        IpfsUri.parse(f"ipfs://{CID}{path}")


@pytest.mark.parametrize(
    "uri", ["", "ipfs:", f"ipfs:{CID}", f"ipfs:/{CID}", f" ipfs://{CID}", f"ipfs://ipfs/{CID}", CID]
)
def test_another_form_of_a_uri_is_refused(uri):
    with pytest.raises(UnreadableFileError):
        IpfsUri.parse(uri)


@given(st.text() | st.text("ab/%2eF.", max_size=20).map(lambda path: f"ipfs://{CID}/{path}"))
def test_any_text_is_a_uri_or_refused(text):
    try:
        uri = IpfsUri.parse(text)
    except UnreadableFileError:
        return
    assert all(name not in ("", ".", "..") and "/" not in name for name in uri.names)
