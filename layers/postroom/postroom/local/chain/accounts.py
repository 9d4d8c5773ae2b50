"""Accounts of a local chain: keys that sign transactions and the answers of gateways."""

from dataclasses import dataclass, field
from typing import Final

import rlp
from eth.vm.forks.cancun import CancunVM
from eth_keys.datatypes import PrivateKey
from eth_typing import Address

from postroom.crypto.ethereum import keccak_256
from postroom.local.chain.evm import CHAIN_ID

_GAS: Final = 10_000_000
_WEI_PER_GAS: Final = 10**10


@dataclass(frozen=True, slots=True)
class ChainAccount:
    """An account of the local chain. `address`: 20 bytes."""

    address: bytes
    _key: PrivateKey = field(repr=False, compare=False)

    @classmethod
    def of_label(cls, label: str) -> "ChainAccount":
        """The account of a public text. Everybody knows its key: nothing on another chain may be its."""
        key = PrivateKey(keccak_256(f"postroom local chain: {label}".encode()))
        return cls(key.public_key.to_canonical_address(), key)

    @property
    def secret(self) -> bytes:
        """The private key, 32 bytes."""
        return self._key.to_bytes()

    def sign(self, digest: bytes) -> bytes:
        """The signature of 32 bytes, as contracts take it: r, s, and 27 or 28."""
        signature = self._key.sign_msg_hash(digest).to_bytes()
        return signature[:64] + bytes([27 + signature[64]])

    def transaction(self, nonce: int, to: bytes, data: bytes = b"", value: int = 0) -> bytes:
        """A signed transaction. `to` b"": it deploys a contract; `value`: wei."""
        unsigned = CancunVM.create_unsigned_transaction(
            nonce=nonce, gas_price=_WEI_PER_GAS, gas=_GAS, to=Address(to), value=value, data=data
        )
        return unsigned.as_signed_transaction(self._key, chain_id=CHAIN_ID).encode()


def contract_address(deployer: bytes, nonce: int) -> bytes:
    """The address of the contract that a transaction deploys (Yellow Paper, §7)."""
    return keccak_256(rlp.encode([deployer, nonce]))[-20:]
