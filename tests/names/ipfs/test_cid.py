from base64 import b16encode, b32encode
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.names.ipfs.known import CASES, IPFS

from postroom.names.ipfs.cid import DAG_PB, RAW, Cid

DIGESTS = st.binary(min_size=32, max_size=32)
CIDS = st.one_of(
    st.builds(Cid, st.just(0), st.just(DAG_PB), DIGESTS),
    st.builds(Cid, st.just(1), st.sampled_from((RAW, DAG_PB)), DIGESTS),
)
KNOWN = Cid.parse("bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e")


def binary(cid: Cid) -> bytes:
    return (b"\x12\x20" if cid.version == 0 else bytes([1, cid.codec, 0x12, 0x20])) + cid.digest


@pytest.mark.parametrize("name", CASES)
def test_a_cid_is_the_same_in_every_base(name):
    case = CASES[name]
    cid = Cid.parse(case["cid"])
    assert str(cid) == case["cid"]
    assert {Cid.parse(text) for text in case.get("same", {}).values()} <= {cid}


def test_a_cid_that_others_published_is_that_of_its_content():
    hello, newline, empty = IPFS["published"].values()
    assert Cid.parse(hello) == Cid(1, RAW, sha256(b"hello world").digest())
    assert Cid.parse(empty) == Cid(1, RAW, sha256(b"").digest())
    assert (Cid.parse(newline).version, Cid.parse(newline).codec) == (0, DAG_PB)


@given(CIDS)
def test_a_cid_is_read_from_its_text_and_from_its_binary_form(cid):
    assert Cid.parse(str(cid)) == cid
    assert Cid.from_bytes(binary(cid)) == cid
    assert Cid.split(binary(cid) + b"block") == (cid, b"block")


@given(CIDS.filter(lambda cid: cid.version == 1))
def test_base32_and_base16_are_those_of_rfc_4648(cid):
    assert str(cid) == "b" + b32encode(binary(cid)).decode().rstrip("=").lower()
    assert Cid.parse("f" + b16encode(binary(cid)).decode().lower()) == cid


def test_a_digest_of_zeros_has_a_text():
    for cid in (Cid(0, DAG_PB, bytes(32)), Cid(1, RAW, bytes(32))):
        assert Cid.parse(str(cid)) == cid


@given(CIDS, st.integers(0), st.sampled_from("0123456789ABCXYZabcxyz-_ \u0660\uff11"))
def test_a_cid_has_one_text_in_a_base(cid, place, digit):
    text = str(cid)
    place %= len(text)
    changed = text[:place] + digit + text[place + 1 :]
    try:
        read = Cid.parse(changed)
    except ValueError:
        return
    assert (read == cid) == (changed == text)


@given(st.text(max_size=80) | st.text("Qmzbkf123456789abcdefghij", max_size=80))
def test_what_is_no_cid_is_a_value_error(text):
    try:
        cid = Cid.parse(text)
    except ValueError:
        return
    assert len(cid.digest) == 32


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "begins with"),
        ("Qm", "46 digits"),
        ("Qm" + "0" * 44, "no digit of its base"),
        ("QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5", "this one has 45"),
        ("B" + str(KNOWN)[1:].upper(), "begins with"),
        (str(KNOWN).upper(), "begins with"),
        (str(KNOWN) + "=", "this one has 59"),
        ("u" + str(KNOWN)[1:], "begins with"),
        (str(KNOWN)[:-1] + "f", "stray bits"),
        ("bafkqabtimvwgy3yk", "this one has 16"),
        ("f0155122e" + "00" * 32, "no digit|raw or dag-pb"),
        ("f01551320" + "00" * 32, "raw or dag-pb"),
        ("f01711220" + "00" * 32, "raw or dag-pb"),
        ("f02551220" + "00" * 32, "raw or dag-pb"),
        ("z" + "1" * 48, "raw or dag-pb"),
        ("k" + "z" * 55, "raw or dag-pb"),
        ("z" + "z" * 48, "raw or dag-pb"),
    ],
)
def test_another_base_codec_hash_or_length_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        Cid.parse(text)


@pytest.mark.parametrize("cid", [KNOWN, Cid(0, DAG_PB, KNOWN.digest)])
def test_a_binary_cid_that_is_cut_is_refused(cid):
    data = binary(cid)
    for end in range(len(data)):
        with pytest.raises(ValueError, match="raw or dag-pb"):
            Cid.split(data[:end])
    for wrong in (data[1:], data + b"\0"):
        with pytest.raises(ValueError, match="raw or dag-pb"):
            Cid.from_bytes(wrong)
