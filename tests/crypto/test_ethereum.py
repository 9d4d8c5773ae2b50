"""Addresses and signed texts of Ethereum: ERC-55, ERC-191, and the answers of the reference implementation of DCP."""

import re

import pytest
from coincurve.utils import GROUP_ORDER_INT
from hypothesis import given
from hypothesis import strategies as st
from tests.crypto.vectors import DCP, SECRETS

from postroom.crypto.ethereum import checksum_address, keccak_256, read_address, signed_text_digest
from postroom.crypto.ethereum_keys import EthereumKey, signer_of

KEY = EthereumKey.from_secret(SECRETS["ones"])
TEXT = b"text"
SIGNATURE = KEY.sign(TEXT)


def test_keccak_256_is_not_sha3_256() -> None:
    assert keccak_256(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"


@pytest.mark.parametrize("case", DCP["addresses"], ids=lambda case: case["name"])
def test_a_key_has_the_address_of_the_reference(case: dict[str, str]) -> None:
    assert f"0x{EthereumKey.from_secret(SECRETS[case['name']]).address}" == case["address"]


@pytest.mark.parametrize("case", DCP["address_parsing"], ids=lambda case: repr(case["input"]))
def test_addresses_are_read_as_by_the_reference(case: dict[str, str]) -> None:
    if case["ok"]:
        assert f"0x{read_address(case['input'])}" == case["value"]
        return
    with pytest.raises(ValueError, match=r"Ethereum address|mistyped"):
        read_address(case["input"])


@pytest.mark.parametrize("text", [f"0X{KEY.address}", "٣" * 40, f"{KEY.address}\n", f"0x0x{KEY.address[4:]}", "0x"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="40 hex digits"):
        read_address(text)


def test_one_wrong_letter_case_is_refused() -> None:
    for index, letter in enumerate(KEY.address):
        if letter.isalpha():
            with pytest.raises(ValueError, match="mistyped"):
                read_address(KEY.address[:index] + letter.swapcase() + KEY.address[index + 1 :])


def test_an_address_with_0x_keeps_it() -> None:
    assert checksum_address(f"0x{KEY.address.lower()}") == f"0x{KEY.address}"
    with pytest.raises(ValueError, match="0x and 40 hex digits"):
        checksum_address(KEY.address)


@pytest.mark.parametrize("case", DCP["text_signatures"], ids=lambda case: repr(case["text"])[:20])
def test_a_text_has_the_digest_and_signature_of_the_reference(case: dict[str, str]) -> None:
    text = bytes.fromhex(case["utf8_hex"])
    assert signed_text_digest(text).hex() == case["hash"]
    signature = EthereumKey.from_secret(SECRETS[case["key"]]).sign(text)
    assert signature.hex() == case["r"] + case["s"] + f"{int(case['v']) - 27:02x}"
    signer = signer_of(signature, text)
    assert signer is not None
    assert f"0x{signer}" == case["owner"]


@given(text=st.binary(), other=st.binary())
def test_only_the_text_that_was_signed_is_its_signers(text: bytes, other: bytes) -> None:
    assert signer_of(KEY.sign(text), text) == KEY.address
    assert (signer_of(KEY.sign(text), other) == KEY.address) == (text == other)


@given(bit=st.integers(0, 65 * 8 - 1))
def test_a_signature_with_one_other_bit_is_not_the_signers(bit: int) -> None:
    changed = bytearray(SIGNATURE)
    changed[bit // 8] ^= 1 << bit % 8
    assert signer_of(bytes(changed), TEXT) != KEY.address


def test_the_higher_s_is_refused() -> None:
    s = GROUP_ORDER_INT - int.from_bytes(SIGNATURE[32:64])
    assert signer_of(SIGNATURE[:32] + s.to_bytes(32) + bytes([SIGNATURE[64] ^ 1]), TEXT) is None


N = GROUP_ORDER_INT.to_bytes(32)


@pytest.mark.parametrize(
    "signature",
    [
        b"", SIGNATURE[:64], SIGNATURE + b"\0", bytes(65), bytes(32) + SIGNATURE[32:], SIGNATURE[:32] + bytes(33),
        N + SIGNATURE[32:], SIGNATURE[:32] + N + b"\0", SIGNATURE[:64] + b"\2", SIGNATURE[:64] + b"\x1b",
    ],
)  # fmt: skip
def test_bytes_that_are_no_signature_have_no_signer(signature: bytes) -> None:
    assert signer_of(signature, TEXT) is None


@pytest.mark.parametrize("secret", [b"", bytes(32), b"\1" * 31, b"\1" * 33, N, b"\xff" * 32])
def test_what_is_no_private_key_is_refused_without_being_shown(secret: bytes) -> None:
    with pytest.raises(ValueError, match="a private key of Ethereum is 32 bytes") as caught:
        EthereumKey.from_secret(secret)
    assert not secret or secret.hex() not in str(caught.value)


def test_a_key_is_not_in_its_repr() -> None:
    assert KEY.address in repr(KEY)
    assert not re.search("11111111|x11x11", repr(KEY))
    assert EthereumKey.generate() != EthereumKey.generate()
