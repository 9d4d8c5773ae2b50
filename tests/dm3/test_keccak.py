"""Keccak-256: the permutation is SHA-3's, of which the standard library has another implementation."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.dm3.keccak import keccak_256, sponge


@pytest.mark.parametrize(
    ("data", "digest"),
    [
        (b"", "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"),
        (b"abc", "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"),
        (b"Transfer(address,address,uint256)", "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"),
    ],
)
def test_digests_that_everybody_knows(data: bytes, digest: str) -> None:
    assert keccak_256(data).hex() == digest


@given(st.binary(max_size=600))
def test_with_the_other_padding_it_is_sha3(data: bytes) -> None:
    assert sponge(data, 0x06) == hashlib.sha3_256(data).digest()


@pytest.mark.parametrize("length", [135, 136, 137, 271, 272])
def test_around_the_end_of_a_block(length: int) -> None:
    data = bytes(range(256))[:length].ljust(length, b"x")
    assert sponge(data, 0x06) == hashlib.sha3_256(data).digest()
    assert keccak_256(data) != hashlib.sha3_256(data).digest()
