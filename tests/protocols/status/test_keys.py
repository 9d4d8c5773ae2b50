"""A chat key has one text, and one compressed text; both are of a point on the curve (2/ACCOUNT)."""

import coincurve
import pytest
from coincurve.utils import GROUP_ORDER_INT
from hypothesis import example, given
from hypothesis import strategies as st

from postroom.crypto.encodings import BASE58
from postroom.protocols.status.keys import (
    ChatKey,
    _read_chat_key,
    chat_key_of,
    compressed,
    multibase,
    point_of,
    read_chat_key,
    read_multibase,
)

KNOWN = ChatKey(
    "0x049f196bbfef4fa6a5eb81dd802133a63498325445ca1af1d154b1bb4542955133"
    "05b23fcf11d005ee622144fc402b713a8928f80d705781e2e78d701c6e01bfc4"
)
COMPRESSED = "029f196bbfef4fa6a5eb81dd802133a63498325445ca1af1d154b1bb4542955133"
MULTIBASE = "zQ3shY7r4cAdg4eUF5dfcuCqCFzWmdjHW4SX5hspM9ucAarfU"
"""A key that the tests of Status's web client publish, in its three forms."""
OFF_THE_CURVE = "0x04" + "00" * 63 + "01"

SECRETS = st.integers(1, GROUP_ORDER_INT - 1)


def keys() -> st.SearchStrategy[ChatKey]:
    return SECRETS.map(lambda secret: chat_key_of(coincurve.PrivateKey.from_int(secret).public_key.format()))


def test_the_known_key_in_its_three_forms() -> None:
    assert read_chat_key(KNOWN) == chat_key_of(bytes.fromhex(COMPRESSED)) == read_multibase(MULTIBASE) == KNOWN
    assert compressed(KNOWN).hex() == COMPRESSED
    assert multibase(KNOWN) == MULTIBASE


def test_the_example_of_did_key() -> None:
    # w3c-ccg.github.io/did-key-spec, secp256k1: the same encoding.
    key = read_multibase("zQ3shokFTS3brHcDQrn82RUDfCZESWL1ZdCEJwekUDPQiYBme")
    assert compressed(key).hex() == "03874c15c7fda20e539c6e5ba573c139884c351188799f5458b4b41f7924f235cd"


@given(SECRETS)
@example(1)
@example(GROUP_ORDER_INT - 1)
def test_every_key_is_the_same_in_every_form(secret: int) -> None:
    public = coincurve.PrivateKey.from_int(secret).public_key
    key = chat_key_of(public.format(compressed=False))
    assert key == "0x" + public.format(compressed=False).hex()
    assert point_of(key) == public.format(compressed=False)
    assert compressed(key) == public.format()
    assert chat_key_of(compressed(key)) == read_chat_key(key) == read_multibase(multibase(key)) == key
    assert multibase(key).startswith("zQ3sh")
    assert len(multibase(key)) == 49


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0x",
        KNOWN[2:],
        KNOWN[:-1],
        KNOWN + "0",
        KNOWN + "\n",
        " " + KNOWN,
        KNOWN.upper(),
        "0x" + KNOWN[2:].upper(),
        KNOWN[:-1] + "G",
        KNOWN[:-1] + "\u0664",
        "0x06" + KNOWN[4:],
        "0x" + COMPRESSED,
        MULTIBASE,
        OFF_THE_CURVE,
        "0x04" + "0" * 128,
        "0x04" + "f" * 128,
    ],
)
def test_any_other_text_is_no_key(text: str) -> None:
    assert read_chat_key(text) is None


@pytest.mark.parametrize(
    ("point", "why"),
    [
        (b"", "this one has 0"),
        (point_of(KNOWN)[:-1], "this one has 64"),
        (point_of(KNOWN) + b"\0", "this one has 66"),
        (b"\x07" + point_of(KNOWN)[1:], "this one has 65"),
        (b"\x06" + point_of(KNOWN)[1:], "this one has 65"),
        (b"\x02" + point_of(KNOWN)[1:], "this one has 65"),
        (b"\x04" + compressed(KNOWN)[1:], "this one has 33"),
        (point_of(KNOWN)[1:], "this one has 64"),
        (bytes.fromhex(OFF_THE_CURVE[2:]), "not a point"),
        (b"\x02" + b"\xff" * 32, "not a point"),
        (b"\x02" + bytes(31) + b"\x05", "not a point"),
    ],
)
def test_bytes_that_are_no_point_are_refused(point: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        chat_key_of(point)


def of_bytes(data: bytes, digits: int = 48) -> str:
    """These bytes in base58btc, written in another way than ours."""
    number, text = int.from_bytes(data), ""
    while number:
        number, digit = divmod(number, 58)
        text = BASE58[digit] + text
    return "z" + text.rjust(digits, "1")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "begins with z"),
        ("Z" + MULTIBASE[1:], "begins with z"),
        (MULTIBASE[1:], "begins with z"),
        ("z", "48 digits"),
        (MULTIBASE[:-1], "48 digits"),
        (MULTIBASE + "1", "48 digits"),
        ("z1" + MULTIBASE[1:], "48 digits"),
        (MULTIBASE + "\n", "48 digits"),
        ("z" + "1" * 100_000, "48 digits"),
        (MULTIBASE[:-1] + "0", "no digit"),
        (MULTIBASE[:-1] + "l", "no digit"),
        (MULTIBASE[:-1] + "\u0661", "no digit"),
        ("z" + "z" * 48, "not one of secp256k1"),
        ("z" + "1" * 48, "not one of secp256k1"),
        (of_bytes(b"\xed\x01" + compressed(KNOWN)), "not one of secp256k1"),
        (of_bytes(b"\x01\xe7\x01" + compressed(KNOWN)[:-1]), "not one of secp256k1"),
        (of_bytes(b"\xe7\x01\x04" + compressed(KNOWN)[1:]), "from 02 or 03"),
        (of_bytes(b"\xe7\x01\x02" + bytes(31) + b"\x05"), "not a point"),
    ],
)
def test_a_compressed_text_has_one_form(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_multibase(text)


def test_the_encoding_of_this_test_is_ours() -> None:
    assert of_bytes(b"\xe7\x01" + compressed(KNOWN)) == MULTIBASE


@given(keys(), st.integers(1, 48), st.sampled_from(BASE58))
def test_with_another_digit_it_is_another_key_or_none(key: ChatKey, place: int, digit: str) -> None:
    text = multibase(key)
    changed = text[:place] + digit + text[place + 1 :]
    try:
        found = read_multibase(changed)
    except ValueError:
        return
    assert (found == key) == (changed == text)
    assert multibase(found) == changed


@pytest.mark.parametrize("text", ["", KNOWN[:-1], KNOWN + "0", "a" * 1_000_000])
def test_a_text_of_another_length_is_no_key_and_is_not_kept(text: str) -> None:
    _read_chat_key.cache_clear()
    assert read_chat_key(text) is None
    assert _read_chat_key.cache_info().currsize == 0
