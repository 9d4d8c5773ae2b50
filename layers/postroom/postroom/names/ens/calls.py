"""Calls of ENS's contracts, and what they return or revert with (EIP-137, ENSIP-1, 5, 10 and 23, EIP-3668)."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from postroom.crypto.ethereum import keccak_256
from postroom.names.ens.abi import AbiError, AbiValue, decode, encode

MAX_LABEL_BYTES: Final = 255
"""The length of a label is one byte in the DNS form (ENSIP-10)."""

_RESOLVE: Final = bytes.fromhex("9061b923")
_TEXT: Final = bytes.fromhex("59d1d43c")
_ADDRESS: Final = bytes.fromhex("3b3b57de")
_TTL: Final = bytes.fromhex("16a25cbd")
_BALANCE: Final = bytes.fromhex("70a08231")
OFFCHAIN_LOOKUP: Final = bytes.fromhex("556f1830")
ABSENT: Final = {
    bytes.fromhex("77209fe8"): "ResolverNotFound",
    bytes.fromhex("1e9535f2"): "ResolverNotContract",
    bytes.fromhex("7b1c461b"): "UnsupportedResolverProfile",
}
"""The errors of the universal resolver that say that a name has no such text (ENSIP-23)."""
_OTHER_ERRORS: Final = {
    OFFCHAIN_LOOKUP: "OffchainLookup",
    bytes.fromhex("95c0c752"): "ResolverError",
    bytes.fromhex("ef9c03ce"): "ReverseAddressMismatch",
    bytes.fromhex("01800152"): "HttpError",
    bytes.fromhex("08c379a0"): "Error",
    bytes.fromhex("4e487b71"): "Panic",
}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a contract that changes nothing. `to`: its address, 20 bytes; `data`: selector and arguments."""

    to: bytes
    data: bytes


@dataclass(frozen=True, slots=True)
class NonceOf:
    """Ask how many transactions an account has made. `account`: its address, 20 bytes."""

    account: bytes


@dataclass(frozen=True, slots=True)
class BalanceOf:
    """Ask how much an account has, in wei. `account`: its address, 20 bytes."""

    account: bytes


@dataclass(frozen=True, slots=True)
class CodeOf:
    """Ask for the bytecode of a contract. `contract`: its address, 20 bytes."""

    contract: bytes


Question = Call | NonceOf | BalanceOf | CodeOf


@dataclass(frozen=True, slots=True)
class Returned:
    """What a call returned; a nonce or a balance as one word; bytecode."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Reverted:
    """The data that a call reverted with: a selector and arguments, or nothing."""

    data: bytes

    @property
    def error(self) -> str:
        """The name of the error; "": it is none of those that are known here."""
        selector = self.data[:4]
        return ABSENT.get(selector) or _OTHER_ERRORS.get(selector, "")


Outcome = Returned | Reverted
Outcomes = tuple[Outcome, ...]


# A look-up needs the node of its name twice, and most names are below the same few.
@lru_cache(16)
def namehash(name: str) -> bytes:
    """The node of a normalised name, 32 bytes (EIP-137)."""
    if not name:
        return bytes(32)
    label, _, parent = name.partition(".")
    return keccak_256(namehash(parent) + keccak_256(label.encode()))


def dns_form(name: str) -> bytes:
    """The labels of a normalised name, each behind its length, and a zero (ENSIP-10). Raises ValueError.

    A label may be longer than in DNS: up to 255 bytes.
    """
    labels = [label.encode() for label in name.split(".")] if name else []
    if not all(0 < len(label) <= MAX_LABEL_BYTES for label in labels):
        raise ValueError(f"a label is empty, or has more than {MAX_LABEL_BYTES} bytes")
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def text_call(resolver: bytes, name: str, key: str) -> Call:
    """Ask the universal resolver for a text of a name (ENSIP-5, 23)."""
    return _resolve(resolver, name, _TEXT + encode("bytes32,string", (namehash(name), key)))


def address_call(resolver: bytes, name: str) -> Call:
    """Ask the universal resolver for the address that a name has on Ethereum (ENSIP-1, 23)."""
    return _resolve(resolver, name, _ADDRESS + namehash(name))


def _resolve(resolver: bytes, name: str, inner: bytes) -> Call:
    return Call(resolver, _RESOLVE + encode("bytes,bytes", (dns_form(name), inner)))


def ttl_call(registry: bytes, name: str) -> Call:
    """Ask the registry for how long what is known of a name may be kept (EIP-137)."""
    return Call(registry, _TTL + namehash(name))


def balance_call(token: bytes, account: bytes) -> Call:
    """Ask a token for the balance of an account (EIP-20)."""
    return Call(token, _BALANCE + encode("address", (account,)))


def read_text(result: bytes) -> tuple[str, bytes]:
    """The text that the universal resolver returned, and the address of the resolver that it asked. Raises AbiError."""
    text, resolver = _resolved("string", result)
    if not isinstance(text, str):
        raise AbiError("the result is not a text")
    return text, resolver


def read_address(result: bytes) -> tuple[bytes | None, bytes]:
    """The address that the universal resolver returned, and that of the resolver that it asked. Raises AbiError.

    None: the name has no address.
    """
    address, resolver = _resolved("address", result)
    return (address if any(address) else None), resolver


def _resolved(kind: str, result: bytes) -> tuple[AbiValue, bytes]:
    inner, resolver = decode("bytes,address", result)
    [value] = decode(kind, inner)
    return value, resolver


def read_number(result: bytes) -> int:
    """The number that a contract returned: a TTL in seconds, a balance. Raises AbiError."""
    if len(result) != 32:
        raise AbiError("the result is not one number")
    return int.from_bytes(result)
