"""Hexadecimal digits of bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.crypto.encodings import read_hex, write_hex


@given(st.binary(max_size=40))
def test_what_was_written_is_read_in_upper_and_lower_case(data: bytes) -> None:
    text = write_hex(data)
    assert read_hex(text) == read_hex(f"0x{text[2:].upper()}") == data


@pytest.mark.parametrize(
    "text", ["", "0", "0x1", "01", "0X01", "0xzz", "0x 01", "0x01\n", "-0x01", "0x٠١", None, 1, b"0x01"]
)
def test_anything_else_is_none(text: object) -> None:
    assert read_hex(text) is None
