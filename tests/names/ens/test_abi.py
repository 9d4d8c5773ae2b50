"""The encoding of arguments and results: eth_abi's encodings both ways, and what is none."""

from typing import Any

import eth_abi
import eth_abi.exceptions
import eth_abi.grammar
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.names.ens.vectors import NAMES, raw

from postroom.names.ens.abi import AbiError, decode, encode

ENCODED, REFUSED = NAMES["abi"]["encoded"], NAMES["abi"]["refused"]
TYPES = sorted({row["types"] for row in ENCODED})


def as_values(types: str, values: Any) -> Any:
    """Values of the known answers: bytes are written as hexadecimal digits there."""
    if isinstance(values, list):
        return [as_values(types, each) for each in values]
    return raw(values) if isinstance(values, str) and values.startswith("0x") else values


def as_lists(values: Any) -> Any:
    return [as_lists(each) for each in values] if isinstance(values, list | tuple) else values


@pytest.mark.parametrize("row", ENCODED, ids=lambda row: row["types"])
def test_values_are_encoded_and_decoded_as_by_eth_abi(row: dict[str, Any]) -> None:
    values = as_values(row["types"], row["values"])
    assert encode(row["types"], values).hex() == raw(row["encoded"]).hex()
    assert as_lists(decode(row["types"], raw(row["encoded"]))) == values
    assert as_lists(decode(row["types"], raw(row["encoded"]) + b"more")) == values


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["why"])
def test_what_is_no_encoding_is_refused(row: dict[str, Any]) -> None:
    with pytest.raises(AbiError):
        decode(row["types"], raw(row["data"]))


@pytest.mark.parametrize(
    ("types", "data", "said"),
    [
        ("uint256", bytes(31), "ends before byte 32"),
        ("bytes", encode("bytes", [b"abc"])[:66], "ends before byte 67"),
        ("bytes", (1 << 32).to_bytes(32), "an offset or a length is beyond the data"),
    ],
    ids=["word", "bytes", "offset"],
)
def test_the_byte_before_which_data_ends_is_told_if_it_is_not_absurd(types: str, data: bytes, said: str) -> None:
    with pytest.raises(AbiError, match=said):
        decode(types, data)


@pytest.mark.parametrize("row", ENCODED, ids=lambda row: row["types"])
def test_an_encoding_that_was_cut_is_refused_or_shows_what_is_left(row: dict[str, Any]) -> None:
    encoded = raw(row["encoded"])
    for length in range(len(encoded)):
        try:
            found = decode(row["types"], encoded[:length])
        except AbiError:
            continue
        # What Solidity pads with zeros may be missing.
        assert not any(encoded[length:])
        assert as_lists(found) == as_values(row["types"], row["values"])


@pytest.mark.parametrize(
    ("types", "value"),
    [("uint16", 1 << 16), ("uint256", -1), ("bool", 2), ("address", bytes(19)), ("bytes4", bytes(5))],
)
def test_a_value_of_another_type_is_not_encoded(types: str, value: Any) -> None:
    with pytest.raises(AbiError):
        encode(types, [value])


def test_one_value_too_few_is_not_encoded() -> None:
    with pytest.raises(AbiError):
        encode("bytes,bytes", [b""])


WORDS = {
    "uint16": st.integers(0, (1 << 16) - 1),
    "uint256": st.integers(0, (1 << 256) - 1),
    "bool": st.booleans(),
    "address": st.binary(min_size=20, max_size=20),
    "bytes4": st.binary(min_size=4, max_size=4),
    "bytes32": st.binary(min_size=32, max_size=32),
    "bytes": st.binary(max_size=70),
    "string": st.text(max_size=30),
}


@st.composite
def typed(draw: st.DrawFn, depth: int = 2) -> tuple[str, Any]:
    """A type and a value of it."""
    kind = draw(st.sampled_from([*WORDS, "array", "tuple"] if depth else list(WORDS)))
    if kind in WORDS:
        return kind, draw(WORDS[kind])
    members = draw(st.lists(typed(depth - 1), min_size=1, max_size=3))
    if kind == "tuple":
        return f"({','.join(types for types, _ in members)})", tuple(value for _, value in members)
    types, value = members[0]
    return f"{types}[]", [value] * draw(st.integers(0, 3))


@given(st.lists(typed(), min_size=1, max_size=4))
def test_any_values_are_encoded_as_by_eth_abi_and_decoded_again(members: list[tuple[str, Any]]) -> None:
    types, values = ",".join(types for types, _ in members), tuple(value for _, value in members)
    encoded = encode(types, values)
    assert encoded == eth_abi.encode([each for each, _ in members], values)
    assert decode(types, encoded) == values


@given(st.sampled_from(ENCODED), st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=4))
def test_a_changed_encoding_is_refused_or_decoded_as_by_eth_abi(
    row: dict[str, Any], changes: list[tuple[int, int]]
) -> None:
    """eth_abi, too, refuses some that Solidity takes: one side may refuse what the other takes."""
    encoded = bytearray(raw(row["encoded"]))
    for place, byte in changes:
        encoded[place % len(encoded)] = byte
    types = [each.to_type_str() for each in eth_abi.grammar.parse(f"({row['types']})").components]
    try:
        ours = decode(row["types"], bytes(encoded))
        theirs = eth_abi.decode(types, encoded)
    except (AbiError, eth_abi.exceptions.DecodingError, UnicodeDecodeError):
        return
    # It decodes an address as a text.
    assert eth_abi.encode(types, ours) == eth_abi.encode(types, theirs)


@given(st.sampled_from(TYPES), st.binary(max_size=400))
def test_any_bytes_are_decoded_or_refused_and_become_no_more_than_they_were(types: str, data: bytes) -> None:
    try:
        found = decode(types, data)
    except AbiError:
        return
    assert size(found) <= len(data)


@given(st.sampled_from(ENCODED), st.data())
def test_an_encoding_with_one_changed_byte_is_decoded_or_refused(row: dict[str, Any], data: st.DataObject) -> None:
    encoded = bytearray(raw(row["encoded"]))
    place = data.draw(st.integers(0, len(encoded) - 1))
    encoded[place] = data.draw(st.integers(0, 255))
    try:
        found = decode(row["types"], bytes(encoded))
    except AbiError:
        return
    assert size(found) <= len(encoded)


def size(value: Any) -> int:
    """The bytes of all values, with a word for each number."""
    if isinstance(value, list | tuple):
        return sum(map(size, value))
    return len(value.encode() if isinstance(value, str) else value) if isinstance(value, str | bytes) else 32
