import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.names.ipfs.trees import content, number, varint

from postroom.names.ipfs.wire import read_message, read_varint

TAGS = bytes((0x08, 0x12))


@given(st.integers(0, 2**63 - 1), st.binary(max_size=4), st.binary(max_size=4))
def test_a_varint_is_read_where_it_stands(value, before, behind):
    data = before + varint(value)
    assert read_varint(data + behind, len(before)) == (value, len(data))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "cut"),
        (b"\x80", "cut"),
        (b"\xff" * 8, "cut"),
        (varint(2**63), "too large"),
        (b"\xff" * 100_000, "too large"),
        (b"\x80\x00", "longer than it need be"),
        (b"\x81\x80\x00", "longer than it need be"),
    ],
)
def test_a_varint_that_is_cut_large_or_longer_than_need_be_is_refused(data, why):
    with pytest.raises(ValueError, match=why):
        read_varint(data, 0)


def test_fields_are_read_in_any_order_and_one_may_be_repeated():
    data = number(4, 5) + content(2, b"ab") + number(4, 300) + number(1, 0)
    assert read_message(data, TAGS, 0x20) == ({0x12: b"ab", 0x08: 0}, [5, 300])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (number(3, 1), "field 3 of wire type 0 is unknown"),
        (number(2, 1), "field 2 of wire type 0 is unknown"),
        (content(1, b"a"), "field 1 of wire type 2 is unknown"),
        (number(16, 1), "is unknown"),
        (b"\x0b\x0c", "wire type 3 is unknown"),
        (number(1, 1) * 2, "field 1 .* occurs twice"),
        (content(2, b"") * 2, "field 2 .* occurs twice"),
        (content(2, b"abc")[:-1], "field 2 is cut"),
        (b"\x12" + varint(2**62), "field 2 is cut"),
        (b"\x08", "a number is cut"),
    ],
)
def test_another_field_or_a_second_one_or_a_cut_one_is_refused(data, why):
    with pytest.raises(ValueError, match=why):
        read_message(number(4, 1) + data, TAGS, 0x20)
