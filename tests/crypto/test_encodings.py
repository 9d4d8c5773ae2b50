"""Hexadecimal digits of bytes, and numbers in any base."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.crypto.encodings import BASE58, read_digits, read_hex, write_digits, write_hex


@given(st.binary(max_size=40))
def test_what_was_written_is_read_in_upper_and_lower_case(data: bytes) -> None:
    text = write_hex(data)
    assert read_hex(text) == read_hex(f"0x{text[2:].upper()}") == data


@pytest.mark.parametrize(
    "text", ["", "0", "0x1", "01", "0X01", "0xzz", "0x 01", "0x01\n", "-0x01", "0x٠١", None, 1, b"0x01"]
)
def test_anything_else_is_none(text: object) -> None:
    assert read_hex(text) is None


@given(st.integers(0, 58**8 - 1), st.sampled_from([BASE58, "01", "0123456789abcdef"]))
def test_digits_are_read_as_the_number_that_was_written(number: int, alphabet: str) -> None:
    text = write_digits(number, alphabet, 48)
    assert len(text) == 48
    assert read_digits(text, alphabet, 48) == number
    assert write_digits(number, "0123456789", 20) == f"{number:020}"


@pytest.mark.parametrize(("text", "why"), [("", "this one has 0"), ("123", "this one has 3"), ("10", "no digit")])
def test_a_text_with_other_digits_is_no_number(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_digits(text, BASE58, 2)
